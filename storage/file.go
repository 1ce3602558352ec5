package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"
)

// fileStore is the store of one profile of local files.
type fileStore struct {
	profile Profile
	root    string   // the allowed root's path, links resolved
	base    []string // segments from there to the profile's root, links resolved
	folder  string   // absolute path of the profile's root, links resolved
	// spellings are the paths by which locations may begin: the profile's root
	// as spelled, and without links.
	spellings []string
	synced    *syncedFolders
	onSync    func(name string, sync func() error) error
}

var _ Store = (*fileStore)(nil)

// fileObjects narrows a store to claims, or to its root if all is set.
type fileObjects struct {
	store  *fileStore
	claims []Key
	all    bool
}

// Profile implements Store.
func (s *fileStore) Profile() Profile { return s.profile }

// Locate implements Store.
func (s *fileStore) Locate(location string) (Location, error) {
	l, _, err := s.locate(location)
	return l, err
}

// locate also returns the segments below the profile's root.
func (s *fileStore) locate(location string) (Location, []string, error) {
	l, err := ParseLocation(location)
	if err != nil {
		return Location{}, nil, err
	}
	for _, spelling := range s.spellings {
		if within(l.path, spelling) {
			return l, splitPath(strings.TrimPrefix(l.path[len(spelling):], "/")), nil
		}
	}
	return Location{}, nil, &Error{
		Op: "locate", Location: location, Kind: ErrOutside,
		Cause: fmt.Errorf("it does not lie below %s", s.profile.root),
	}
}

// Key implements Store.
func (s *fileStore) Key(ctx context.Context, location string) (Key, error) {
	_, below, err := s.locate(location)
	if err != nil {
		return "", err
	}
	at, err := s.walk(ctx, below, walkFolder)
	if err != nil {
		return "", fileError("resolve", location, err)
	}
	defer at.close()
	key := s.key(at)
	if len(key) > MaxLocation || !utf8.ValidString(string(key)) {
		return "", fileError("resolve", location, fail(ErrInvalid, "it leads to a place of more than %d bytes or not in UTF-8", MaxLocation))
	}
	return key, nil
}

func (s *fileStore) key(at *place) Key {
	return newKey(schemeFile, "", joinPath(s.root, joinPath(at.path()...)))
}

// Folder implements Store.
func (s *fileStore) Folder(claim Key) (Location, error) {
	path, ok := strings.CutPrefix(string(claim), schemeFile+"//")
	if !ok {
		return Location{}, &Error{Op: "locate", Location: string(claim), Kind: ErrInvalid, Cause: errors.New("it is no claim on local files")}
	}
	return s.Locate("/" + strings.TrimSuffix(path, "/"))
}

// Scoped implements Store.
func (s *fileStore) Scoped(claims []Key) Objects { return &fileObjects{store: s, claims: claims} }

func (s *fileStore) whole() *fileObjects { return &fileObjects{store: s, all: true} }

// Put implements Objects.
func (s *fileStore) Put(ctx context.Context, location string, data []byte) error {
	return s.whole().Put(ctx, location, data)
}

// PutIfAbsent implements Objects.
func (s *fileStore) PutIfAbsent(ctx context.Context, location string, data []byte) error {
	return s.whole().PutIfAbsent(ctx, location, data)
}

// Get implements Objects.
func (s *fileStore) Get(ctx context.Context, location string, limit int64) ([]byte, error) {
	return s.whole().Get(ctx, location, limit)
}

// Stat implements Objects.
func (s *fileStore) Stat(ctx context.Context, location string) (Info, error) {
	return s.whole().Stat(ctx, location)
}

// List implements Objects.
func (s *fileStore) List(ctx context.Context, prefix, after string, limit int) ([]Info, error) {
	return s.whole().List(ctx, prefix, after, limit)
}

// Delete implements Objects.
func (s *fileStore) Delete(ctx context.Context, location string) error {
	return s.whole().Delete(ctx, location)
}

// Prune implements Objects.
func (s *fileStore) Prune(ctx context.Context, prefix string) error {
	return s.whole().Prune(ctx, prefix)
}

// reach walks to a location and checks the claims on what it really is. In
// mode walkFolder the claim itself is allowed, else only what lies below.
func (o *fileObjects) reach(ctx context.Context, op, location string, mode walkMode) (Location, *place, error) {
	l, below, err := o.store.locate(location)
	if err != nil {
		return Location{}, nil, err
	}
	at, err := o.store.walk(ctx, below, mode)
	if err != nil {
		return Location{}, nil, fileError(op, location, err)
	}
	if !o.allowed(o.store.key(at), mode) {
		at.close()
		return Location{}, nil, &Error{Op: op, Location: location, Kind: ErrOutside, Cause: errors.New("it is not claimed")}
	}
	return l, at, nil
}

