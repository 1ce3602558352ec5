package storage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/icecore-catalog/icecore/storage"
)

// watched returns a store below dir/wh whose syncs go through sync.
func watched(t testing.TB, dir string, sync func(string, func() error) error) storage.Store {
	t.Helper()
	stores, err := storage.NewStores(storage.Config{FileRoots: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	stores.WatchSync(sync)
	store, err := stores.Open(t.Context(), profile(t, dir+"/wh"))
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// tree returns the names below a folder.
func tree(t testing.TB, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path != dir {
			names = append(names, strings.TrimPrefix(path, dir+"/"))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestPutSyncsFileThenNameThenNewFolders(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var synced []string
	store := watched(t, dir, func(name string, sync func() error) error {
		_, statErr := os.Stat(dir + "/wh/ns/t/one")
		if strings.Contains(name, storage.TempPrefix) {
			name = "temp"
		}
		synced = append(synced, fmt.Sprintf("%s:%v", name, statErr == nil))
		return sync()
	})
	want := func(what string, names ...string) {
		t.Helper()
		if !slices.Equal(synced, names) {
			t.Errorf("%s syncs %q, want %q", what, synced, names)
		}
		synced = nil
	}
	put := func(name string) {
		t.Helper()
		if err := store.Put(t.Context(), dir+"/wh/"+name, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	put("ns/t/one")
	want("the first put", "one:true", "wh/ns/t/:true", "wh/ns/:true", "wh/:true", "/:true")
	put("ns/t/two")
	want("the next put there", "two:true", "wh/ns/t/:true")
	put("ns/t/two")
	want("a put over it", "temp:true", "wh/ns/t/:true")
	put("ns/u/three")
	want("a put in a new folder", "three:true", "wh/ns/u/:true", "wh/ns/:true")
	// A folder that an engine made may not be durable yet.
	mkdir(t, dir+"/wh/engine/t")
	put("engine/t/four")
	want("a put in an engine's folder", "four:true", "wh/engine/t/:true", "wh/engine/:true", "wh/:true")
	if err := store.PutIfAbsent(t.Context(), dir+"/wh/ns/t/five", nil); err != nil {
		t.Fatal(err)
	}
	want("put-if-absent", "temp:true", "wh/ns/t/:true")
	// A folder that was removed and made again is another one.
	for _, name := range []string{"one", "two", "five"} {
		if err := store.Delete(t.Context(), dir+"/wh/ns/t/"+name); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Prune(t.Context(), dir+"/wh/ns/t"); err != nil {
		t.Fatal(err)
	}
	synced = nil
	mkdir(t, dir+"/wh/ns/t")
	put("ns/t/one")
	want("a put after prune", "one:true", "wh/ns/t/:true", "wh/ns/:true")
}

func TestPutThatCannotSyncFails(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rule    string
		fail    func(name string) error
		kind    error
		nothing bool // nothing is left behind
	}{
		{"file data", func(name string) error {
			if name == "object" {
				return syscall.EIO
			}
			return nil
		}, syscall.EIO, true},
		{"file data, no space found out late", func(name string) error {
			if name == "object" {
				return &os.PathError{Op: "sync", Path: name, Err: syscall.ENOSPC}
			}
			return nil
		}, storage.ErrNoSpace, true},
		{"file data, over quota", func(name string) error {
			if name == "object" {
				return syscall.EDQUOT
			}
			return nil
		}, storage.ErrNoSpace, true},
		{"the folder", func(name string) error {
			if name == "wh/ns/" {
				return syscall.EIO
			}
			return nil
		}, syscall.EIO, false},
		{"the folder's parent", func(name string) error {
			if name == "wh/" {
				return syscall.EIO
			}
			return nil
		}, syscall.EIO, false},
	} {
		t.Run(test.rule, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			store := watched(t, dir, func(name string, _ func() error) error { return test.fail(name) })
			for range 2 { // a failure is not remembered as done
				err := store.Put(t.Context(), dir+"/wh/ns/object", []byte("x"))
				if !errors.Is(err, test.kind) {
					t.Errorf("error %v, want %v", err, test.kind)
				}
				if strings.Contains(fmt.Sprint(err), storage.TempPrefix) {
					t.Errorf("the error shows the temporary name: %v", err)
				}
			}
			if names := tree(t, dir); test.nothing && len(names) != 0 {
				t.Errorf("left behind: %v", names)
			}
		})
	}
}

// childStep names the environment variable that makes the test binary play a
// part in a test: to meet limits that hold for a whole process.
const childStep = "ICECORE_STORAGE_TEST_CHILD"

// child runs this test again in a process of its own.
func child(t *testing.T, step string, attr *syscall.SysProcAttr) ([]byte, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), childStep+"="+step)
	cmd.SysProcAttr = attr
	return cmd.CombinedOutput()
}

// fillUp puts objects until there is no room, and checks that the refusal
// left everything as it was and that smaller objects still fit.
func fillUp(t *testing.T, dir string, size int) {
	t.Helper()
	store := openIn(t, dir, dir)
	location := func(i int) string { return fmt.Sprintf("%s/ns/t-%d/metadata/object", dir, i) }
	if err := store.Put(t.Context(), location(0), []byte("small")); err != nil {
		t.Fatal(err)
	}
	for i := 1; ; i++ {
		before := tree(t, dir)
		err := store.Put(t.Context(), location(i), bytes.Repeat([]byte("x"), size))
		if err == nil && i < 1000 {
			continue
		}
		if !errors.Is(err, storage.ErrNoSpace) {
			t.Fatalf("put %d: %v, want ErrNoSpace", i, err)
		}
		if after := tree(t, dir); !slices.Equal(before, after) {
			t.Fatalf("left behind: %v, before %v", after, before)
		}
		break
	}
	// Replacing fails as well, and what was there stays.
	if err := store.Put(t.Context(), location(0), bytes.Repeat([]byte("x"), size)); !errors.Is(err, storage.ErrNoSpace) {
		t.Fatalf("replacing: %v", err)
	}
	if err := store.PutIfAbsent(t.Context(), dir+"/ns/other", bytes.Repeat([]byte("x"), size)); !errors.Is(err, storage.ErrNoSpace) {
		t.Fatalf("put-if-absent: %v", err)
	}
	wantFile(t, dir+"/ns/t-0/metadata/object", "small")
}

func TestDiskFullAtAFileSizeLimit(t *testing.T) {
	if os.Getenv(childStep) != "" {
		limit := syscall.Rlimit{Cur: 64 << 10, Max: 64 << 10}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			t.Fatal(err)
		}
		fillUp(t, t.TempDir(), 100<<10)
		fmt.Println("CHILD PASSED")
		return
	}
	t.Parallel()
	out, err := child(t, "limit", nil)
	if err != nil || !bytes.Contains(out, []byte("CHILD PASSED")) {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestCrashLeavesNoHalfObject(t *testing.T) {
	if dir := os.Getenv(childStep); dir != "" {
		store := watched(t, dir, func(name string, sync func() error) error {
			if strings.Contains(name, storage.TempPrefix) {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
			return nil
		})
		t.Fatal(store.Put(t.Context(), dir+"/wh/ns/object", []byte("new")))
	}
	t.Parallel()
	dir := t.TempDir()
	write(t, dir+"/wh/ns/object", "old")
	if out, err := child(t, dir, nil); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("%v\n%s", err, out)
	}
	wantFile(t, dir+"/wh/ns/object", "old")
	// What the dead process left is listed, and can be deleted.
	store := openIn(t, dir, dir+"/wh")
	infos, err := store.List(t.Context(), dir+"/wh/ns", "", 10)
	if err != nil || len(infos) != 2 || !strings.Contains(infos[0].Location, storage.TempPrefix) {
		t.Fatalf("List gives %v, %v", infos, err)
	}
	if err := store.Delete(t.Context(), infos[0].Location); err != nil {
		t.Fatal(err)
	}
	if names := tree(t, dir+"/wh/ns"); !slices.Equal(names, []string{"object"}) {
		t.Errorf("left behind: %v", names)
	}
}

// A new object is written in its place. What a dead process left of it is
// nobody's, for its Put has not returned; the next Put replaces it whole.
func TestCrashWhileANewObjectIsWritten(t *testing.T) {
	if dir := os.Getenv(childStep); dir != "" {
		store := watched(t, dir, func(string, func() error) error { return syscall.Kill(os.Getpid(), syscall.SIGKILL) })
		t.Fatal(store.Put(t.Context(), dir+"/wh/ns/object", []byte("half")))
	}
	t.Parallel()
	dir := t.TempDir()
	if out, err := child(t, dir, nil); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("%v\n%s", err, out)
	}
	store := openIn(t, dir, dir+"/wh")
	if err := store.Put(t.Context(), dir+"/wh/ns/object", []byte("whole")); err != nil {
		t.Fatal(err)
	}
	wantFile(t, dir+"/wh/ns/object", "whole")
	if names := tree(t, dir+"/wh/ns"); !slices.Equal(names, []string{"object"}) {
		t.Errorf("left behind: %v", names)
	}
}

func TestPutsSurvivePruning(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store := openIn(t, dir, dir+"/wh")
	ctx, stop := context.WithCancel(t.Context())
	var pruner, writers sync.WaitGroup
	pruner.Go(func() {
		for ctx.Err() == nil {
			if err := store.Prune(t.Context(), dir+"/wh"); err != nil {
				t.Errorf("Prune: %v", err)
				return
			}
		}
	})
	for i := range 4 {
		writers.Go(func() {
			for range 100 {
				location := fmt.Sprintf("%s/wh/a/b/%d/object", dir, i)
				if err := store.Put(t.Context(), location, []byte("x")); err != nil {
					t.Errorf("Put: %v", err)
					return
				}
				if _, err := store.Get(t.Context(), location, 1); err != nil {
					t.Errorf("Get after Put: %v", err)
					return
				}
				if err := store.Delete(t.Context(), location); err != nil {
					t.Errorf("Delete: %v", err)
					return
				}
			}
		})
	}
	writers.Wait()
	stop()
	pruner.Wait()
}

func TestPutOntoFoldersAndBelowObjectsIsInvalid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store := openIn(t, dir, dir)
	write(t, dir+"/folder/object", "x")
	for _, path := range []string{"/folder", "/folder/object/below", "/folder/object/below/deeper", "/folder/" + strings.Repeat("n", 256)} {
		if err := store.Put(t.Context(), dir+path, nil); !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("Put at %s: %v", path, err)
		}
	}
	if names := tree(t, dir); !slices.Equal(names, []string{"folder", "folder/object"}) {
		t.Errorf("left behind: %v", names)
	}
}
