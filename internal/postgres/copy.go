package postgres

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// copyTree copies folders and files into dest, as the account's. A folder for
// which empty holds is made without its content; files for which skip holds are
// left out, as are files that go away meanwhile. Names are relative to source.
func copyTree(source, dest string, acc *account, empty, skip func(name string) bool) error {
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
		if entry.IsDir() {
			if err := os.Mkdir(target, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			if err := acc.own(target); err != nil || !empty(name) {
				return err
			}
			return fs.SkipDir
		}
		if skip(name) {
			return nil
		}
		if !entry.Type().IsRegular() {
			// Only tablespaces and a moved pg_wal are links, and a private cluster
			// has neither.
			return fmt.Errorf("%s is no regular file", path)
		}
		if err := copyFile(path, target); errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		return acc.own(target)
	})
}

// Clone copies the data folder of a stopped cluster, with its passwords, to a
// place where there is none: a snapshot to come back to. The copy gets a port of
// its own, and its files are not synchronised to the disk.
func Clone(source, dest string) error {
	lock, err := lockFile(filepath.Join(source, "lock"), true)
	if errors.Is(err, errLocked) {
		return &InUseError{Dir: source, PID: lockHolder(source)}
	}
	if err != nil {
		return fmt.Errorf("claim %s: %w", source, err)
	}
	defer func() { _ = lock.Close() }()
	pgdata := filepath.Join(source, "pgdata")
	if p, err := readPostmaster(pgdata); err != nil || p.running(pgdata) {
		return errors.Join(err, &InUseError{Dir: source, PID: p.pid})
	}
	to, err := claim(Options{Dir: dest})
	if err != nil {
		return err
	}
	defer to.release()
	if major, err := DataMajor(dest); err != nil || major != 0 {
		return errors.Join(err, fmt.Errorf("%s holds a cluster already", dest))
	}
	password, err := loadPasswords(source)
	if err != nil {
		return err
	}
	if _, err := password.save(dest); err != nil {
		return err
	}
	fresh := to.pgdata() + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return fmt.Errorf("clear %s: %w", fresh, err)
	}
	none := func(string) bool { return false }
	if err := copyTree(pgdata, fresh, to.account, none, none); err != nil {
		return fmt.Errorf("copy the cluster: %w", err)
	}
	if err := os.Rename(fresh, to.pgdata()); err != nil {
		return fmt.Errorf("move the copy to its place: %w", err)
	}
	return nil
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
