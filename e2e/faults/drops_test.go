package faults_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// drops is how many tables a run drops: 1,000 in the suite of its own, some in the
// quick one.
func drops() int {
	if os.Getenv("ICECORE_FAULTS_KILLS") != "" {
		return 1000
	}
	return 48
}

// doomed is a table that is to be dropped: from a warehouse that drops for good, or
// from one where it can come back for a moment.
type doomed struct {
	name        string
	soft, purge bool
	folder      string // of its files
}

// TestADropIsItsEventAndItsJobAtEveryKill: clients drop while the server is killed
// and started again; a drop, its event and its job are one transaction, so that
// their numbers are equal, and when the queue is empty, no file is left of what was
// to be purged, and every file of all others.
func TestADropIsItsEventAndItsJobAtEveryKill(t *testing.T) {
	t.Parallel()
	r, random := newRig(t), seed(t)
	server := r.serve("")
	server.rest.setUp(t, filepath.Join(r.files, "hard"), 0)
	hard, soft := server.rest.prefix, softWarehouse(t, r, server.rest)
	var tables []*doomed
	for i := range drops() + 4 {
		d := &doomed{name: "t" + strconv.Itoa(i), soft: i%4 < 2, purge: i%2 == 0}
		prefix := hard
		if d.soft {
			prefix = soft
		}
		var made struct{ Metadata struct{ Location string } }
		if err := json.Unmarshal(server.rest.must(t, "POST", prefix+"/namespaces/ns/tables", createBody(i)), &made); err != nil {
			t.Fatal(err)
		}
		d.folder = strings.TrimPrefix(made.Metadata.Location, "file://")
		tables = append(tables, d)
	}
	kept := tables[drops():]
	tables = tables[:drops()]

	var clients sync.WaitGroup
	work := make(chan *doomed)
	for range 8 {
		clients.Go(func() {
			client := newREST(server.addr)
			for d := range work {
				prefix := hard
				if d.soft {
					prefix = soft
				}
				drop(t, client, fmt.Sprintf("%s/namespaces/ns/tables/%s?purgeRequested=%t", prefix, d.name, d.purge))
			}
		})
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for _, d := range tables {
			work <- d
		}
		close(work)
	}()
	for n := range kills(t) {
		<-time.After(time.Duration(random.IntN(400)) * time.Millisecond) // the random moment
		server.signal(syscall.SIGKILL)
		server.kill()
		server = r.serve(server.addr)
		t.Logf("kill %d", n)
	}
	<-sent
	clients.Wait()
	if t.Failed() {
		return
	}
	checkDrops(t, r, tables, kept)
	r.verify()
}

// softWarehouse makes a warehouse where what is dropped can come back for a second.
func softWarehouse(t *testing.T, r *rig, rest *rest) (prefix string) {
	t.Helper()
	var made struct {
		ID string `json:"warehouse-id"`
	}
	body := rest.must(t, "POST", "/management/v1/warehouse", map[string]any{
		"warehouse-name": "soft", "storage-profile": map[string]any{"type": "file", "root": "file://" + filepath.Join(r.files, "soft")},
		"delete-profile": map[string]any{"type": "soft", "expiration-seconds": 1},
	})
	if err := json.Unmarshal(body, &made); err != nil {
		t.Fatal(err)
	}
	prefix = "/catalog/v1/" + made.ID
	rest.must(t, "POST", prefix+"/namespaces", map[string]any{"namespace": []string{"ns"}})
	return prefix
}

// drop drops a table, again and again while the server is away: then it is dropped,
// or was.
func drop(t *testing.T, client *rest, path string) {
	for deadline := time.Now().Add(2 * time.Minute); ; {
		s, err := client.do(t.Context(), "DELETE", path, nil)
		switch {
		case err == nil && (s.status == 204 || s.status == 404):
			return
		case err == nil && s.status != 503:
			t.Errorf("%s: %d %s", path, s.status, s.body)
			return
		case time.Now().After(deadline):
			t.Errorf("%s: %v", path, err)
			return
		}
		<-time.After(10 * time.Millisecond)
	}
}

// checkDrops waits until no job is left to do, and counts.
func checkDrops(t *testing.T, r *rig, tables, kept []*doomed) {
	t.Helper()
	roles := r.database.Roles()
	db, err := pgx.Connect(t.Context(), r.database.URL(roles.App, roles.Database))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.WithoutCancel(t.Context()))
	count := func(sql string, args ...any) (n int) {
		t.Helper()
		if err := db.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	const open = "SELECT (SELECT count(*) FROM river.river_job WHERE kind IN ('purge', 'expire') AND finalized_at IS NULL) + (SELECT count(*) FROM rm.dropped)"
	for deadline := time.Now().Add(5 * time.Minute); count(open) > 0; <-time.After(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d jobs and dropped tables are left", count(open))
		}
	}
	soft, purged := 0, 0
	for _, d := range tables {
		if d.soft {
			soft++
		}
		if d.purge {
			purged++
		}
	}
	for what, n := range map[string][2]int{
		"drops":            {count("SELECT count(*) FROM es.event WHERE append_seq > 0 AND type = 'dev.icecore.table.dropped'"), len(tables)},
		"expiries":         {count("SELECT count(*) FROM es.event WHERE append_seq > 0 AND type = 'dev.icecore.table.expired'"), soft},
		"purges":           {count("SELECT count(*) FROM es.event WHERE append_seq > 0 AND type = 'dev.icecore.table.purged'"), purged},
		"jobs of expiries": {count("SELECT count(DISTINCT args) FROM river.river_job WHERE kind = 'expire' AND state = 'completed'"), soft},
		"jobs of purges":   {count("SELECT count(DISTINCT args) FROM river.river_job WHERE kind = 'purge' AND state = 'completed'"), purged},
		"jobs":             {count("SELECT count(*) FROM river.river_job WHERE kind IN ('purge', 'expire')"), soft + purged},
	} {
		if n[0] != n[1] {
			t.Errorf("%d %s instead of %d", n[0], what, n[1])
		}
	}
	for _, d := range append(tables, kept...) {
		gone := d.purge && !slices.Contains(kept, d)
		if n := filesBelow(t, d.folder); gone && n > 0 || !gone && n == 0 {
			t.Errorf("%s (soft %t, purge %t): %d files", d.name, d.soft, d.purge, n)
		}
	}
}

func filesBelow(t *testing.T, folder string) (n int) {
	t.Helper()
	err := filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return n
}
