package faults_test

import (
	"os"
	"strconv"
	"syscall"
	"testing"
)

// mountSmall puts a file system of the given size over a folder.
func mountSmall(t *testing.T, folder string, size int) {
	t.Helper()
	if os.Geteuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("the full disk needs a mount, which needs root")
		}
		t.Skip("the full disk needs a mount, which needs root")
	}
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size="+strconv.Itoa(size)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
}
