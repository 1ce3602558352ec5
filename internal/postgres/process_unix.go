//go:build unix

package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// mayEnter reports whether the account has the execute bit on a folder.
// Supplementary groups and access lists are not looked at: the answer errs on
// the side of no.
func (a *account) mayEnter(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.Mode()&0o001 != 0
	}
	switch {
	case int(st.Uid) == a.uid:
		return info.Mode()&0o100 != 0
	case int(st.Gid) == a.gid:
		return info.Mode()&0o010 != 0
	}
	return info.Mode()&0o001 != 0
}

// runAs makes a command run as the account.
func runAs(cmd *exec.Cmd, acc *account) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if acc != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(acc.uid), Gid: uint32(acc.gid)}
	}
}

// detach keeps a terminal's Ctrl-C away from the server: its owner stops it in
// the right order.
func detach(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
}

func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

func signalProcess(pid int, sig syscall.Signal) error {
	err := syscall.Kill(pid, sig)
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// The signals by which a postmaster stops.
const (
	sigFast      = syscall.SIGINT
	sigImmediate = syscall.SIGQUIT
	sigKill      = syscall.SIGKILL
	sigFreeze    = syscall.SIGSTOP
)

// errLocked says that another process holds the lock.
var errLocked = errors.New("locked")

// lockPatience is far longer than the moment between fork and exec.
const lockPatience = 500 * time.Millisecond

// lockFile takes a lock that dies with this process. An exclusive one leaves the
// process's id in the file.
func lockFile(path string, shared bool) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644) //nolint:gosec // it holds a process id
	if err != nil {
		return nil, err
	}
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	// A child that some process is just starting holds its parent's open files,
	// a lock that the parent has given up among them, until it becomes the other
	// program. So a lock that is held is looked at again for a moment.
	wait, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	_ = poll(wait, func() bool {
		err = syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
		return !errors.Is(err, syscall.EWOULDBLOCK)
	})
	if err != nil {
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if !shared && file.Truncate(0) == nil {
		_, _ = fmt.Fprintf(file, "%d\n", os.Getpid())
	}
	return file, nil
}

// psChildren asks ps for the children of a process.
func psChildren(pid int) []int {
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output() //nolint:noctx // returns at once
	if err != nil {
		return nil
	}
	var pids []int
	for line := range strings.Lines(string(out)) {
		var child, parent int
		if n, _ := fmt.Sscan(line, &child, &parent); n == 2 && parent == pid {
			pids = append(pids, child)
		}
	}
	return pids
}
