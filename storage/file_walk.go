package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"time"
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
// path has no link in it: operations go through the last folder with a single
// name, so nothing that is planted later can lead them elsewhere.
type place struct {
	chain   []step   // chain[0] is the allowed root
	rest    []string // not entered: missing, or the object's own name
	created int      // how many folders at the end of chain we made
}

// step is a folder on the way and its name in the one before.
type step struct {
	folder
	name string // empty for the allowed root
}

// entry is what a folder says of a name in it.
type entry struct {
	mode    fs.FileMode // type bits only
	size    int64
	modTime time.Time // UTC
}

// errLink: the name is a link where only a folder will do.
var errLink = errors.New("it is a link")

func (p *place) close() { p.cut(0) }

// cut closes the folders behind the first n.
func (p *place) cut(n int) {
	for _, s := range p.chain[n:] {
		s.close()
	}
	p.chain = p.chain[:n]
}

func (p *place) dir() step { return p.chain[len(p.chain)-1] }

// path returns the segments below the allowed root, without links.
func (p *place) path() []string {
	segments := make([]string, 0, len(p.chain)-1+len(p.rest))
	for _, s := range p.chain[1:] {
		segments = append(segments, s.name)
	}
	return append(segments, p.rest...)
}

// enter opens a folder in the last one.
func (p *place) enter(name string) error {
	sub, err := p.dir().open(name)
	if err != nil {
		return err
	}
	p.chain = append(p.chain, step{sub, name})
	return nil
}

// walk resolves the segments below the store's root. The part of the path that
// is the store's root itself had its links resolved when the store was opened;
// one that is there now was planted since.
func (s *fileStore) walk(ctx context.Context, below []string, mode walkMode) (*place, error) {
	root, err := openRootFolder("/" + s.root)
	if err != nil {
		return nil, fmt.Errorf("storage root: %w", err)
	}
	p := &place{chain: make([]step, 1, len(s.base)+len(below)+1), rest: slices.Concat(s.base, below)}
	p.chain[0].folder = root
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
			found, err := p.dir().lstat(name)
			switch {
			case isAbsent(err), err == nil && found.mode&fs.ModeSymlink == 0:
				return nil
			case err != nil:
				return err
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
	target, err := p.dir().readlink(p.rest[0])
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
