//go:build unix && !linux

package main

import "syscall"

func withParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
