package postgres

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// copyTree copies folders, files and links into dest, as the account's. A
// folder for which inside is false is copied empty. Files that go away
// meanwhile are left out, as they may in a base backup.
func copyTree(source, dest string, acc *account, inside func(dir string) bool, skip func(file string) bool) error {
	return filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path != source {
			return nil
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		target := filepath.Join(dest, name)
		switch {
		case entry.IsDir():
			if err := os.Mkdir(target, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		case skip(name) || !inside(filepath.Dir(name)):
			return nil
		case entry.Type()&fs.ModeSymlink != 0:
			// Only tablespaces and a moved pg_wal are links, and a private cluster
			// has neither.
			return fmt.Errorf("%s is a link", path)
		default:
			err := copyFile(path, target)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
		}
		if acc == nil {
			return nil
		}
		return os.Chown(target, acc.uid, acc.gid)
	})
}

func copyFile(source, target string) error {
	in, err := os.Open(source)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}
