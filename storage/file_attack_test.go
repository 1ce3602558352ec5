package storage_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/icecore-catalog/icecore/storage"
	"github.com/icecore-catalog/icecore/storage/storagetest"
)

// scoped returns a store over root/wh, and its objects below ns/t1 only, with
// a victim in ns/t2 and one outside the warehouse.
func scoped(t testing.TB) (root string, store storage.Store, mine storage.Objects) {
	t.Helper()
	root = t.TempDir()
	write(t, root+"/wh/ns/t1/metadata/own", "own")
	write(t, root+"/wh/ns/t2/metadata/victim", "victim")
	write(t, root+"/outside/metadata/victim", "victim")
	store = openIn(t, root+"/wh", root+"/wh")
	key, err := store.Key(t.Context(), root+"/wh/ns/t1")
	if err != nil {
		t.Fatal(err)
	}
	return root, store, storage.Scope(store, []storage.Key{key})
}

func wantVictims(t testing.TB, root string) {
	t.Helper()
	for _, folder := range []string{root + "/wh/ns/t2/metadata", root + "/outside/metadata"} {
		wantFile(t, folder+"/victim", "victim")
		names, err := os.ReadDir(folder)
		if err != nil || len(names) != 1 {
			t.Fatalf("%s holds %v, %v", folder, names, err)
		}
	}
}

func TestLinksThatLeadOutsideAreRefused(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]struct{ target, link string }{
		"absolute, out of the root":       {"/outside", "wh/ns/t1/link"},
		"relative, out of the root":       {"../../../outside", "wh/ns/t1/link"},
		"by way of the root":              {"/wh/../outside", "wh/ns/t1/link"},
		"to a neighbour, relative":        {"../t2", "wh/ns/t1/link"},
		"to a neighbour, absolute":        {"/wh/ns/t2", "wh/ns/t1/link"},
		"up from a folder that is not":    {"none/../../../../outside", "wh/ns/t1/link"},
		"to the kernel's view of a file":  {"/proc/self/root", "wh/ns/t1/link"},
		"to a sibling with the same name": {"/wh2", "wh/ns/t1/link"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, store, mine := scoped(t)
			target := plant.target
			if strings.HasPrefix(target, "/") && !strings.HasPrefix(target, "/proc") {
				target = root + target
			}
			symlink(t, target, root+"/"+plant.link)
			storagetest.Touch(t, mine, root+"/wh/ns/t1/link/metadata", root+"/wh/ns/t1/link/metadata/victim")
			if !strings.Contains(name, "neighbour") {
				storagetest.Touch(t, store, root+"/wh/ns/t1/link/metadata", root+"/wh/ns/t1/link/metadata/victim")
				if _, err := store.Key(t.Context(), root+"/wh/ns/t1/link"); !errors.Is(err, storage.ErrOutside) {
					t.Errorf("Key: %v", err)
				}
			}
			wantVictims(t, root)
		})
	}
}

func TestLinksInsideTheRootAreTheirTarget(t *testing.T) {
	t.Parallel()
	root, store, mine := scoped(t)
	symlink(t, root+"/wh/ns/t1/metadata", root+"/wh/absolute")
	symlink(t, "./ns/../ns//t1/", root+"/wh/relative")
	symlink(t, "relative", root+"/wh/twice")
	symlink(t, "metadata/own", root+"/wh/ns/t1/latest")
	want, err := store.Key(t.Context(), root+"/wh/ns/t1/metadata")
	if err != nil {
		t.Fatal(err)
	}
	for _, spelling := range []string{"absolute", "relative/metadata", "twice/metadata"} {
		if got, err := store.Key(t.Context(), root+"/wh/"+spelling); err != nil || got != want {
			t.Errorf("the key of %s is %q, %v, want %q", spelling, got, err, want)
		}
		if got, err := mine.Get(t.Context(), root+"/wh/"+spelling+"/own", 10); err != nil || string(got) != "own" {
			t.Errorf("%s/own holds %q, %v", spelling, got, err)
		}
	}
	if got, err := mine.Get(t.Context(), root+"/wh/ns/t1/latest", 10); err != nil || string(got) != "own" {
		t.Errorf("a link to an object gives %q, %v", got, err)
	}
	// Writing replaces the link, deleting removes it: never its target.
	if err := mine.Put(t.Context(), root+"/wh/ns/t1/latest", []byte("new")); err != nil {
		t.Fatal(err)
	}
	wantFile(t, root+"/wh/ns/t1/metadata/own", "own")
	wantFile(t, root+"/wh/ns/t1/latest", "new")
}

