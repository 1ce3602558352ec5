package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Reset deletes the cluster of a data folder for good, after stopping what an
// earlier owner left running. It is an [InUseError] while a living process owns
// the folder; a folder without a cluster is no error.
func Reset(ctx context.Context, dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	s, err := claim(Options{Dir: dir, Binaries: Binaries{Dir: dir}}) // deleting takes no binaries
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
