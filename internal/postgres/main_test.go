package postgres_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/icecore-catalog/icecore/internal/pgtest"
	"github.com/icecore-catalog/icecore/internal/postgres"
)

// helperDir tells a copy of this test binary to run a cluster until it is
// killed.
const helperDir = "ICECORE_TEST_HELPER_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperDir); dir != "" {
		helper(dir)
	}
	pgtest.Main(m)
}

func helper(dir string) {
	found, err := postgres.Find(context.Background(), postgres.FindOptions{Dir: os.Getenv("ICECORE_TEST_HELPER_BIN")})
	if err == nil {
		var server *postgres.Server
		if server, err = postgres.Start(context.Background(), postgres.Options{Binaries: found, Dir: dir, NoSync: true}); err == nil {
			fmt.Println("ready", server.PID())
			select {}
		}
	}
	fmt.Println(err)
	os.Exit(1)
}
