package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
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
			commits := driveTables(t, s, home+"/namespaces/n0/tables")
			// The feed keeps up although no notice comes through.
			settings := []string{"ICECORE_DATABASE_URL=" + db.URL(pgtest.RoleApp)}
			for end := time.Now().Add(deadline); ; time.Sleep(20 * time.Millisecond) {
				r := icecore(t, settings, "log", "list", "--after", "0", "--limit", "1000", "--json")
				if strings.Count(r.stdout, `"dev.icecore.namespace.created"`) == namespaces && strings.Count(r.stdout, `"dev.icecore.table.committed"`) == commits {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("the log does not get there: %d %s%s\n%s", r.code, r.stdout, r.stderr, s.output())
				}
			}
			if r := icecore(t, append(settings, "ICECORE_FILE_ROOTS="+root), "verify", "--replay"); r.code != 0 {
				t.Errorf("verify: %d %s%s", r.code, r.stdout, r.stderr)
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

// driveTables makes four tables and has 16 writers commit to them at once, each
// a property of its own, with loads between. It returns the number of commits,
// all acknowledged, after each table has been found to hold what is due to it.
func driveTables(t *testing.T, s *running, tables string) int {
	t.Helper()
	const writers, each, shared = 16, 5, 4
	name := func(i int) string { return fmt.Sprintf("t%d", i%shared) }
	for i := range shared {
		body := fmt.Sprintf(`{"name":%q,"schema":{"type":"struct","fields":[{"id":1,"name":"id","required":false,"type":"long"}]}}`, name(i))
		if status := s.call(t, http.MethodPost, tables, body, nil); status != http.StatusOK {
			t.Fatalf("create %s: %d\n%s", name(i), status, s.output())
		}
	}
	type loaded struct {
		Metadata struct {
			UUID       string            `json:"table-uuid"`
			Properties map[string]string `json:"properties"`
		} `json:"metadata"`
	}
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			path := tables + "/" + name(w)
			for c := range each {
				var was, is loaded
				if status := s.call(t, http.MethodGet, path, "", &was); status != http.StatusOK {
					t.Errorf("load: %d", status)
				}
				mine := fmt.Sprintf("w%d-%d", w, c)
				body := fmt.Sprintf(`{"requirements":[{"type":"assert-table-uuid","uuid":%q}],"updates":[{"action":"set-properties","updates":{%q:"x"}}]}`, was.Metadata.UUID, mine)
				// The server takes up a lost race four times; then it is ours.
				status := http.StatusConflict
				for tries := 0; status == http.StatusConflict && tries < 50; tries++ {
					status = s.call(t, http.MethodPost, path, body, nil)
				}
				if status != http.StatusOK {
					t.Errorf("commit: %d", status)
				}
				if status := s.call(t, http.MethodGet, path, "", &is); status != http.StatusOK || is.Metadata.Properties[mine] != "x" {
					t.Errorf("load after the commit %s: %d %v", mine, status, is.Metadata.Properties)
				}
			}
		})
	}
	group.Wait()
	for i := range shared {
		var is loaded
		if status := s.call(t, http.MethodGet, tables+"/"+name(i), "", &is); status != http.StatusOK || len(is.Metadata.Properties) < writers*each/shared {
			t.Errorf("%s: %d %v", name(i), status, is.Metadata.Properties)
		}
	}
	if t.Failed() {
		t.Fatal(s.output())
	}
	return writers * each
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
