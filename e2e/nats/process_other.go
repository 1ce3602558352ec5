//go:build unix && !linux

package nats

import (
	"os/exec"
	"syscall"
)

// apart keeps a terminal's Ctrl-C away from the server.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
