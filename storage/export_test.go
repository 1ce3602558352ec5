package storage

import "os"

// WatchSync puts f in the place of File.Sync in stores opened from now on.
func (s *Stores) WatchSync(f func(*os.File) error) { s.fsync = f }

// TempPrefix begins the names of objects that are being written.
const TempPrefix = tempPrefix
