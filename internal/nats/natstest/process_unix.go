//go:build unix

package natstest

import (
	"syscall"
	"testing"
)

// Freeze stops the process with SIGSTOP: its connections stay, and nothing
// answers.
func (p *Process) Freeze(t testing.TB) { p.signal(t, syscall.SIGSTOP) }

// Thaw lets a frozen process go on.
func (p *Process) Thaw(t testing.TB) { p.signal(t, syscall.SIGCONT) }

func (p *Process) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := p.command.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}
