//go:build unix

package storage

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// identity returns the device and inode of a file.
func identity(info os.FileInfo) (device, inode uint64, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return uint64(stat.Dev), uint64(stat.Ino), true //nolint:unconvert,gosec // types differ between systems
}

// removeFolder removes an empty folder, and nothing else: os.Root.Remove would
// take an object that has come to have the folder's name.
func removeFolder(parent *os.Root, name string) error {
	f, err := parent.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened for reading
	return unix.Unlinkat(int(f.Fd()), name, unix.AT_REMOVEDIR)
}
