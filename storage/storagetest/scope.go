package storagetest

import (
	"errors"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/storage"
)

// Touch tries every operation at a location below prefix and reports each that
// is not refused with ErrOutside. Attack tests of other packages use it, too.
func Touch(t *testing.T, o storage.Objects, prefix, location string) {
	t.Helper()
	ctx := t.Context()
	_, getErr := o.Get(ctx, location, 1<<20)
	_, statErr := o.Stat(ctx, location)
	_, listErr := o.List(ctx, prefix, "", 10)
	for _, op := range []struct {
		name string
		err  error
	}{
		{"get", getErr},
		{"stat", statErr},
		{"list", listErr},
		{"put", o.Put(ctx, location, []byte("attack"))},
		{"put if absent", o.PutIfAbsent(ctx, location, []byte("attack"))},
		{"delete", o.Delete(ctx, location)},
		{"prune", o.Prune(ctx, prefix)},
	} {
		if !errors.Is(op.err, storage.ErrOutside) {
			t.Errorf("%s of %q is not refused: %v", op.name, location, op.err)
		}
	}
}

func spellings(t *testing.T, h Harness) {
	put(t, h.Store, h.at("d//e///f"), "x")
	wantObject(t, h.Store, h.at("d/e/f"), "x")
	wantList(t, h.Store, h.at("d/e/"), h.at("d/e/f"))
	l, err := h.Store.Locate(h.at("d//e/"))
	if err != nil || l.String() != h.at("d/e") || l.Spelling() != h.at("d//e/") {
		t.Errorf("Locate gives %q (%q), %v", l, l.Spelling(), err)
	}
	for _, path := range []string{"../x", "d/../../x", "d/./e", "d/..", "\x00", "d\x00/e", ".."} {
		_, err := h.Store.Locate(h.at(path))
		wantError(t, "Locate "+path, err, storage.ErrInvalid)
		_, err = h.Store.Get(t.Context(), h.at(path), 10)
		wantError(t, "Get "+path, err, storage.ErrInvalid)
		wantError(t, "Put "+path, h.Store.Put(t.Context(), h.at(path), nil), storage.ErrInvalid)
		wantError(t, "Delete "+path, h.Store.Delete(t.Context(), h.at(path)), storage.ErrInvalid)
	}
}

func key(t *testing.T, h Harness, location string) storage.Key {
	t.Helper()
	k, err := h.Store.Key(t.Context(), location)
	if err != nil {
		t.Fatalf("Key(%q): %v", location, err)
	}
	if parsed, err := storage.ParseKey(k.String()); err != nil || parsed != k {
		t.Errorf("ParseKey(%q) = %q, %v", k, parsed, err)
	}
	return k
}

func keys(t *testing.T, h Harness) {
	before := key(t, h, h.at("ns/t"))
	put(t, h.Store, h.at("ns/t/metadata/m"), "x")
	if after := key(t, h, h.at("ns//t/")); after != before {
		t.Errorf("the key changed from %q to %q when the folder came to be", before, after)
	}
	root := key(t, h, h.Store.Profile().Root().String())
	for _, test := range []struct {
		a, b    string
		overlap bool
	}{
		{"ns/t", "ns/t", true},
		{"ns/t", "ns", true},
		{"ns/t", "ns/t/data", true},
		{"ns/t", "ns/t1", false},
		{"ns/t", "ns/t-1", false},
		{"ns/t", "ns/t0", false},
		{"ns/t", "ns/T", false},
		{"ns/t", "ns2/t", false},
	} {
		a, b := key(t, h, h.at(test.a)), key(t, h, h.at(test.b))
		loA, hiA := a.Range()
		loB, hiB := b.Range()
		if got := loA < hiB && loB < hiA; got != test.overlap || a.Overlaps(b) != test.overlap {
			t.Errorf("%s and %s overlap: by range %v, by Overlaps %v, want %v", test.a, test.b, got, a.Overlaps(b), test.overlap)
		}
		if !root.Contains(a) || a.Contains(root) {
			t.Errorf("the root's key %q does not contain %q", root, a)
		}
	}
	for _, path := range []string{"bad\xff", strings.Repeat("long/", 300) + "x"} {
		_, err := h.Store.Key(t.Context(), h.at(path))
		wantError(t, "Key of what no database key can hold", err, storage.ErrInvalid)
	}
}

func outside(t *testing.T, h Harness) {
	root := h.Store.Profile().Root().String()
	for _, location := range []string{root + "x/a", root + "-/a", root[:len(root)-1] + "/a", "file:///etc/passwd"} {
		Touch(t, h.Store, location, location)
		_, err := h.Store.Locate(location)
		wantError(t, "Locate "+location, err, storage.ErrOutside)
		_, err = h.Store.Key(t.Context(), location)
		wantError(t, "Key "+location, err, storage.ErrOutside)
	}
}

func scope(t *testing.T, h Harness) {
	mine := storage.Scope(h.Store, []storage.Key{key(t, h, h.at("ns/t1")), key(t, h, h.at("elsewhere/metadata"))})
	for _, name := range []string{"ns/t1/metadata/m", "elsewhere/metadata/m"} {
		put(t, mine, h.at(name), "mine")
		wantObject(t, mine, h.at(name), "mine")
	}
	wantList(t, mine, h.at("ns/t1"), h.at("ns/t1/metadata/m"))
	for _, name := range []string{"ns/t1x/a", "ns/t2/a", "ns/t/a", "elsewhere/a", "elsewhere/metadata2/a"} {
		put(t, h.Store, h.at(name), "theirs")
		prefix := name[:len(name)-2]
		Touch(t, mine, h.at(prefix), h.at(name))
		wantObject(t, h.Store, h.at(name), "theirs")
	}
	for _, location := range []string{h.at("ns/t1"), h.at("ns"), h.Store.Profile().Root().String()} {
		wantError(t, "Put at "+location, mine.Put(t.Context(), location, nil), storage.ErrOutside)
	}
	_, err := mine.List(t.Context(), h.at("ns"), "", 10)
	wantError(t, "List above the claim", err, storage.ErrOutside)
	wantError(t, "Prune above the claim", mine.Prune(t.Context(), h.at("ns")), storage.ErrOutside)
	// What looks like a way out to somebody who decodes is a mere name.
	put(t, mine, h.at("ns/t1/..%2Ft2%2Fa"), "odd")
	wantObject(t, h.Store, h.at("ns/t2/a"), "theirs")
	wantError(t, "Put with dots", mine.Put(t.Context(), h.at("ns/t1/../t2/a"), nil), storage.ErrInvalid)
}

func scopeEmpty(t *testing.T, h Harness) {
	put(t, h.Store, h.at("ns/t1/a"), "x")
	for _, claims := range [][]storage.Key{nil, {}, {""}, {"other//x/"}} {
		Touch(t, storage.Scope(h.Store, claims), h.at("ns/t1"), h.at("ns/t1/a"))
	}
	wantObject(t, h.Store, h.at("ns/t1/a"), "x")
}
