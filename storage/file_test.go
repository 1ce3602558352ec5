package storage_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/icecore-catalog/icecore/storage"
	"github.com/icecore-catalog/icecore/storage/storagetest"
)

// openIn returns the store of a profile whose root is a folder below an
// allowed root.
func openIn(t testing.TB, allowed, root string) storage.Store {
	t.Helper()
	stores, err := storage.NewStores(storage.Config{FileRoots: []string{allowed}})
	if err != nil {
		t.Fatal(err)
	}
	profile, err := storage.FileProfile(root)
	if err != nil {
		t.Fatal(err)
	}
	store, err := stores.Open(t.Context(), profile)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestFileStoreConforms(t *testing.T) {
	t.Parallel()
	t.Run("RootExists", func(t *testing.T) {
		t.Parallel()
		storagetest.Run(t, func(t *testing.T) storagetest.Harness {
			dir := t.TempDir()
			return storagetest.Harness{Store: openIn(t, dir, "file://"+dir)}
		})
	})
	t.Run("RootIsMadeByTheFirstPut", func(t *testing.T) {
		t.Parallel()
		storagetest.Run(t, func(t *testing.T) storagetest.Harness {
			dir := t.TempDir()
			return storagetest.Harness{Store: openIn(t, dir, "file://"+dir+"/tenant/warehouse")}
		})
	})
	t.Run("RootIsReachedThroughLinks", func(t *testing.T) {
		t.Parallel()
		storagetest.Run(t, func(t *testing.T) storagetest.Harness {
			dir := t.TempDir()
			mkdir(t, dir+"/disk/inner/tenant")
			symlink(t, dir+"/disk", dir+"/data")
			symlink(t, "inner/tenant", dir+"/disk/t")
			return storagetest.Harness{Store: openIn(t, dir+"/data", "file://"+dir+"/data/t/warehouse")}
		})
	})
}

func mkdir(t testing.TB, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func symlink(t testing.TB, target, path string) {
	t.Helper()
	mkdir(t, filepath.Dir(path))
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, path, data string) {
	t.Helper()
	mkdir(t, filepath.Dir(path))
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

func wantFile(t testing.TB, path, data string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != data {
		t.Fatalf("%s holds %q, %v, want %q", path, got, err, data)
	}
}
