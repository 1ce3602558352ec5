package storage

import "sync"

// maxSynced bounds the memory of syncedFolders; when it is full it starts
// again, which costs a few syncs more.
const maxSynced = 1 << 16

// syncedFolders remembers which folders' entries in their parents are durable,
// so that a Put into a folder that was there need not sync the whole way to
// the root. An entry is known by the inodes of parent and child and its name:
// a folder that was renamed or made again is another entry.
type syncedFolders struct {
	mu   sync.Mutex
	seen map[folderEntry]struct{}
}

type folderEntry struct {
	device, parent, child uint64
	name                  string
}

func newSyncedFolders() *syncedFolders {
	return &syncedFolders{seen: map[folderEntry]struct{}{}}
}

func entryOf(parent, child step) (folderEntry, bool) {
	_, above, ok := parent.identity()
	device, inode, ok2 := child.identity()
	return folderEntry{device: device, parent: above, child: inode, name: child.name}, ok && ok2
}

func (s *syncedFolders) has(parent, child step) bool {
	entry, ok := entryOf(parent, child)
	if !ok {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, seen := s.seen[entry]
	return seen
}

func (s *syncedFolders) add(parent, child step) {
	entry, ok := entryOf(parent, child)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) >= maxSynced {
		clear(s.seen)
	}
	s.seen[entry] = struct{}{}
}

// forget is called for a folder that was removed: its inode may come again.
func (s *syncedFolders) forget(parent, child step) {
	entry, ok := entryOf(parent, child)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.seen, entry)
}
