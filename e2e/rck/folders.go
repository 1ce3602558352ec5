package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// warehouseRoot is where the kit wants its tables: see the package's comment.
const warehouseRoot = "/tmp"

// scratch is the folder of the kit's temporary files, views with a location of
// their own among them.
const scratch = "icecore-rck"

// kitFolders are the folders below the warehouse's root that the kit's
// namespaces lie in, and its scratch folder.
var kitFolders = []string{"a", "newdb", "ns", "ns1", "ns2", "ns_1", "ns_2", scratch}

// marker is the file that tells our folders from other people's; it holds the
// id of the process that made them.
const marker = ".icecore-rck"

// folders are the folders of one run.
type folders struct{ paths []string }

// claimFolders makes the kit's folders. What a dead run has left is removed;
// what belongs to somebody else, or to a run that is going on, is an error.
func claimFolders(root string) (*folders, error) {
	f := &folders{}
	for _, name := range kitFolders {
		path := filepath.Join(root, name)
		if err := claimFolder(path); err != nil {
			return nil, errors.Join(err, f.remove())
		}
		f.paths = append(f.paths, path)
	}
	return f, nil
}

func claimFolder(path string) error {
	if err := os.Mkdir(path, 0o755); errors.Is(err, fs.ErrExist) {
		text, err := os.ReadFile(filepath.Join(path, marker))
		if err != nil {
			return fmt.Errorf("%s is in the way: the kit keeps its tables there; move it away", path)
		}
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && alive(pid) {
			return fmt.Errorf("%s belongs to a run that is going on (process %d)", path, pid)
		}
		if err := os.RemoveAll(path); err != nil {
			return err
		}
		if err := os.Mkdir(path, 0o755); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(path, marker), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644)
}

// alive reports whether a process with this id runs, be it somebody else's.
func alive(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = process.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, fs.ErrPermission)
}

// hold reports whether a location lies in one of the folders.
func (f *folders) hold(location string) bool {
	for _, path := range f.paths {
		if strings.HasPrefix(location, "file://"+path+"/") {
			return true
		}
	}
	return false
}

func (f *folders) remove() error {
	var errs []error
	for _, path := range f.paths {
		errs = append(errs, os.RemoveAll(path))
	}
	return errors.Join(errs...)
}
