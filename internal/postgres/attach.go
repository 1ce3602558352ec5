package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Attach returns the running cluster of a data folder that another process
// owns, for its addresses and connections alone: stopping what it returns does
// nothing. The owner may still be starting it, so Attach waits until it
// answers or ctx ends.
func Attach(ctx context.Context, dir string) (*Server, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find the data folder: %w", err)
	}
	s := &Server{dir: dir, account: serverUser()}
	err = poll(ctx, func() bool {
		p, err := readPostmaster(s.pgdata())
		return err == nil && p.running(s.pgdata()) && p.status == "ready"
	})
	if err != nil {
		return nil, fmt.Errorf("the PostgreSQL of %s does not answer: %w", dir, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "credentials")); err != nil {
		return nil, fmt.Errorf("read the credentials: %w", err)
	}
	if s.password, err = loadPasswords(dir); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(dir, "port"))
	if err != nil {
		return nil, fmt.Errorf("read the port: %w", err)
	}
	if s.port, err = strconv.Atoi(strings.TrimSpace(string(data))); err != nil {
		return nil, fmt.Errorf("read the port: %w", err)
	}
	return s, s.ping(ctx)
}

// Reset deletes the cluster of a data folder for good, after stopping what an
// earlier owner left running. It is an [InUseError] while a living process owns
// the folder; a folder without a cluster is no error.
func Reset(ctx context.Context, dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	s, err := claim(Options{Dir: dir, Binaries: Binaries{Dir: dir}}) // no binaries are needed to delete
	if err != nil {
		return err
	}
	defer s.release()
	if err := takeOver(ctx, s.pgdata()); err != nil {
		return err
	}
	for _, name := range []string{"pgdata", "pgdata.new", "run", "port", "credentials", "postgres.log"} {
		if err := os.RemoveAll(filepath.Join(s.dir, name)); err != nil {
			return fmt.Errorf("delete the cluster: %w", err)
		}
	}
	return nil
}
