package commands

import (
	"context"
	"strings"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/iceberg"
	"github.com/icecore-catalog/icecore/internal/documents"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/storage"
)

// isView reports whether a view stands at the path: a table is none.
func isView(f *projections.Facts) bool {
	return f.Table.Exists && f.Table.Kind == string(catalog.EntityView)
}

// view is [Service.table] for a view.
func (s *Service) view(ctx context.Context, call Call, f *projections.Facts, v Identifier, action authz.Action, was ids.ID) error {
	return s.tabular(ctx, call, f, subject.ViewOf, isView(f), action, noSuchView(v), was)
}

// mayCreateViewIn is [Service.mayCreateIn] for a view.
func (s *Service) mayCreateViewIn(ctx context.Context, call Call, f *projections.Facts, namespace []string) error {
	return s.mayAddTo(ctx, call, f, namespace, authz.NamespaceCreateView)
}

func noSuchView(v Identifier) error {
	return &catalog.Error{Kind: catalog.NoSuchView, Message: "View does not exist: " + dotted(v.Namespace, v.Name)}
}

// viewNameTaken says what stands at the name that a view wants.
func viewNameTaken(kind string, v Identifier) error {
	if kind == string(catalog.EntityTable) {
		return &catalog.Error{Kind: catalog.AlreadyExists, Message: "Table with same name already exists: " + dotted(v.Namespace, v.Name)}
	}
	return &catalog.Error{Kind: catalog.AlreadyExists, Message: "View already exists: " + dotted(v.Namespace, v.Name)}
}

// refuseView words the constraints that a new state of a view can meet. A name
// that was taken meanwhile has the command decided anew, which words it.
func refuseView(e *eventstore.ConstraintError) error {
	switch e.Constraint {
	case projections.LocationClaimOverlap:
		return locationTaken()
	case projections.CleanUpFile:
		return beingDeleted("a registered one")
	case projections.TabularUUIDKey:
		return &catalog.Error{Kind: catalog.AlreadyExists, Message: "A table or view with the same UUID already exists in the warehouse"}
	}
	return nil
}

// viewState is a view's document with what a commit rests on.
type viewState struct {
	id      ids.ID
	pointer string
	meta    *iceberg.ViewMetadata
	claims  []string
}

// document is how the state is remembered.
func (v *viewState) document(mark ids.ID) *documents.Document {
	d := documents.New(v.id, mark, v.pointer, v.meta.Bytes())
	d.SetClaims(v.claims)
	return d
}

// file is how events name the state's document.
func (v *viewState) file() catalog.ViewFile {
	return catalog.ViewFile{
		MetadataFile:   documentFile(v.pointer, v.meta.Bytes(), v.meta.FormatVersion()),
		CurrentVersion: v.meta.CurrentVersionID(),
	}
}

// uuid is the state's view-uuid.
func (v *viewState) uuid() (ids.ID, error) {
	uuid, err := ids.Parse(v.meta.UUID())
	if err != nil {
		return ids.Nil, badRequest("Invalid view-uuid: %s", v.meta.UUID())
	}
	return uuid, nil
}

// putView writes the file of a state below its claims and notes where it is. A
// folder that the view's properties name is kept in their spelling: clients
// compare the location with it.
func (s *Service) putView(ctx context.Context, t *try, store storage.Store, v *viewState, previous string) error {
	location := iceberg.NextViewFile(v.meta, previous, s.fileID(v.id).String())
	l, err := store.Locate(location)
	if err != nil {
		return fromStorage(ctx, err)
	}
	v.pointer = l.String()
	if _, named := metadataPath(v.meta); named && sameScheme(l) && len(l.Spelling()) <= storage.MaxLocation {
		v.pointer = l.Spelling()
	}
	file, _ := iceberg.EncodeViewFile(v.meta)
	return t.put(ctx, scope(store, v.claims), v.pointer, file)
}

// sameScheme reports whether a location was spelled with the scheme that its
// canonical form has: file:/x is, /x is not.
func sameScheme(l storage.Location) bool {
	scheme, _, _ := strings.Cut(l.String(), ":")
	return strings.HasPrefix(l.Spelling(), scheme+":")
}

// openView makes the commit by which a new view begins with a state.
func (s *Service) openView(call Call, f *projections.Facts, v *viewState, event catalog.Event, t *try) (*documents.Document, error) {
	record, err := s.record(call, v.id, event, f)
	if err != nil {
		return nil, err
	}
	t.refuse = refuseView
	t.commit = s.newCommit(f, s.claim(call, 200, v.id, v.pointer, nil))
	t.commit.Streams = []eventstore.Stream{
		{ID: f.Namespace.ID, Mode: eventstore.Held},
		{ID: v.id, Type: string(catalog.EntityView), Mode: eventstore.Created, NextPointer: v.pointer},
	}
	t.commit.Records = []eventstore.Record{record}
	return v.document(record.ID), nil
}

// viewAnswer is what the client gets for a state.
func viewAnswer(d *documents.Document) View {
	return View{ID: d.Object, Mark: d.Mark, Pointer: d.Pointer, Document: d.Plain(), Config: map[string]string{}}
}

// replayView answers a repeated request that made a state of a view: with the
// view's state now, or, when the view is gone, with the state that the first
// request made. may asks for the rights again.
func (s *Service) replayView(
	ctx context.Context, warehouse ids.ID, v Identifier, stored eventstore.Idempotency, may func(*projections.Facts) error,
) (View, error) {
	facts, err := s.resolve(ctx, queryOf(warehouse, v), projections.Query{Warehouse: warehouse, Object: stored.Object})
	if err != nil {
		return View{}, err
	}
	f, now := &facts[0], &facts[1]
	if err := may(f); err != nil {
		return View{}, err
	}
	if err := inWarehouse(f); err != nil {
		return View{}, err
	}
	if !isView(now) {
		// The view is gone; the file of that state may still be there. Its mark is
		// not known, so that nothing can be remembered.
		now = f
		now.Table = projections.TabularFacts{ID: stored.Object, Fresh: true, Pointer: stored.Pointer}
		store, err := s.store(ctx, now)
		if err != nil {
			return View{}, err
		}
		m, err := s.readView(ctx, store, stored.Pointer)
		if err != nil {
			return View{}, documents.Failure(ctx, stored.Pointer, err)
		}
		return viewAnswer(documents.New(stored.Object, ids.Nil, stored.Pointer, m.Bytes())), nil
	}
	doc, err := s.deps.Documents.Current(ctx, "", now, nil)
	if err != nil {
		return View{}, err
	}
	return viewAnswer(doc), nil
}

// readView reads a metadata file that no view points at yet.
func (s *Service) readView(ctx context.Context, store storage.Store, location string) (*iceberg.ViewMetadata, error) {
	raw, err := store.Get(ctx, location, documents.MaxFile)
	if err != nil {
		return nil, err
	}
	plain, err := iceberg.DecodeFile(location, raw, documents.MaxFile)
	if err != nil {
		return nil, err
	}
	return iceberg.ParseView(plain)
}
