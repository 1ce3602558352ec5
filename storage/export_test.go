package storage

// WatchSync lets f carry out the syncs of stores opened from now on.
func (s *Stores) WatchSync(f func(name string, sync func() error) error) { s.onSync = f }

// TempPrefix begins the names of objects that are being written.
const TempPrefix = tempPrefix
