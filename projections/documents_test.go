package projections_test

import (
	"bytes"
	"crypto/rand"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/projections/document"
)

func (w *world) pack(text []byte) *document.Packed {
	w.Helper()
	p, err := document.Pack(text)
	if err != nil {
		w.Fatal(err)
	}
	return &p
}

func (w *world) cached() (n int) {
	w.Helper()
	if err := w.db.App.QueryRow(w.Context(), "SELECT count(*) FROM cache.document").Scan(&n); err != nil {
		w.Fatal(err)
	}
	return n
}

func TestDocumentsAreKeptByObjectAndMark(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, project := w.bootstrap()
	wh := w.newWarehouse(project, "demo")
	ns := w.newNamespace(wh, "ns")
	table, other := w.newTable(ns, "t"), w.newTable(ns, "other")
	save := func(o *object, text []byte) {
		t.Helper()
		if err := document.Save(t.Context(), w.db.App, o.id, o.mark, w.pack(text)); err != nil {
			t.Fatal(err)
		}
	}
	save(table, []byte("first"))
	save(table, []byte("second")) // one key has one document: the first stays
	r := w.resolver()
	load := func() *document.Packed {
		return w.resolve(r, projections.Query{Warehouse: wh.id, Namespace: []string{"ns"}, Name: "t"}).Table.Document
	}
	if text, err := load().Unpack(); err != nil || string(text) != "first" {
		t.Errorf("loaded %q, %v", text, err)
	}

	// What does not shrink to 64 KiB is not kept.
	noise := make([]byte, document.MaxCached+1)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	save(other, noise)
	save(other, nil)
	if n := w.cached(); n != 2 {
		t.Errorf("%d documents are cached, want the small one and the empty one", n)
	}
	fits := bytes.Repeat([]byte("compressible "), 100_000)
	w.must(commitStep(other, nil, nil))
	save(other, fits)

	// The next version is loaded, or nothing; the superseded one is swept.
	w.must(commitStep(table, nil, nil))
	if d := load(); d != nil {
		t.Errorf("the document of the version before is loaded: %+v", d)
	}
	if n, err := document.Sweep(t.Context(), w.db.App, time.Now().Add(-time.Hour), 10); err != nil || n != 0 {
		t.Errorf("young documents are swept: %d, %v", n, err)
	}
	if n, err := document.Sweep(t.Context(), w.db.App, time.Now().Add(time.Hour), 1); err != nil || n != 1 {
		t.Errorf("swept %d, %v", n, err)
	}
	if n, err := document.Sweep(t.Context(), w.db.App, time.Now().Add(time.Hour), 10); err != nil || n != 1 {
		t.Errorf("swept %d, %v", n, err)
	}
	if n := w.cached(); n != 1 {
		t.Errorf("%d documents are left, want the current one", n)
	}

	// Saving a version takes away what it superseded a while ago.
	save(table, []byte("third"))
	if _, err := w.db.Owner.Exec(t.Context(), "UPDATE cache.document SET saved_at = saved_at - interval '1 hour'"); err != nil {
		t.Fatal(err)
	}
	w.must(commitStep(table, nil, nil))
	save(table, []byte("fourth"))
	if n := w.cached(); n != 2 {
		t.Errorf("%d documents are cached, want one for each table", n)
	}
	if text, err := load().Unpack(); err != nil || string(text) != "fourth" {
		t.Errorf("loaded %q, %v", text, err)
	}
	// A cache may be emptied at any time.
	if _, err := w.db.App.Exec(t.Context(), "TRUNCATE cache.document"); err != nil {
		t.Fatal(err)
	}
	if d := load(); d != nil {
		t.Errorf("loaded %+v from nothing", d)
	}
}
