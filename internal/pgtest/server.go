package pgtest

import (
	"context"
	"os"
	"testing"

	"github.com/icecore-catalog/icecore/internal/postgres"
)

// Server returns a server of the test's own, on a disk, with fsync on, empty
// but for what initdb makes. The test may kill it; it is stopped and removed
// afterwards.
func Server(t testing.TB) *postgres.Server {
	t.Helper()
	found, err := binaries()
	if err != nil {
		missing(t, err)
	}
	dir, err := diskDir("server")
	if err != nil {
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
