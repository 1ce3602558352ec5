//go:build unix && !linux

package kafka

import (
	"os/exec"
	"syscall"
)

// apart keeps a terminal's Ctrl-C away from the broker.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
