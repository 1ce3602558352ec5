package storage

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// List implements Objects.
func (o *fileObjects) List(ctx context.Context, prefix, after string, limit int) ([]Info, error) {
	if limit < 1 {
		return nil, &Error{Op: "list", Location: prefix, Kind: ErrInvalid, Cause: errors.New("the limit is below 1")}
	}
	l, at, err := o.reach(ctx, "list", prefix, walkFolder)
	if err != nil {
		return nil, err
	}
	defer at.close()
	if len(at.rest) > 0 {
		return nil, nil
	}
	if after != "" {
		from, err := ParseLocation(after)
		if err != nil {
			return nil, err
		}
		after = from.String()
	}
	page := listing{after: after, limit: limit}
	if err := page.add(ctx, at.dir().folder, l.String()+"/"); err != nil {
		return nil, fileError("list", prefix, err)
	}
	return page.found, nil
}

// listing collects one page of a walk through folders in order of location.
type listing struct {
	after string
	limit int
	found []Info
}

// add appends what lies in dir, whose canonical location with a slash is
// prefix, until the page is full.
func (p *listing) add(ctx context.Context, dir folder, prefix string) error {
	names, err := entries(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(p.found) == p.limit {
			return nil
		}
		location := prefix + name
		if inner, ok := strings.CutSuffix(name, "/"); ok {
			if p.after >= location && !strings.HasPrefix(p.after, location) {
				continue // all in it comes before the page
			}
			sub, err := dir.open(inner)
			if err != nil {
				if isAbsent(err) || errors.Is(err, errLink) {
					continue // replaced since
				}
				return err
			}
			err = p.add(ctx, sub, location)
			sub.close()
			if err != nil {
				return err
			}
			continue
		}
		if location <= p.after {
			continue
		}
		found, err := dir.lstat(name)
		switch {
		case isAbsent(err):
			continue
		case err != nil:
			return err
		}
		p.found = append(p.found, Info{Location: location, Size: found.size, ModTime: found.modTime})
	}
	return nil
}

// entries returns the names in a folder, those of folders with a slash behind,
// so that their bytewise order is the order of the locations below.
func entries(dir folder) ([]string, error) {
	list, err := dir.entries()
	if err != nil && !isAbsent(err) { // absent: the folder was removed
		return nil, err
	}
	names := make([]string, len(list))
	for i, entry := range list {
		names[i] = entry.Name()
		if entry.IsDir() {
			names[i] += "/"
		}
	}
	slices.Sort(names)
	return names, nil
}

// Prune implements Objects.
func (o *fileObjects) Prune(ctx context.Context, prefix string) error {
	_, at, err := o.reach(ctx, "prune", prefix, walkFolder)
	if err != nil {
		return err
	}
	defer at.close()
	if len(at.rest) > 0 {
		return nil
	}
	if err := o.store.prune(ctx, at.dir()); err != nil {
		return fileError("prune", prefix, err)
	}
	n := len(at.chain)
	if n == len(o.store.base)+1 {
		return nil // the profile's root stays
	}
	if o.store.removeIfEmpty(at.chain[n-2], at.chain[n-1]) {
		if err := o.store.syncFolder(at, n-2); err != nil {
			return fileError("prune", prefix, err)
		}
	}
	return nil
}

// prune removes the empty folders in at and makes durable what is missing in it.
func (s *fileStore) prune(ctx context.Context, at step) error {
	names, err := entries(at.folder)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		inner, ok := strings.CutSuffix(name, "/")
		if !ok {
			continue
		}
		sub, err := at.open(inner)
		if err != nil {
			if isAbsent(err) || errors.Is(err, errLink) {
				continue // replaced since
			}
			return err
		}
		err = s.prune(ctx, step{sub, inner})
		s.removeIfEmpty(at, step{sub, inner})
		sub.close()
		if err != nil {
			return err
		}
	}
	return s.onSync(at.name+"/", at.sync)
}

// removeIfEmpty removes a folder; one that holds something stays.
func (s *fileStore) removeIfEmpty(parent, child step) bool {
	// Before, not after: as soon as the folder is gone its inode may come again.
	s.synced.forget(parent, child)
	return parent.rmdir(child.name) == nil
}
