//go:build linux || darwin

package postgres

import "golang.org/x/sys/unix"

// removeSegment removes a System V shared memory segment, if nobody uses it.
func removeSegment(id int) {
	var info unix.SysvShmDesc
	if _, err := unix.SysvShmCtl(id, unix.IPC_STAT, &info); err == nil && info.Nattch == 0 {
		_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	}
}
