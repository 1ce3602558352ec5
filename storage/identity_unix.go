//go:build unix

package storage

import (
	"os"
	"syscall"
)

// identity returns the device and inode of a file.
func identity(info os.FileInfo) (device, inode uint64, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return uint64(stat.Dev), uint64(stat.Ino), true //nolint:unconvert,gosec // types differ between systems
}
