package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
)

// maxLinks bounds the links that one location may pass, as the kernel does.
const maxLinks = 40

// walkMode says what the last segment of a walk names.
type walkMode int

const (
	walkName   walkMode = iota // a directory entry: links on the way are followed, the entry itself is not
	walkObject                 // an object: a link is followed to what it names, a folder is not entered
	walkFolder                 // a folder, which is entered
)

// place is where a location lies after all links were resolved: a chain of
// open folders, each a real entry of the one before it at the time it was
// opened, and the names below that were not entered. It is the proof that a
// path has no link in it: operations go through the last handle with a single
// name, so nothing that is planted later can lead them elsewhere.
type place struct {
	chain   []folder // chain[0] is the allowed root
	rest    []string // not entered: missing, or the object's own name
	created int      // how many folders at the end of chain we made
}

// folder is an open folder and what it was when it was opened.
type folder struct {
	name string // in its parent; empty for the allowed root
	root *os.Root
	info os.FileInfo
}

func (p *place) close() {
	for _, f := range p.chain {
		_ = f.root.Close() // a handle for reading names: nothing can be lost
	}
	p.chain = nil
}

func (p *place) dir() *os.Root { return p.chain[len(p.chain)-1].root }

// path returns the segments below the allowed root, without links.
func (p *place) path() []string {
	segments := make([]string, 0, len(p.chain)-1+len(p.rest))
	for _, f := range p.chain[1:] {
		segments = append(segments, f.name)
	}
	return append(segments, p.rest...)
}

// cut closes the handles behind the first n.
func (p *place) cut(n int) {
	for _, f := range p.chain[n:] {
		_ = f.root.Close()
	}
	p.chain = p.chain[:n]
}

// enter opens a folder below the last one. It fails with errLink if the name
// is a link, and with syscall.ENOTDIR if it is anything but a folder.
func (p *place) enter(name string) error {
	root, info, err := openFolder(p.dir(), name)
	if err != nil {
		return err
	}
	p.chain = append(p.chain, folder{name, root, info})
	return nil
}

var errLink = errors.New("it is a link")

// openFolder opens an entry that must be a folder and no link. os.Root alone
// would follow a link within itself; that the opened folder is the entry that
// was looked at is told by its inode.
func openFolder(parent *os.Root, name string) (*os.Root, os.FileInfo, error) {
	const attempts = 16
	for range attempts {
		entry, err := parent.Lstat(name)
		switch {
		case err != nil:
			return nil, nil, err
		case entry.Mode()&fs.ModeSymlink != 0:
			return nil, nil, errLink
		case !entry.IsDir():
			return nil, nil, syscall.ENOTDIR
		}
		root, err := parent.OpenRoot(name)
		if err != nil {
			if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrNotExist) {
				continue // replaced since: look again
			}
			return nil, nil, err
		}
		opened, err := root.Stat(".")
		if err == nil && os.SameFile(entry, opened) {
			return root, opened, nil
		}
		_ = root.Close()
		if err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, fail(ErrOutside, "a folder on the way changes all the time")
}

// walk resolves the segments below the store's root. The part of the path that
// is the store's root itself had its links resolved when the store was opened;
// one that is there now was planted since.
func (s *fileStore) walk(ctx context.Context, below []string, mode walkMode) (*place, error) {
	root, err := os.OpenRoot("/" + s.root)
	if err != nil {
		return nil, fmt.Errorf("storage root: %w", err)
	}
	info, err := root.Stat(".")
	if err != nil {
		_ = root.Close()
		return nil, fmt.Errorf("storage root: %w", err)
	}
	p := &place{chain: []folder{{root: root, info: info}}, rest: slices.Concat(s.base, below)}
	if err := s.resolve(ctx, p, mode); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (s *fileStore) resolve(ctx context.Context, p *place, mode walkMode) error {
	links := 0
	for len(p.rest) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		name, last, inBase := p.rest[0], len(p.rest) == 1, len(p.chain) <= len(s.base)
		switch name { // from a link: ParseLocation refuses them in locations
		case "", ".":
			p.rest = p.rest[1:]
			continue
		case "..":
			if len(p.chain) <= len(s.base)+1 {
				return fail(ErrOutside, "a link leads out of the root")
			}
			p.cut(len(p.chain) - 1)
			p.rest = p.rest[1:]
			continue
		}
		if last && mode == walkName {
			return nil
		}
		if last && mode == walkObject {
			entry, err := p.dir().Lstat(name)
			if err != nil && !isAbsent(err) {
				return err
			}
			if err != nil || entry.Mode()&fs.ModeSymlink == 0 {
				return nil
			}
		}
		err := p.enter(name)
		switch {
		case err == nil:
			p.rest = p.rest[1:]
		case errors.Is(err, errLink) && inBase:
			return fail(ErrOutside, "a folder of the root was replaced by a link")
		case errors.Is(err, errLink):
			if links++; links > maxLinks {
				return fail(ErrOutside, "too many links")
			}
			if err := s.follow(p); err != nil {
				return err
			}
		case isAbsent(err):
			if slices.Contains(p.rest, "..") {
				return fail(ErrOutside, "a link steps up from a folder that does not exist")
			}
			p.rest = slices.DeleteFunc(p.rest, func(s string) bool { return s == "." || s == "" })
			return nil
		default:
			return err
		}
	}
	return nil
}

// follow replaces the link p.rest[0] by what it names.
func (s *fileStore) follow(p *place) error {
	target, err := p.dir().Readlink(p.rest[0])
	switch {
	case isAbsent(err) || errors.Is(err, syscall.EINVAL):
		return nil // replaced since: look again
	case err != nil:
		return err
	}
	if !strings.HasPrefix(target, "/") {
		p.rest = slices.Concat(strings.Split(target, "/"), p.rest[1:])
		return nil
	}
	segments := slices.DeleteFunc(strings.Split(target, "/"), func(s string) bool { return s == "" || s == "." })
	for _, spelling := range s.spellings {
		prefix := splitPath(spelling)
		if len(segments) >= len(prefix) && slices.Equal(segments[:len(prefix)], prefix) {
			p.rest = slices.Concat(s.base, segments[len(prefix):], p.rest[1:])
			p.cut(1)
			return nil
		}
	}
	return fail(ErrOutside, "a link leads out of the root")
}

// isAbsent reports that a name is not there, or cannot be: below a file, or
// longer than the file system can hold.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG)
}

func splitPath(path string) []string {
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

func joinPath(segments ...string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(segments), func(s string) bool { return s == "" }), "/")
}
