package nats

import (
	"os/exec"
	"syscall"
)

// apart keeps a terminal's Ctrl-C away from the server and ends it with whoever
// started it.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
