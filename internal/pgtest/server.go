package pgtest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/icecore-catalog/icecore/internal/postgres"
)

// Server returns a server of the test's own with PostgreSQL's default settings,
// empty but for what initdb makes. The test may kill it; it is stopped and
// removed afterwards. Its files are in memory if there is room: what a killed
// process had written is there all the same.
func Server(t testing.TB) *postgres.Server {
	t.Helper()
	return serverIn(t, tempDir)
}

func serverIn(t testing.TB, place func(kind string) (string, error)) *postgres.Server {
	t.Helper()
	found := Binaries(t)
	dir, err := place("server")
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	if err := seed(found, dir); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	server, err := postgres.Start(ctx, postgres.Options{Binaries: found, Dir: dir, Settings: durableSettings, NoSync: true})
	if err != nil {
		_ = os.RemoveAll(dir)
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		if err := server.Discard(context.Background()); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	return server
}

// Binaries returns the PostgreSQL that the tests run on, for tests that start
// servers by themselves. A given server's binaries are not to be had: then it is
// the first found.
func Binaries(t testing.TB) postgres.Binaries {
	t.Helper()
	found, err := binaries()
	if err != nil {
		missing(t, err)
	}
	return found
}

// Dir returns a folder, in memory if there is room, that a server's unprivileged user can reach
// ([testing.TB.TempDir] makes one that it can't). After the test, what still
// runs in it or in a folder right below it is stopped, and it is removed.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := tempDir("dir")
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		abandonBelow(dir)
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	return dir
}

// abandonBelow stops the clusters in a folder and right below it. It reports
// whether none is in use: the lock tells, where a process id may belong to
// another container.
func abandonBelow(dir string) bool {
	free := true
	locks, _ := filepath.Glob(filepath.Join(dir, "*", "lock"))
	for _, lock := range append(locks, filepath.Join(dir, "lock")) {
		if _, err := os.Stat(lock); err != nil {
			continue
		}
		var inUse *postgres.InUseError
		if errors.As(postgres.Abandon(filepath.Dir(lock)), &inUse) {
			free = false
		}
	}
	return free
}
