package storage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Config says which stores the operator allows.
type Config struct {
	// FileRoots are the folders that warehouses of type "file" may lie in, as
	// absolute paths or file locations. Each must exist. Without any, local
	// files are refused.
	FileRoots []string
}

// Stores opens the stores of warehouses. It is safe for concurrent use.
type Stores struct {
	fileRoots []fileRoot
	synced    *syncedFolders
	// onSync carries out every sync; tests watch it. The name is that of a
	// temporary file, or a folder's path below the allowed root with a slash.
	onSync func(name string, sync func() error) error
}

// fileRoot is an allowed root: its path as the operator spelled it and with
// all links resolved, both without slash at either end.
type fileRoot struct{ spelled, real string }

// NewStores checks the configuration. The folders' links are resolved once,
// here: to move a root, restart.
func NewStores(config Config) (*Stores, error) {
	s := &Stores{synced: newSyncedFolders(), onSync: func(_ string, sync func() error) error { return sync() }}
	for _, text := range config.FileRoots {
		l, err := ParseLocation(text)
		if err != nil {
			return nil, fmt.Errorf("storage root %q: %w", text, err)
		}
		realPath, err := filepath.EvalSymlinks("/" + l.path)
		if err != nil {
			return nil, fmt.Errorf("storage root %q: %w", text, err)
		}
		info, err := os.Stat(realPath)
		if err != nil {
			return nil, fmt.Errorf("storage root %q: %w", text, err)
		}
		if !info.IsDir() {
			return nil, fmt.Errorf("storage root %q is not a folder", text)
		}
		s.fileRoots = append(s.fileRoots, fileRoot{spelled: l.path, real: strings.Trim(realPath, "/")})
	}
	return s, nil
}

// Open returns the store of a profile. Its root need not exist yet, but must
// lie at or below an allowed root ([ErrOutside] otherwise), also after links
// are resolved.
func (s *Stores) Open(ctx context.Context, profile Profile) (Store, error) {
	if profile.IsZero() {
		return nil, &Error{Op: "open", Kind: ErrInvalid, Cause: fmt.Errorf("the storage profile is empty")}
	}
	root, rel, ok := s.allowedRoot(profile.root.path)
	if !ok {
		return nil, &Error{
			Op: "open", Location: profile.root.String(), Kind: ErrOutside,
			Cause: fmt.Errorf("local files are allowed below the configured storage roots only"),
		}
	}
	// The allowed root itself serves as store to find out where the profile's
	// root really lies.
	outer := &fileStore{profile: profile, root: root.real, spellings: []string{root.spelled, root.real}, synced: s.synced, onSync: s.onSync}
	at, err := outer.walk(ctx, splitPath(rel), walkFolder)
	if err != nil {
		return nil, fileError("open", profile.root.String(), err)
	}
	defer at.close()
	base := at.path()
	realBase := joinPath(root.real, joinPath(base...))
	return &fileStore{
		profile:   profile,
		root:      root.real,
		base:      base,
		folder:    "/" + realBase,
		spellings: []string{profile.root.path, realBase, joinPath(root.spelled, joinPath(base...))},
		synced:    s.synced,
		onSync:    s.onSync,
	}, nil
}

// allowedRoot finds the innermost allowed root that path lies in, and the rest
// of path below it.
func (s *Stores) allowedRoot(path string) (found fileRoot, rel string, ok bool) {
	longest := -1
	for _, root := range s.fileRoots {
		for _, prefix := range []string{root.spelled, root.real} {
			if len(prefix) > longest && within(path, prefix) {
				found, rel, ok, longest = root, strings.TrimPrefix(path[len(prefix):], "/"), true, len(prefix)
			}
		}
	}
	return found, rel, ok
}
