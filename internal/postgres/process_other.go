//go:build unix && !linux

package postgres

import (
	"os/exec"
	"strconv"
)

// dieWithParent can't be had here; the next start stops what was left running.
func dieWithParent(*exec.Cmd) {}

func children(pid int) []int { return psChildren(pid) }

// commandLine is what the process was started with, or "" if it is gone.
func commandLine(pid int) string {
	out, err := exec.Command("ps", "-o", "command=", "-p", strconv.Itoa(pid)).Output() //nolint:noctx // returns at once
	if err != nil {
		return ""
	}
	return string(out)
}
