package kafka

import (
	"os/exec"
	"syscall"
)

// apart keeps a terminal's Ctrl-C away from the broker and ends it with whoever
// started it.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
