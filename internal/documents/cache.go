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
type Cache struct {
	limit int64

	mu     sync.Mutex
	bytes  int64
	recent *list.List // of *Document, the latest used in front
	byMark map[key]*list.Element
	byPath map[string]*list.Element

	cold singleflight.Group
}

type key struct{ object, mark ids.ID }

// NewCache returns a cache of about limit bytes; 0 means [DefaultLimit].
func NewCache(limit int64) *Cache {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Cache{limit: limit, recent: list.New(), byMark: map[key]*list.Element{}, byPath: map[string]*list.Element{}}
}

// Last returns the document that was last seen at a path, or nil: the hint
// for Resolve.
func (c *Cache) Last(path string) *Document {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byPath[path]
	if e == nil {
		return nil
	}
	c.recent.MoveToFront(e)
	return e.Value.(*Document)
}

// Get returns the document of an object at a mark, or nil. It is from now on
// the one last seen at the path.
func (c *Cache) Get(path string, object, mark ids.ID) *Document {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byMark[key{object, mark}]
	if e == nil {
		return nil
	}
	c.recent.MoveToFront(e)
	c.point(path, e)
	return e.Value.(*Document)
}

// Put keeps a document that was seen at a path; when another goroutine was
// first, its document is the one that is kept and returned.
func (c *Cache) Put(path string, d *Document) *Document {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := key{d.Object, d.Mark}
	e := c.byMark[k]
	if e == nil {
		d.cache = c
		d.cost = entryCost + int64(len(d.plain)+len(d.Pointer))
		if p := d.packed.Load(); p != nil {
			d.cost += int64(len(p.Deflate))
		}
		if m := d.parsed.Load(); m != nil {
			d.cost += overlayCost(m)
		}
		e = c.recent.PushFront(d)
		c.byMark[k] = e
		c.bytes += d.cost
	}
	c.recent.MoveToFront(e)
	c.point(path, e)
	c.evict()
	return e.Value.(*Document)
}

// maxPaths bounds the spellings under which one document is remembered.
const maxPaths = 8

// point makes e the document last seen at path. The lock is held.
func (c *Cache) point(path string, e *list.Element) {
	if path == "" || c.byPath[path] == e {
		return
	}
	d := e.Value.(*Document)
	if len(d.paths) == maxPaths {
		if c.byPath[d.paths[0]] == e {
			delete(c.byPath, d.paths[0])
		}
		d.paths = d.paths[1:]
	}
	d.paths = append(d.paths, path)
	c.byPath[path] = e
}

// grow notes that a kept document got larger.
func (c *Cache) grow(d *Document, by int64) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byMark[key{d.Object, d.Mark}]; e == nil || e.Value.(*Document) != d {
		return
	}
	d.cost += by
	c.bytes += by
	c.evict()
}

// evict drops the least recently used until the rest fits; the newest stays,
// however large. The lock is held.
func (c *Cache) evict() {
	for c.bytes > c.limit && c.recent.Len() > 1 {
		e := c.recent.Back()
		d := e.Value.(*Document)
		c.recent.Remove(e)
		delete(c.byMark, key{d.Object, d.Mark})
		for _, path := range d.paths {
			if c.byPath[path] == e {
				delete(c.byPath, path)
			}
		}
		c.bytes -= d.cost
	}
}

// Size returns the bytes kept and the number of documents.
func (c *Cache) Size() (bytes int64, documents int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes, c.recent.Len()
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
	return &Document{Object: object, Mark: mark, Pointer: pointer, plain: plain}
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
