//go:build unix && (!linux || osroot)

package storage

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// folder is an open folder. Everything below it is reached by a single name
// that is never a way. This form works on every system; Linux has a leaner
// one. The tag osroot selects this one there, for the tests.
type folder struct {
	root *os.Root
	info os.FileInfo
}

// openRootFolder opens a folder by its path, following links: the operator
// vouches for it.
func openRootFolder(path string) (folder, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return folder{}, err
	}
	info, err := root.Stat(".")
	if err != nil {
		_ = root.Close()
		return folder{}, err
	}
	return folder{root, info}, nil
}

func (f folder) close() { _ = f.root.Close() } // opened for reading

// identity tells the folder from every other one that exists.
func (f folder) identity() (device, inode uint64, ok bool) {
	stat, ok := f.info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return uint64(stat.Dev), uint64(stat.Ino), true //nolint:unconvert // types differ between systems
}

// open opens a folder in f. It fails with errLink if the name is a link, with
// ENOTDIR if it is anything else, with ENOENT if it is nothing. os.Root would
// follow a link within itself; that the opened folder is the entry that was
// looked at is told by its inode.
func (f folder) open(name string) (folder, error) {
	const attempts = 16
	for range attempts {
		entry, err := f.root.Lstat(name)
		switch {
		case err != nil:
			return folder{}, err
		case entry.Mode()&fs.ModeSymlink != 0:
			return folder{}, errLink
		case !entry.IsDir():
			return folder{}, syscall.ENOTDIR
		}
		root, err := f.root.OpenRoot(name)
		if err != nil {
			if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrNotExist) {
				continue // replaced since: look again
			}
			return folder{}, err
		}
		opened, err := root.Stat(".")
		if err == nil && os.SameFile(entry, opened) {
			return folder{root, opened}, nil
		}
		_ = root.Close()
		if err != nil {
			return folder{}, err
		}
	}
	return folder{}, fail(ErrOutside, "a folder on the way changes all the time")
}

func (f folder) lstat(name string) (entry, error) {
	info, err := f.root.Lstat(name)
	if err != nil {
		return entry{}, err
	}
	return entry{mode: info.Mode().Type(), size: info.Size(), modTime: info.ModTime().UTC()}, nil
}

func (f folder) readlink(name string) (string, error) { return f.root.Readlink(name) }

// create makes a file that must not be there, read opens one that must. A pipe
// would block the open until somebody writes.
func (f folder) create(name string) (*os.File, error) {
	return f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}

func (f folder) read(name string) (*os.File, error) {
	return f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

func (f folder) mkdir(name string) error      { return f.root.Mkdir(name, 0o777) }
func (f folder) rename(from, to string) error { return f.root.Rename(from, to) }
func (f folder) link(from, to string) error   { return f.root.Link(from, to) }

// remove removes anything but a folder, rmdir an empty folder and nothing else.
func (f folder) remove(name string) error {
	info, err := f.root.Lstat(name)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return syscall.EISDIR
	}
	return f.root.Remove(name)
}

func (f folder) rmdir(name string) error {
	dir, err := f.root.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }() // opened for reading
	// os.Root.Remove would take an object that has come to have the name.
	return unix.Unlinkat(int(dir.Fd()), name, unix.AT_REMOVEDIR)
}

// entries returns what is in the folder, in no order.
func (f folder) entries() ([]fs.DirEntry, error) {
	dir, err := f.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }() // opened for reading
	return dir.ReadDir(-1)
}

// sync makes the folder's entries durable.
func (f folder) sync() error {
	dir, err := f.root.Open(".")
	if err != nil {
		return err
	}
	err = dir.Sync()
	if closeErr := dir.Close(); err == nil {
		err = closeErr
	}
	return err
}
