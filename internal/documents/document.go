package documents

import (
	"container/list"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/icecore-catalog/icecore/iceberg"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections/document"
)

// Document is the state of a table at one mark: its metadata document in the
// forms that were needed so far, and the locations it claims.
type Document struct {
	Object  ids.ID
	Mark    ids.ID // event that made this state
	Pointer string // metadata location

	size  int
	plain atomic.Pointer[[]byte] // nil while the document is folded: then it is in packed

	packing sync.Mutex
	packed  atomic.Pointer[document.Packed]

	parsing sync.Mutex
	parsed  atomic.Pointer[iceberg.Metadata]

	claims atomic.Pointer[[]string]
	refs   atomic.Pointer[Document]

	cache *Cache // nil for a document that no cache keeps

	// Guarded by cache.mu.
	cost  int64
	paths []string
	place *list.Element
	shelf *list.List // that place is in: cache.open or cache.folded; nil when it is in none
}

// Plain returns the document, verbatim. It must not be changed.
func (d *Document) Plain() []byte {
	if plain := d.plain.Load(); plain != nil {
		return *plain
	}
	plain, err := d.packed.Load().Unpack()
	if err != nil {
		panic(fmt.Sprintf("a document that was packed in memory: %v", err)) // only broken memory does that
	}
	d.plain.Store(&plain)
	d.cache.weigh(d)
	return plain
}

// Packed returns the stored form, made on first need and kept.
func (d *Document) Packed() (*document.Packed, error) {
	if p := d.packed.Load(); p != nil {
		return p, nil
	}
	d.packing.Lock()
	defer d.packing.Unlock()
	if p := d.packed.Load(); p != nil {
		return p, nil
	}
	p, err := document.Pack(d.Plain())
	if err != nil {
		return nil, err
	}
	d.packed.Store(&p)
	d.cache.weigh(d)
	return &p, nil
}

// Metadata returns the parsed document, made on first need and kept.
func (d *Document) Metadata() (*iceberg.Metadata, error) {
	if m := d.parsed.Load(); m != nil {
		return m, nil
	}
	d.parsing.Lock()
	defer d.parsing.Unlock()
	if m := d.parsed.Load(); m != nil {
		return m, nil
	}
	m, err := iceberg.ParseMetadata(d.Plain())
	if err != nil {
		return nil, err
	}
	d.parsed.Store(m)
	d.cache.weigh(d)
	return m, nil
}

// Refs returns the document with those snapshots only that a branch or tag
// names (loadTable with snapshots=refs), made on first need and kept. It is
// the document itself if every snapshot is named.
func (d *Document) Refs() (*Document, error) {
	if r := d.refs.Load(); r != nil {
		return r, nil
	}
	m, err := d.Metadata()
	if err != nil {
		return nil, err
	}
	r := d
	if plain := m.RefsOnly(); len(plain) != d.size {
		r = New(d.Object, d.Mark, d.Pointer, plain)
	}
	if d.refs.CompareAndSwap(nil, r) {
		if r != d {
			d.cache.weigh(d)
		}
		return r, nil
	}
	if r := d.refs.Load(); r != nil {
		return r, nil
	}
	return r, nil // it was folded meanwhile
}

// fold lets go of all forms but the packed one, which must be there: a seventh
// of the memory, for a tenth of what it costs to fetch the document again.
func (d *Document) fold() {
	d.parsed.Store(nil)
	d.refs.Store(nil)
	d.plain.Store(nil)
}

// open reports whether any form but the packed one is there.
func (d *Document) open() bool {
	return d.plain.Load() != nil || d.parsed.Load() != nil || d.refs.Load() != nil
}

// weight is about what the document takes in memory.
func (d *Document) weight() int64 {
	bytes := entryCost + int64(len(d.Pointer))
	if p := d.packed.Load(); p != nil {
		bytes += int64(len(p.Deflate))
	}
	if m := d.parsed.Load(); m != nil {
		bytes += overlayCost(m)
	}
	if d.open() {
		bytes += int64(d.size)
	}
	if r := d.refs.Load(); r != nil && r != d {
		bytes += int64(r.size)
	}
	return bytes
}

// overlayCost estimates the bytes of the index beside the document.
func overlayCost(m *iceberg.Metadata) int64 { return 1024 + 48*int64(m.SnapshotCount()) }

// At returns the same document at another mark: after an event that left the
// document as it was.
func (d *Document) At(mark ids.ID) *Document {
	moved := New(d.Object, mark, d.Pointer, d.Plain())
	moved.packed.Store(d.packed.Load())
	moved.parsed.Store(d.parsed.Load())
	moved.claims.Store(d.claims.Load())
	return moved
}

// Claims returns the canonical location keys that the object claims in this
// state, and whether they are known.
func (d *Document) Claims() ([]string, bool) {
	if c := d.claims.Load(); c != nil {
		return *c, true
	}
	return nil, false
}

// SetClaims notes the claims of this state.
func (d *Document) SetClaims(claims []string) { d.claims.Store(&claims) }
