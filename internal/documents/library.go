package documents

import (
	"context"
	"errors"
	"log/slog"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/iceberg"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/projections/document"
	"github.com/icecore-catalog/icecore/storage"
)

// MaxFile is the largest metadata file that is read, in bytes.
const MaxFile = 1 << 30

// Options are what a [Library] is made of.
type Options struct {
	// Opener opens the stores of warehouses.
	Opener Opener
	// Limit is the memory for documents in bytes; 0 means [DefaultLimit].
	Limit int64
	// Save writes a document to the database's cache; nil saves nothing.
	Save func(ctx context.Context, object, mark ids.ID, p *document.Packed) error
	// Logger hears of documents that were not saved; nil is silent.
	Logger *slog.Logger
}

// Library brings documents, stores and the saving of documents together. It
// is safe for concurrent use.
type Library struct {
	*Cache
	*Stores
	saver *Saver
}

// NewLibrary returns an empty library. Close ends what it started.
func NewLibrary(o Options) *Library {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	l := &Library{Cache: NewCache(o.Limit), Stores: NewStores(o.Opener)}
	if o.Save != nil {
		l.saver = NewSaver(o.Save, o.Logger)
	}
	return l
}

// Close saves the documents that wait to be saved, as far as ctx allows.
func (l *Library) Close(ctx context.Context) {
	if l.saver != nil {
		l.saver.Close(ctx)
	}
}

// Current returns the document of the table that Resolve found at a path. hint
// is the document whose mark was the hint of that query, or nil. Errors are for
// the client.
func (l *Library) Current(ctx context.Context, path string, f *projections.Facts, hint *Document) (*Document, error) {
	t := &f.Table
	if !t.Fresh && hint != nil && hint.Object == t.ID && hint.Mark == t.Mark {
		return hint, nil
	}
	d, cold, err := l.Load(ctx, path, t, func(ctx context.Context, location string) ([]byte, error) {
		store, err := l.Of(ctx, &f.Warehouse)
		if err != nil {
			return nil, err
		}
		// The pointer lies below the root that the store is limited to. Of a
		// registered table it need not lie below a claim.
		return store.Get(ctx, location, MaxFile)
	})
	if err != nil {
		return nil, Failure(ctx, t.Pointer, err)
	}
	if cold {
		l.saver.Add(d)
	}
	return d, nil
}

// Keep remembers the document of a state that a commit has just made.
func (l *Library) Keep(path string, d *Document) {
	l.saver.Add(l.Put(path, d))
}

// Read reads a metadata file that no table points at yet.
func (l *Library) Read(ctx context.Context, store storage.Store, location string) (*iceberg.Metadata, error) {
	raw, err := store.Get(ctx, location, MaxFile)
	if err != nil {
		return nil, err
	}
	plain, err := iceberg.DecodeFile(location, raw, MaxFile)
	if err != nil {
		return nil, err
	}
	return iceberg.ParseMetadata(plain)
}

// Missing is the error for a metadata file that is gone, with the text that the
// REST compatibility kit expects (iceberg-rest 4.3).
func Missing(location string) error {
	return &catalog.Error{Kind: catalog.NotFound, Message: "Failed to open input stream for file: " + location}
}

// Failure gives a failed read of a metadata file its status.
func Failure(ctx context.Context, location string, err error) error {
	var broken *iceberg.Error
	switch {
	case ctx.Err() != nil:
		return &catalog.Error{Kind: catalog.Unavailable, Message: "The request ended before the store answered", RetryAfter: retrySoon, Cause: err}
	case errors.Is(err, storage.ErrNotFound):
		return Missing(location)
	case errors.As(err, &broken):
		return &catalog.Error{Kind: catalog.Internal, Message: "The metadata file is broken", Cause: err}
	default:
		return &catalog.Error{Kind: catalog.Unavailable, Message: "The warehouse's store is not available", RetryAfter: retrySoon, Cause: err}
	}
}
