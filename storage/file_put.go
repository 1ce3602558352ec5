package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"syscall"
)

// tempPrefix begins the names of objects that are still being written. A
// process that dies leaves them; they are listed, so that the cleaner finds
// them like any other orphan.
const tempPrefix = ".icecore-"

// errVanished: a folder that was open is no longer part of the tree.
var errVanished = errors.New("the folder was removed meanwhile")

// Put implements Objects.
func (o *fileObjects) Put(ctx context.Context, location string, data []byte) error {
	return o.put(ctx, location, data, false)
}

// PutIfAbsent implements Objects. It needs a file system with hard links.
func (o *fileObjects) PutIfAbsent(ctx context.Context, location string, data []byte) error {
	return o.put(ctx, location, data, true)
}

func (o *fileObjects) put(ctx context.Context, location string, data []byte, ifAbsent bool) error {
	const attempts = 16
	for i := 1; ; i++ {
		_, at, err := o.reach(ctx, "put", location, walkName)
		if err != nil {
			return err
		}
		err = o.store.write(ctx, at, data, ifAbsent)
		at.close()
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errVanished) && i < attempts:
			continue // Prune took a folder away that looked empty: make it again
		default:
			return fileError("put", location, err)
		}
	}
}

// write makes the missing folders, writes the object, and returns when all is
// durable. An object that is there is replaced in one step, by one that was
// written under a temporary name beside it. A new one is written in its place:
// nobody knows its name before Put has returned, and a second name costs a
// fifth to a half of the whole.
func (s *fileStore) write(ctx context.Context, at *place, data []byte, ifAbsent bool) (err error) {
	moved := false
	defer func() {
		if err != nil && !moved {
			at.removeCreated()
		}
	}()
	if err := at.makeFolders(); err != nil {
		return err
	}
	if len(at.rest) != 1 {
		return fail(ErrInvalid, "it is a folder")
	}
	dir, name := at.dir(), at.rest[0]
	if ifAbsent {
		if _, err := dir.lstat(name); err == nil {
			return ErrExists
		}
	}
	if !ifAbsent {
		err := s.writeSynced(ctx, dir, name, data)
		if err == nil {
			moved = true
			return s.syncNames(at)
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	temp := tempPrefix + rand.Text() + ".tmp"
	if err := s.writeSynced(ctx, dir, temp, data); err != nil {
		return err
	}
	if ifAbsent {
		err = dir.link(temp, name)
		if errors.Is(err, fs.ErrExist) {
			err = ErrExists
		}
	} else {
		err = dir.rename(temp, name)
	}
	if err != nil {
		_ = dir.remove(temp)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return errVanished
		case errors.Is(err, fs.ErrExist), errors.Is(err, syscall.EISDIR):
			return fail(ErrInvalid, "it is a folder")
		}
		return err
	}
	moved = true
	if ifAbsent {
		if err := dir.remove(temp); err != nil && !isAbsent(err) {
			return err
		}
	}
	return s.syncNames(at)
}

// makeFolders creates and enters all that is missing but the last name.
// Permissions are left to the umask: engines that run as other users write
// into the same folders.
func (p *place) makeFolders() error {
	for len(p.rest) > 1 {
		name := p.rest[0]
		err := p.dir().mkdir(name)
		switch {
		case err == nil:
		case errors.Is(err, fs.ErrExist): // somebody else made it meanwhile
		case errors.Is(err, fs.ErrNotExist):
			return errVanished
		default:
			return err
		}
		made := err == nil
		err = p.enter(name)
		switch {
		case errors.Is(err, errLink):
			// What lies behind a link that appeared after the walk was not checked.
			return fail(ErrOutside, "a link was put in the way")
		case errors.Is(err, fs.ErrNotExist):
			return errVanished
		case errors.Is(err, syscall.ENOTDIR):
			return fail(ErrInvalid, "an object is in the way")
		case err != nil:
			return err
		}
		p.rest = p.rest[1:]
		if made {
			p.created++
		} else {
			p.created = 0 // its parent is somebody else's business now, too
		}
	}
	return nil
}

// removeCreated takes back folders that were made for an object which could
// not be written, unless somebody uses them already.
func (p *place) removeCreated() {
	for ; p.created > 0; p.created-- {
		last := p.chain[len(p.chain)-1]
		p.cut(len(p.chain) - 1)
		if p.dir().rmdir(last.name) != nil {
			return
		}
	}
}

// writeSynced writes a new file and returns when its content is durable; it
// leaves nothing behind if that fails.
func (s *fileStore) writeSynced(ctx context.Context, dir step, name string, data []byte) (err error) {
	f, err := dir.create(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return errVanished
		}
		return err
	}
	defer func() {
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			_ = dir.remove(name) // the first error is the one to tell
		}
	}()
	for len(data) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		chunk := data[:min(len(data), readChunk)]
		if _, err := f.Write(chunk); err != nil {
			return err
		}
		data = data[len(chunk):]
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.onSync(name, f.Sync)
}

// syncNames makes the object's name durable, and the names of the folders on
// the way to it, unless this process has already done so: a folder that is
// there was perhaps made by an engine, or by a Put that has not returned yet.
func (s *fileStore) syncNames(at *place) error {
	if err := s.syncFolder(at, len(at.chain)-1); err != nil {
		return err
	}
	for i := len(at.chain) - 1; i > 0; i-- {
		if s.synced.has(at.chain[i-1], at.chain[i]) {
			continue
		}
		if err := s.syncFolder(at, i-1); err != nil {
			return err
		}
		s.synced.add(at.chain[i-1], at.chain[i])
	}
	return nil
}

// syncFolder makes the entries of the i-th folder on the way durable.
func (s *fileStore) syncFolder(at *place, i int) error {
	names := make([]string, i)
	for j := range names {
		names[j] = at.chain[j+1].name
	}
	return s.onSync(joinPath(names...)+"/", at.chain[i].sync)
}
