//go:build !unix

package storage

import "os"

// identity is not known here: every folder on the way is synced each time.
func identity(os.FileInfo) (device, inode uint64, ok bool) { return 0, 0, false }

// removeFolder removes an empty folder.
func removeFolder(parent *os.Root, name string) error { return parent.Remove(name) }