func TestLinksAreListedAndDeletedThemselves(t *testing.T) {
	t.Parallel()
	root, _, mine := scoped(t)
	symlink(t, root+"/outside/metadata/victim", root+"/wh/ns/t1/metadata/file")
	symlink(t, root+"/outside", root+"/wh/ns/t1/metadata/folder")
	symlink(t, ".", root+"/wh/ns/t1/metadata/loop")
	infos, err := mine.List(t.Context(), root+"/wh/ns/t1", "", 100)
	if err != nil || len(infos) != 4 {
		t.Fatalf("List gives %v, %v", infos, err)
	}
	if _, err := mine.Get(t.Context(), root+"/wh/ns/t1/metadata/file", 100); !errors.Is(err, storage.ErrOutside) {
		t.Errorf("reading through a link: %v", err)
	}
	for _, info := range infos {
		if err := mine.Delete(t.Context(), info.Location); err != nil {
			t.Errorf("Delete(%s): %v", info.Location, err)
		}
	}
	if err := mine.Prune(t.Context(), root+"/wh/ns/t1"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(root + "/wh/ns/t1"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the table's folder is still there: %v", err)
	}
	wantVictims(t, root)
}

func TestLinksInTheWayOfAFolderAreRefused(t *testing.T) {
	t.Parallel()
	root, store, _ := scoped(t)
	// The claim is taken while nothing is there; then a link appears.
	key, err := store.Key(t.Context(), root+"/wh/new/t")
	if err != nil {
		t.Fatal(err)
	}
	late := storage.Scope(store, []storage.Key{key})
	symlink(t, "../ns/t2", root+"/wh/new/t")
	storagetest.Touch(t, late, root+"/wh/new/t/metadata", root+"/wh/new/t/metadata/victim")
	wantVictims(t, root)
	// The warehouse's own folder becomes a link.
	if err := os.Rename(root+"/wh", root+"/moved"); err != nil {
		t.Fatal(err)
	}
	deeper := openIn(t, root, root+"/deep/er")
	symlink(t, root+"/outside", root+"/deep")
	storagetest.Touch(t, deeper, root+"/deep/er/metadata", root+"/deep/er/metadata/victim")
	wantFile(t, root+"/outside/metadata/victim", "victim")
}

func TestHardLinksAreNotWrittenThrough(t *testing.T) {
	t.Parallel()
	root, _, mine := scoped(t)
	hard := root + "/wh/ns/t1/metadata/hard"
	if err := os.Link(root+"/wh/ns/t2/metadata/victim", hard); err != nil {
		t.Fatal(err)
	}
	if err := mine.Put(t.Context(), hard, []byte("attack")); err != nil {
		t.Fatal(err)
	}
	wantVictims(t, root)
	if err := mine.Delete(t.Context(), hard); err != nil {
		t.Fatal(err)
	}
	wantVictims(t, root)
}

func TestWhatIsNoRegularFileIsNotRead(t *testing.T) {
	t.Parallel()
	root, _, mine := scoped(t)
	pipe := root + "/wh/ns/t1/metadata/pipe"
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	// A reader without care would wait for a writer for ever.
	if _, err := mine.Get(t.Context(), pipe, 10); !errors.Is(err, storage.ErrInvalid) {
		t.Errorf("reading a pipe: %v", err)
	}
	if err := mine.Put(t.Context(), pipe, []byte("x")); err != nil {
		t.Errorf("replacing a pipe: %v", err)
	}
	wantFile(t, pipe, "x")
}

// TestLinksPlantedMeanwhileLeadNowhere swaps a folder with a link to a
// neighbour and back, as fast as it can, while the server works in it.
func TestLinksPlantedMeanwhileLeadNowhere(t *testing.T) {
	t.Parallel()
	rounds := 150
	if os.Getenv("ICECORE_LONG") != "" {
		rounds = 5000
	}
	for name, planted := range map[string]struct{ folder, target string }{
		"inside the claim": {"ns/t1/metadata", "../t2/metadata"},
		"the claim itself": {"ns/t1", "t2"}, // which os.Root alone would follow
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, store, _ := scoped(t)
			key, err := store.Key(t.Context(), root+"/wh/ns/t1")
			if err != nil {
				t.Fatal(err)
			}
			// Without syncs more happens at the same time.
			mine := storage.Scope(watched(t, root, func(string, func() error) error { return nil }), []storage.Key{key})
			here := root + "/wh/" + planted.folder
			aside := filepath.Dir(here) + "/aside"
			symlink(t, planted.target, aside)
			var stop atomic.Bool
			var group sync.WaitGroup
			group.Go(func() {
				for !stop.Load() {
					if err := exchange(here, aside); err != nil {
						t.Errorf("the attack fails: %v", err)
						return
					}
				}
			})
			at := root + "/wh/ns/t1/metadata"
			for range rounds {
				if got, err := mine.Get(t.Context(), at+"/victim", 100); err == nil {
					t.Errorf("the neighbour's object was read: %q", got)
				}
				if _, err := mine.Stat(t.Context(), at+"/victim"); err == nil {
					t.Error("the neighbour's object was seen")
				}
				infos, _ := mine.List(t.Context(), at, "", 10)
				for _, info := range infos {
					if strings.HasSuffix(info.Location, "/victim") {
						t.Error("the neighbour's object was listed")
					}
				}
				_ = mine.Put(t.Context(), at+"/new", []byte("attack"))
				_ = mine.Put(t.Context(), at+"/deep/new", []byte("attack"))
				_ = mine.Delete(t.Context(), at+"/victim")
				_ = mine.Prune(t.Context(), at)
			}
			stop.Store(true)
			group.Wait()
			wantVictims(t, root)
		})
	}
}
