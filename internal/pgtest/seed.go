package pgtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/icecore-catalog/icecore/internal/postgres"
)

// Seed puts a copy of a fresh cluster into a data folder that has none: initdb
// takes half a second of computing, a copy a tenth. All copies have the same
// passwords.
func Seed(t testing.TB, dir string) {
	t.Helper()
	if err := seed(Binaries(t), dir); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
}

// seed copies the fresh cluster of this version from the cache, and makes it
// first if need be. Where nothing can be kept, Start will call initdb itself.
func seed(found postgres.Binaries, dir string) error {
	if major, err := postgres.DataMajor(dir); err != nil || major != 0 {
		return err
	}
	cache, err := postgres.DefaultCache()
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	sum := sha256.Sum256([]byte(found.Dir + "\n" + found.Version))
	source := filepath.Join(cache, "pgtest-"+hex.EncodeToString(sum[:6]))
	if major, _ := postgres.DataMajor(source); major == 0 {
		if os.MkdirAll(cache, 0o755) != nil {
			return nil //nolint:nilerr // see above
		}
		if err := makeSeed(found, source); err != nil {
			return err
		}
	}
	return postgres.Clone(source, dir)
}

// makeSeed makes the fresh cluster under another name first, so that parallel
// test processes see a whole one or none.
func makeSeed(found postgres.Binaries, source string) error {
	work, err := os.MkdirTemp(filepath.Dir(source), ".pgtest-*")
	if err != nil {
		return fmt.Errorf("make a folder for PostgreSQL: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	if err := os.Chmod(work, 0o755); err != nil {
		return fmt.Errorf("make a folder for PostgreSQL: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	fresh := filepath.Join(work, "fresh")
	server, err := postgres.Start(ctx, postgres.Options{Binaries: found, Dir: fresh, NoSync: true, Settings: fastSettings})
	if err != nil {
		return err
	}
	if err := server.Stop(ctx); err != nil {
		return err
	}
	if err := os.Rename(fresh, source); err != nil {
		if major, _ := postgres.DataMajor(source); major != 0 {
			return nil // another process was quicker
		}
		return fmt.Errorf("keep the fresh cluster: %w", err)
	}
	return nil
}
