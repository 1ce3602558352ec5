package main

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/internal/pgtest"
)

// TestServeBehindPgBouncer: a pooler keeps no session, so no prepared
// statement, notice, SET or session lock may be relied on.
func TestServeBehindPgBouncer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode     string
		prepared int
	}{{"transaction", 0}, {"session", 0}} {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t, pgtest.Durable())
			pooler := pgtest.PgBouncer(t, db, c.mode, c.prepared)
			root := t.TempDir()
			s := start(t, []string{
				"ICECORE_AUTH=disabled", "ICECORE_LISTEN=127.0.0.1:0", "ICECORE_DATABASE_URL=" + pooler.URL(pgtest.RoleApp), "ICECORE_FILE_ROOTS=" + root,
				"ICECORE_READ_POOL=6", "ICECORE_APPEND_POOL=6", // more than the pooler has: they share
			}, "serve")
			makeWarehouse(t, s, root)
			home := s.catalogPath(t, "w")
			const namespaces = 20
			for i := range namespaces {
				if status := s.call(t, http.MethodPost, home+"/namespaces", fmt.Sprintf(`{"namespace":["n%d"]}`, i), nil); status != http.StatusOK {
					t.Fatalf("namespace %d: %d\n%s", i, status, s.output())
				}
			}
			// The feed keeps up although no notice comes through.
			settings := []string{"ICECORE_DATABASE_URL=" + db.URL(pgtest.RoleApp)}
			for end := time.Now().Add(deadline); ; time.Sleep(20 * time.Millisecond) {
				r := icecore(t, settings, "log", "list", "--after", "0", "--limit", "1000", "--type", "namespace", "--json")
				if strings.Count(r.stdout, "\n") == namespaces {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("the log does not get there: %d %s%s\n%s", r.code, r.stdout, r.stderr, s.output())
				}
			}
			if code := s.stop(t, syscall.SIGTERM); code != 0 {
				t.Errorf("exit code %d\n%s", code, s.output())
			}
		})
	}
	t.Run("statement", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t, pgtest.Durable())
		pooler := pgtest.PgBouncer(t, db, "statement", 0)
		r := icecore(t, []string{"ICECORE_AUTH=disabled", "ICECORE_DATABASE_URL=" + pooler.URL(pgtest.RoleApp)}, "serve")
		if r.code != exitFailure || !strings.Contains(r.stderr, "set pool_mode to transaction or session") {
			t.Errorf("exit code %d: %s", r.code, r.stderr)
		}
	})
}

// makeWarehouse bootstraps the server and makes a warehouse called w.
func makeWarehouse(t *testing.T, s *running, root string) {
	t.Helper()
	if status := s.call(t, http.MethodPost, "/management/v1/bootstrap", `{"accept-terms-of-use":true}`, nil); status != http.StatusNoContent {
		t.Fatalf("bootstrap: %d\n%s", status, s.output())
	}
	body := fmt.Sprintf(`{"warehouse-name":"w","storage-profile":{"type":"file","root":"file://%s"}}`, root)
	if status := s.call(t, http.MethodPost, "/management/v1/warehouse", body, nil); status != http.StatusCreated {
		t.Fatalf("warehouse: %d\n%s", status, s.output())
	}
}
