package storage_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/storage"
)

func TestMakeFolderStaysBelowTheClaims(t *testing.T) {
	t.Parallel()
	root, store, mine := scoped(t)
	for range 2 {
		for _, folder := range []string{"/wh/ns/t1/metadata", "/wh/ns/t1/a/b/", "/wh/ns/t1"} {
			if err := storage.MakeFolder(t.Context(), mine, root+folder); err != nil {
				t.Errorf("%s: %v", folder, err)
			}
			if info, err := os.Stat(root + folder); err != nil || !info.IsDir() {
				t.Errorf("%s: %v", folder, err)
			}
		}
	}
	wantFile(t, root+"/wh/ns/t1/metadata/own", "own")
	if names, err := os.ReadDir(root + "/wh/ns/t1/a/b"); err != nil || len(names) != 0 {
		t.Errorf("the new folder holds %v, %v", names, err)
	}

	if err := os.Symlink(root+"/outside", root+"/wh/ns/t1/link"); err != nil {
		t.Fatal(err)
	}
	for location, want := range map[string]error{
		root + "/wh/ns/t2/new":            storage.ErrOutside,
		root + "/wh/ns":                   storage.ErrOutside,
		root + "/outside/new":             storage.ErrOutside,
		root + "/wh/ns/t1/link/new":       storage.ErrOutside,
		root + "/wh/ns/t1/../t2/new":      storage.ErrInvalid,
		root + "/wh/ns/t1/metadata/own/x": storage.ErrInvalid,
		root + "/wh/ns/t1/metadata/own":   storage.ErrInvalid,
	} {
		if err := storage.MakeFolder(t.Context(), mine, location); !errors.Is(err, want) {
			t.Errorf("%s: %v", strings.TrimPrefix(location, root), err)
		}
	}
	wantVictims(t, root)
	if names, err := os.ReadDir(root + "/wh/ns/t2"); err != nil || len(names) != 1 {
		t.Errorf("the neighbour's folder holds %v, %v", names, err)
	}
	if _, err := os.Stat(root + "/outside/new"); err == nil {
		t.Error("a folder outside the warehouse was made")
	}

	// A store without folders has nothing to make.
	if err := storage.MakeFolder(t.Context(), struct{ storage.Objects }{store}, root+"/wh/ns/t2/new"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(root + "/wh/ns/t2/new"); err == nil {
		t.Error("a folder was made through another kind of store")
	}
}
