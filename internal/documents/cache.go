package documents

import (
	"container/list"
	"context"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/iceberg"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// DefaultLimit is the bytes that a cache keeps unless told otherwise.
const DefaultLimit = 256 << 20

// entryCost stands for what a document costs beside its bytes.
const entryCost = 512

// retrySoon is what Retry-After says about a store that does not answer.
const retrySoon = time.Second

// Cache keeps documents. It is safe for concurrent use.
//
// When they don't fit, those that were not used for longest are folded: what is
// left of them is the packed form. When that doesn't suffice they are forgotten.
// Open documents may have all of the room while there is nothing else, and keep
// a quarter of it.
type Cache struct {
	limit int64

	mu     sync.Mutex
	bytes  int64
	opened int64      // of those, in open documents
	open   *list.List // of *Document, the latest used in front
	folded *list.List
	byMark map[key]*Document
	byPath map[string]*Document

	cold singleflight.Group
}

type key struct{ object, mark ids.ID }

// NewCache returns a cache of about limit bytes; 0 means [DefaultLimit].
func NewCache(limit int64) *Cache {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Cache{limit: limit, open: list.New(), folded: list.New(), byMark: map[key]*Document{}, byPath: map[string]*Document{}}
}

// Last returns the document that was last seen at a path, or nil: the hint
// for Resolve.
func (c *Cache) Last(path string) *Document {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.byPath[path]
	if d != nil {
		d.shelf.MoveToFront(d.place)
	}
	return d
}

// Get returns the document of an object at a mark, or nil. It is from now on
// the one last seen at the path.
func (c *Cache) Get(path string, object, mark ids.ID) *Document {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.byMark[key{object, mark}]
	if d != nil {
		d.shelf.MoveToFront(d.place)
		c.point(path, d)
	}
	return d
}

// Put keeps a document that was seen at a path; when another goroutine was
// first, its document is the one that is kept and returned.
func (c *Cache) Put(path string, d *Document) *Document {
	c.mu.Lock()
	k := key{d.Object, d.Mark}
	if kept := c.byMark[k]; kept != nil {
		d = kept
		d.shelf.MoveToFront(d.place)
	} else {
		d.cache = c
		c.byMark[k] = d
		c.shelve(d)
	}
	c.point(path, d)
	c.mu.Unlock()
	c.shrink()
	return d
}

// maxPaths bounds the spellings under which one document is remembered.
const maxPaths = 8

// point makes d the document last seen at path. The lock is held.
func (c *Cache) point(path string, d *Document) {
	if path == "" || c.byPath[path] == d {
		return
	}
	if len(d.paths) == maxPaths {
		if c.byPath[d.paths[0]] == d {
			delete(c.byPath, d.paths[0])
		}
		d.paths = d.paths[1:]
	}
	d.paths = append(d.paths, path)
	c.byPath[path] = d
}

// weigh notes that a document has another weight, if it is kept.
func (c *Cache) weigh(d *Document) {
	if c == nil {
		return
	}
	c.mu.Lock()
	if d.shelf != nil {
		c.shelve(d)
	}
	c.mu.Unlock()
	c.shrink()
}

// shelve puts a document where it belongs, in front, and counts its weight. The
// lock is held.
func (c *Cache) shelve(d *Document) {
	c.unshelve(d)
	d.cost, d.shelf = d.weight(), c.folded
	if d.open() {
		d.shelf = c.open
		c.opened += d.cost
	}
	c.bytes += d.cost
	d.place = d.shelf.PushFront(d)
}

// unshelve takes it away. The lock is held.
func (c *Cache) unshelve(d *Document) {
	if d.shelf == nil {
		return
	}
	d.shelf.Remove(d.place)
	c.bytes -= d.cost
	if d.shelf == c.open {
		c.opened -= d.cost
	}
	d.shelf = nil
}

// shrink folds and forgets until the rest fits; the newest stays, however large.
func (c *Cache) shrink() {
	for d := c.toFold(); d != nil; d = c.toFold() {
		_, err := d.Packed() // outside of the lock
		c.mu.Lock()
		switch {
		case d.shelf != c.open: // somebody else was here
		case err != nil:
			c.forget(d)
		default:
			d.fold()
			c.shelve(d)
		}
		c.mu.Unlock()
	}
}

// toFold forgets what has to be forgotten, and returns the document that has to
// be folded next, or nil when all fits.
func (c *Cache) toFold() *Document {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.bytes > c.limit && len(c.byMark) > 1 {
		oldest, least := c.open.Back(), c.folded.Back()
		switch {
		case oldest != nil && c.open.Len() > 1 && (least == nil || c.opened > c.limit/4):
			return oldest.Value.(*Document)
		case least != nil:
			c.forget(least.Value.(*Document))
		default:
			return nil
		}
	}
	return nil
}

// forget drops a document. The lock is held.
func (c *Cache) forget(d *Document) {
	c.unshelve(d)
	delete(c.byMark, key{d.Object, d.Mark})
	for _, path := range d.paths {
		if c.byPath[path] == d {
			delete(c.byPath, path)
		}
	}
}

// Size returns the bytes kept and the number of documents.
func (c *Cache) Size() (bytes int64, documents int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes, len(c.byMark)
}

// Load returns the document of an object at a mark: from the cache, from its
// stored form if that is at hand, or read from the store at its pointer. Those
// who wait for the same document read it once. A document in the store that
// cannot be read as one is an error of package iceberg.
func (c *Cache) Load(ctx context.Context, path string, t *projections.TabularFacts, read func(ctx context.Context, location string) ([]byte, error)) (d *Document, cold bool, err error) {
	if d := c.Get(path, t.ID, t.Mark); d != nil {
		return d, false, nil
	}
	if packed := t.Document; !packed.IsZero() {
		// A stored form that is torn is as good as none: the file is the truth.
		if plain, err := packed.Unpack(); err == nil {
			d := New(t.ID, t.Mark, t.Pointer, plain)
			d.packed.Store(packed)
			return c.Put(path, d), false, nil
		}
	}
	// The reading goes on when the first of those who wait gives up.
	ch := c.cold.DoChan(string(t.ID[:])+string(t.Mark[:]), func() (any, error) {
		// Who looked before the last reading ended arrives after it.
		if d := c.Get(path, t.ID, t.Mark); d != nil {
			return d, nil
		}
		raw, err := read(context.WithoutCancel(ctx), t.Pointer)
		if err != nil {
			return nil, err
		}
		plain, err := iceberg.DecodeFile(t.Pointer, raw, MaxFile)
		if err != nil {
			return nil, err
		}
		return c.Put(path, New(t.ID, t.Mark, t.Pointer, plain)), nil
	})
	select {
	case r := <-ch:
		if r.Err != nil {
			return nil, false, r.Err
		}
		return r.Val.(*Document), true, nil
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
}

// New returns a document that no cache keeps yet.
func New(object, mark ids.ID, pointer string, plain []byte) *Document {
	d := &Document{Object: object, Mark: mark, Pointer: pointer, size: len(plain)}
	d.plain.Store(&plain)
	return d
}

// Of is [New] for a parsed document.
func Of(object, mark ids.ID, pointer string, m *iceberg.Metadata) *Document {
	d := New(object, mark, pointer, m.Bytes())
	d.parsed.Store(m)
	return d
}

// Path is the place under which a table is remembered: all spellings of its
// name meet there.
func Path(warehouse ids.ID, namespace []string, name string) string {
	var b strings.Builder
	b.Write(warehouse[:])
	b.WriteString(catalog.Namespace(namespace).Fold())
	b.WriteByte(0)
	b.WriteString(catalog.FoldName(name))
	return b.String()
}
