//go:build unix

package pgtest

import (
	"errors"
	"syscall"
)

func processLives(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// freeBytes is the room in a file system, 0 if there is none such.
func freeBytes(dir string) uint64 {
	var st syscall.Statfs_t
	if syscall.Statfs(dir, &st) != nil {
		return 0
	}
	return uint64(st.Bavail) * uint64(st.Bsize) //nolint:unconvert // types differ between systems
}
