package documents

import (
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

	plain []byte

	packing sync.Mutex
	packed  atomic.Pointer[document.Packed]

	parsing sync.Mutex
	parsed  atomic.Pointer[iceberg.Metadata]

	claims atomic.Pointer[[]string]
	refs   atomic.Pointer[Document]

	cache *Cache // nil for a document that no cache keeps
	cost  int64  // guarded by cache.mu
	paths []string
}

// Plain returns the document, verbatim. It must not be changed.
func (d *Document) Plain() []byte { return d.plain }

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
	p, err := document.Pack(d.plain)
	if err != nil {
		return nil, err
	}
	d.packed.Store(&p)
	d.cache.grow(d, int64(len(p.Deflate)))
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
	m, err := iceberg.ParseMetadata(d.plain)
	if err != nil {
		return nil, err
	}
	d.parsed.Store(m)
	d.cache.grow(d, overlayCost(m))
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
	if plain := m.RefsOnly(); len(plain) != len(d.plain) {
		r = New(d.Object, d.Mark, d.Pointer, plain)
	}
	if d.refs.CompareAndSwap(nil, r) {
		if r != d {
			d.cache.grow(d, int64(len(r.plain)))
		}
		return r, nil
	}
	return d.refs.Load(), nil
}

// overlayCost estimates the bytes of the index beside the document.
func overlayCost(m *iceberg.Metadata) int64 { return 1024 + 48*int64(m.SnapshotCount()) }

// At returns the same document at another mark: after an event that left the
// document as it was.
func (d *Document) At(mark ids.ID) *Document {
	moved := New(d.Object, mark, d.Pointer, d.plain)
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
