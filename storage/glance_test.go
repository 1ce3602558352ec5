package storage

import (
	"os"
	"path/filepath"
	"testing"
)

func TestGlanceSaysWhetherAnObjectIsThere(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	stores, err := NewStores(Config{FileRoots: []string{root}})
	if err != nil {
		t.Fatal(err)
	}
	profile, err := FileProfile(filepath.Join(root, "wh"))
	if err != nil {
		t.Fatal(err)
	}
	store, err := stores.Open(t.Context(), profile)
	if err != nil {
		t.Fatal(err)
	}
	location := profile.Root().String() + "/t/a.metadata.json"
	if there, cheap := Glance(store, location); there || !cheap {
		t.Errorf("before it was written: %v, %v", there, cheap)
	}
	if err := store.Put(t.Context(), location, []byte("x")); err != nil {
		t.Fatal(err)
	}
	for _, spelling := range []string{location, "file:" + root + "/wh//t/a.metadata.json"} {
		if there, _ := Glance(store, spelling); !there {
			t.Errorf("%s is not seen", spelling)
		}
	}
	if err := os.Remove(filepath.Join(root, "wh", "t", "a.metadata.json")); err != nil {
		t.Fatal(err)
	}
	if there, _ := Glance(store, location); there {
		t.Error("it is still seen after it was removed")
	}
	if there, _ := Glance(store, "file:///etc/passwd"); there {
		t.Error("something outside is seen")
	}
	if _, cheap := Glance(struct{ Store }{store}, location); cheap {
		t.Error("another kind of store is taken for a local one")
	}
}
