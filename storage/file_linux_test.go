package storage_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// exchange swaps two names in one step.
func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

// TestDiskFullOnAFullDisk fills a file system of its own. Not every machine
// lets a test mount one; there, the tests of file size limit and of late
// refusals still guard the same code.
func TestDiskFullOnAFullDisk(t *testing.T) {
	if os.Getenv(childStep) != "" {
		dir := t.TempDir()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
			fmt.Println("CHILD CANNOT MOUNT:", err)
			return
		}
		defer func() { _ = syscall.Unmount(dir, 0) }()
		fillUp(t, dir, 100<<10)
		fmt.Println("CHILD PASSED")
		return
	}
	t.Parallel()
	out, err := child(t, "disk", &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	})
	switch {
	case errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL) || bytes.Contains(out, []byte("CHILD CANNOT MOUNT")):
		if os.Getenv("CI") == "true" {
			t.Fatalf("this machine lets nobody mount, and CI must see a full disk: %v\n%s", err, out)
		}
		t.Skipf("this machine lets nobody mount: %v\n%s", err, out)
	case err != nil || !bytes.Contains(out, []byte("CHILD PASSED")):
		t.Fatalf("%v\n%s", err, out)
	}
}