func (o *fileObjects) allowed(key Key, mode walkMode) bool {
	claims := o.claims
	if o.all {
		claims = []Key{newKey(schemeFile, "", joinPath(o.store.root, joinPath(o.store.base...)))}
	}
	for _, claim := range claims {
		if claim.Contains(key) && (mode == walkFolder || claim != key) {
			return true
		}
	}
	return false
}

// Get implements Objects.
func (o *fileObjects) Get(ctx context.Context, location string, limit int64) ([]byte, error) {
	_, at, err := o.reach(ctx, "get", location, walkObject)
	if err != nil {
		return nil, err
	}
	defer at.close()
	data, err := read(ctx, at, limit)
	if err != nil {
		return nil, fileError("get", location, err)
	}
	return data, nil
}

// readChunk is how much is read or written between two looks at the context.
const readChunk = 4 << 20

func read(ctx context.Context, at *place, limit int64) ([]byte, error) {
	if len(at.rest) != 1 {
		return nil, ErrNotFound
	}
	f, err := at.dir().read(at.rest[0])
	if err != nil {
		return nil, absent(err)
	}
	defer func() { _ = f.Close() }() // opened for reading
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, ErrNotFound
	case !info.Mode().IsRegular():
		return nil, fail(ErrInvalid, "it is not a regular file")
	case info.Size() > limit:
		return nil, fail(ErrTooLarge, "%d bytes, at most %d", info.Size(), limit)
	}
	data := make([]byte, 0, info.Size()+1) // one more shows the end without growing
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)] // the file grew meanwhile
		}
		n, err := f.Read(data[len(data):min(cap(data), len(data)+readChunk)])
		data = data[:len(data)+n]
		if int64(len(data)) > limit {
			return nil, fail(ErrTooLarge, "at most %d bytes", limit)
		}
		if errors.Is(err, io.EOF) {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// Stat implements Objects.
func (o *fileObjects) Stat(ctx context.Context, location string) (Info, error) {
	l, at, err := o.reach(ctx, "stat", location, walkObject)
	if err != nil {
		return Info{}, err
	}
	defer at.close()
	if len(at.rest) != 1 {
		return Info{}, fileError("stat", location, ErrNotFound)
	}
	found, err := at.dir().lstat(at.rest[0])
	if err == nil && found.mode.IsDir() {
		err = ErrNotFound
	}
	if err != nil {
		return Info{}, fileError("stat", location, absent(err))
	}
	return Info{Location: l.String(), Size: found.size, ModTime: found.modTime}, nil
}

// Delete implements Objects.
func (o *fileObjects) Delete(ctx context.Context, location string) error {
	_, at, err := o.reach(ctx, "delete", location, walkName)
	if err != nil {
		return err
	}
	defer at.close()
	if len(at.rest) != 1 {
		return nil
	}
	err = at.dir().remove(at.rest[0])
	if err == nil || isAbsent(err) {
		return nil
	}
	if found, statErr := at.dir().lstat(at.rest[0]); statErr == nil && found.mode.IsDir() {
		return nil // a folder is no object
	}
	return fileError("delete", location, err)
}

// absent turns the ways of a file system to say "not there" into ErrNotFound.
func absent(err error) error {
	if isAbsent(err) {
		return ErrNotFound
	}
	return err
}

// fileError wraps what the file system said.
func fileError(op, location string, err error) error {
	if known := (*Error)(nil); errors.As(err, &known) {
		if known.Op == "" {
			known.Op, known.Location = op, location
		}
		return err
	}
	for _, kind := range []error{ErrNotFound, ErrExists} {
		if errors.Is(err, kind) {
			return &Error{Op: op, Location: location, Kind: kind}
		}
	}
	e := &Error{Op: op, Location: location, Cause: err}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		e.Kind = ErrNoSpace
	case errors.Is(err, syscall.ENAMETOOLONG):
		e.Kind = ErrInvalid
	}
	// The path in a PathError repeats the location and shows where the store
	// lies in the server's file system.
	if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) {
		e.Cause = fmt.Errorf("%s: %w", pathErr.Op, pathErr.Err)
	}
	if linkErr := (*os.LinkError)(nil); errors.As(err, &linkErr) {
		e.Cause = fmt.Errorf("%s: %w", linkErr.Op, linkErr.Err)
	}
	return e
}
