//go:build unix

package nats

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lock holds a folder for this server: two on one folder would ruin it, and
// nats-server itself does not look. It ends with the process, however that ends.
func lock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "icecore.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("nats: folder of streams: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: %s", ErrFolderInUse, dir)
		}
		return nil, fmt.Errorf("nats: lock the folder of streams: %w", err)
	}
	return f, nil
}
