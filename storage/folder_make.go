package storage

import (
	"context"
	"errors"
	"strings"
)

// MakeFolder makes the folder at a location, and those above it, in stores that
// have folders; in others it does nothing. It is for clients that write a file
// before anybody made its folder (DuckDB's CREATE TABLE … AS). One that is there
// already is no error. Nothing is made durable: an empty folder that a crash
// takes away again is no loss. It fails as a Put below the folder would.
func MakeFolder(ctx context.Context, o Objects, location string) error {
	maker, ok := o.(interface {
		makeFolder(ctx context.Context, location string) error
	})
	if !ok {
		return nil
	}
	return maker.makeFolder(ctx, location)
}

func (o *fileObjects) makeFolder(ctx context.Context, location string) error {
	const op = "make folder"
	const attempts = 16
	// The way to an object in the folder, which is not made.
	inside := strings.TrimRight(location, "/") + "/" + tempPrefix
	for i := 1; ; i++ {
		_, at, err := o.reach(ctx, op, inside, walkName)
		if err != nil {
			return err
		}
		if err = at.makeFolders(); err != nil {
			at.removeCreated()
		}
		at.close()
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errVanished) && i < attempts:
			continue // as in put
		default:
			return fileError(op, location, err)
		}
	}
}
