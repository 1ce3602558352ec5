//go:build linux && !osroot

package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// folder is an open folder. Everything below it is reached by a single name
// that is never a way: names hold no slash, and links are not followed.
type folder struct {
	fd            int
	device, inode uint64
}

// openFlags: O_NOFOLLOW makes the kernel refuse a link in place of the entry.
const openFlags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// openRootFolder opens a folder by its path, following links: the operator
// vouches for it.
func openRootFolder(path string) (folder, error) {
	return opened(retry(func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}))
}

func opened(fd int, err error) (folder, error) {
	if err != nil {
		return folder{}, err
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		_ = unix.Close(fd)
		return folder{}, err
	}
	return folder{fd: fd, device: stat.Dev, inode: stat.Ino}, nil
}

// retry repeats a call that a signal interrupted, as package os does: some
// file systems on the network or in user space let that happen.
func retry[T any](call func() (T, error)) (T, error) {
	for {
		v, err := call()
		if !errors.Is(err, unix.EINTR) {
			return v, err
		}
	}
}

func retryErr(call func() error) error {
	_, err := retry(func() (struct{}, error) { return struct{}{}, call() })
	return err
}

func (f folder) close() { _ = unix.Close(f.fd) } // opened for reading

// identity tells the folder from every other one that exists.
func (f folder) identity() (device, inode uint64, ok bool) { return f.device, f.inode, true }

// open opens a folder in f. It fails with errLink if the name is a link, with
// ENOTDIR if it is anything else, with ENOENT if it is nothing.
func (f folder) open(name string) (folder, error) {
	const attempts = 16
	for range attempts {
		sub, err := opened(retry(func() (int, error) {
			return unix.Openat(f.fd, name, openFlags|unix.O_DIRECTORY, 0)
		}))
		if !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.ELOOP) {
			return sub, err
		}
		found, err := f.lstat(name)
		switch {
		case err != nil:
			return folder{}, err
		case found.mode&fs.ModeSymlink != 0:
			return folder{}, errLink
		case !found.mode.IsDir():
			return folder{}, unix.ENOTDIR
		}
	}
	return folder{}, fail(ErrOutside, "a folder on the way changes all the time")
}

func (f folder) lstat(name string) (entry, error) {
	var stat unix.Stat_t
	if err := retryErr(func() error { return unix.Fstatat(f.fd, name, &stat, unix.AT_SYMLINK_NOFOLLOW) }); err != nil {
		return entry{}, err
	}
	e := entry{size: stat.Size, modTime: time.Unix(stat.Mtim.Unix()).UTC()}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		e.mode = fs.ModeDir
	case unix.S_IFLNK:
		e.mode = fs.ModeSymlink
	default:
		e.mode = fs.ModeIrregular
	}
	return e, nil
}

func (f folder) readlink(name string) (string, error) {
	target := make([]byte, unix.PathMax+1)
	n, err := retry(func() (int, error) { return unix.Readlinkat(f.fd, name, target) })
	if err != nil {
		return "", err
	}
	return string(target[:n]), nil
}

// create makes a file that must not be there, read opens one that must. A pipe
// would block the open until somebody writes.
func (f folder) create(name string) (*os.File, error) {
	return f.file(name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
}

func (f folder) read(name string) (*os.File, error) {
	return f.file(name, unix.O_RDONLY|unix.O_NONBLOCK)
}

func (f folder) file(name string, flags int) (*os.File, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(f.fd, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o666)
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func (f folder) mkdir(name string) error {
	return retryErr(func() error { return unix.Mkdirat(f.fd, name, 0o777) })
}

func (f folder) rename(from, to string) error {
	return retryErr(func() error { return unix.Renameat(f.fd, from, f.fd, to) })
}

func (f folder) link(from, to string) error {
	return retryErr(func() error { return unix.Linkat(f.fd, from, f.fd, to, 0) })
}

// remove removes anything but a folder, rmdir an empty folder and nothing else.
func (f folder) remove(name string) error {
	return retryErr(func() error { return unix.Unlinkat(f.fd, name, 0) })
}

func (f folder) rmdir(name string) error {
	return retryErr(func() error { return unix.Unlinkat(f.fd, name, unix.AT_REMOVEDIR) })
}

// entries returns what is in the folder, in no order.
func (f folder) entries() ([]fs.DirEntry, error) {
	fd, err := retry(func() (int, error) { return unix.Openat(f.fd, ".", openFlags|unix.O_DIRECTORY, 0) })
	if err != nil {
		return nil, err
	}
	// DirEntry asks by path for a type that the file system does not tell; the
	// name under /proc is that folder, whatever has become of its path.
	dir := os.NewFile(uintptr(fd), fmt.Sprintf("/proc/self/fd/%d", fd))
	defer func() { _ = dir.Close() }() // opened for reading
	return dir.ReadDir(-1)
}

// sync makes the folder's entries durable.
func (f folder) sync() error { return retryErr(func() error { return unix.Fsync(f.fd) }) }
