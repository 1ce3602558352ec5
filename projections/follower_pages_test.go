package projections_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/pgtest"
	"github.com/icecore-catalog/icecore/projections"
)

// watchedLog is a log that something happens at while it is read.
type watchedLog struct {
	projections.FollowedLog
	meanwhile func()
	seen      []eventstore.Entry
	largest   int // bytes that were asked for at once
}

func (l *watchedLog) ReadWithout(ctx context.Context, position int64, limit, maxBytes int, without []string) ([]eventstore.Entry, int64, error) {
	l.meanwhile()
	entries, last, err := l.FollowedLog.ReadWithout(ctx, position, limit, maxBytes, without)
	l.seen, l.largest = append(l.seen, entries...), max(l.largest, maxBytes)
	return entries, last, err
}

// The follower reads no commit of a table, nothing without a bound, and while
// it reads no transaction is open and no lock is held.
func TestFollowerReadsWhatItNeedsAndHoldsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, project := w.bootstrap()
	ns := w.newNamespace(w.newWarehouse(project, "demo"), "n")
	table := w.newTable(ns, "orders")
	for range 5 {
		w.must(commitStep(table, nil, nil))
	}
	w.drain()
	log := &watchedLog{FollowedLog: w.store}
	log.meanwhile = func() {
		// Who holds the cursor's row makes this fail.
		if _, err := w.db.Owner.Exec(t.Context(), "SELECT FROM ops.cursor FOR UPDATE NOWAIT"); err != nil {
			t.Error(err)
		}
	}
	if err := projections.NewFollower(w.db.App, log).CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(log.seen) < 4 || log.largest > 16<<20 || slices.ContainsFunc(log.seen, func(e eventstore.Entry) bool { return e.Type == catalog.TypeTableCommitted }) {
		t.Errorf("%d events, %d bytes at once", len(log.seen), log.largest)
	}
	var position, size int64
	if err := w.db.App.QueryRow(t.Context(), "SELECT c.position, h.size FROM ops.cursor c, es.log_head h").Scan(&position, &size); err != nil || position != size {
		t.Errorf("at %d of %d, %v", position, size, err)
	}
	if report := w.compare(0); !report.OK() {
		t.Errorf("%v", report.Findings)
	}
}

// Another instance may come while a page is read: nothing is counted twice.
func TestFollowerThatWasOvertakenStartsAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, project := w.bootstrap()
	wh := w.newWarehouse(project, "demo")
	ns := w.newNamespace(wh, "n")
	w.newTable(ns, "a")
	w.newTable(ns, "b")
	w.drain()
	log := &watchedLog{FollowedLog: w.store}
	log.meanwhile = func() {
		log.meanwhile = func() {}
		if err := w.follower().CatchUp(t.Context()); err != nil {
			t.Error(err)
		}
		w.newTable(ns, "c")
		w.drain()
	}
	if err := projections.NewFollower(w.db.App, log).CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.hours(wh.id); got[0] != "3/0" {
		t.Errorf("%v", got)
	}
	if report := w.compare(0); !report.OK() {
		t.Errorf("%v", report.Findings)
	}
}

// However many hours a warehouse has, its last is one step away.
func TestLastHourIsFoundAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, project := w.bootstrap()
	wh := w.newWarehouse(project, "demo")
	if _, err := w.db.App.Exec(t.Context(), `INSERT INTO rm.warehouse_statistics (warehouse_id, until, tables, views, updated_at, position)
		SELECT ('00000000-0000-7000-8000-00000000000' || n % 4)::uuid, timestamptz '2020-01-01T00:00:00Z' + n * interval '1 hour', n, 0, '2020-01-01T00:00:00Z', n FROM generate_series(1, 20000) n`); err != nil {
		t.Fatal(err)
	}
	if _, err := w.db.Owner.Exec(t.Context(), "ANALYZE rm.warehouse_statistics"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("sql/follow_statistics.sql")
	if err != nil {
		t.Fatal(err)
	}
	one, err := ids.Parse("00000000-0000-7000-8000-000000000001")
	if err != nil {
		t.Fatal(err)
	}
	plan := ""
	rows, err := w.db.App.Query(t.Context(), "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) "+string(text), [][16]byte{one, wh.id})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		plan += line + "\n"
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`Index Scan Backward .*rows=[01]\b`).MatchString(plan) {
		t.Error(plan)
	}
}

// The statistics of many hours are compared in pages, of any size, and what is
// wrong with them is found; while the follower goes on, too.
func TestHoursAreComparedInPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, project := w.bootstrap()
	var namespaces []*object
	for _, name := range []string{"a", "b", "c"} {
		wh := w.newWarehouse(project, name)
		namespaces = append(namespaces, w.newNamespace(wh, "n"))
	}
	gone := w.newWarehouse(project, "gone")
	w.must(step{on: gone, close: true, event: &catalog.WarehouseDeleted{Name: "gone"}})
	for i := range 20 {
		table := w.newTable(namespaces[i%2], fmt.Sprint("t", i))
		if i%3 == 0 {
			w.must(dropStep(table))
		}
	}
	w.drain()
	super := w.db.Connect(t, pgtest.RoleSuper)
	do := func(sql string) {
		t.Helper()
		if tag, err := super.Exec(t.Context(), sql); err != nil || tag.RowsAffected() == 0 {
			t.Fatalf("%s: %v, %v", sql, tag, err)
		}
	}
	do("UPDATE es.log_entry SET logtime = logtime - ((SELECT size FROM es.log_head) - position) / 2 * interval '1 hour'")
	w.follow()
	if n := len(w.hours(namespaces[0].warehouse)); n < 5 {
		t.Fatalf("%d hours", n)
	}
	middle := " WHERE (warehouse_id, until) = (SELECT warehouse_id, until FROM rm.warehouse_statistics ORDER BY until OFFSET 4 LIMIT 1)"
	for _, sql := range []string{
		"", "UPDATE rm.warehouse_statistics SET tables = tables + 1" + middle, "DELETE FROM rm.warehouse_statistics" + middle, "UPDATE rm.warehouse_statistics SET position = position + 1000" + middle,
		"INSERT INTO rm.warehouse_statistics SELECT warehouse_id, until + interval '1 second', tables, views, updated_at, position FROM rm.warehouse_statistics" + middle,
	} {
		if sql != "" {
			do(sql)
		}
		for _, pageSize := range []int{1, 3, 1000} {
			report := w.compare(pageSize)
			if sql == "" && !report.OK() || sql != "" && (report.Count != 1 || report.Findings[0].Table != "rm.warehouse_statistics") {
				t.Errorf("pages of %d after %q: %v", pageSize, sql, report.Findings)
			}
		}
		if err := w.follower().Reset(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.follow()
	}
	var left int
	if err := w.db.App.QueryRow(t.Context(), "SELECT count(*) FROM pg_class WHERE relname LIKE 'warehouse\\_statistics\\_%' AND relkind = 'r'").Scan(&left); err != nil || left != 0 {
		t.Errorf("%d tables are left, %v", left, err)
	}
}

// A comparison in the midst of changes and of a follower finds nothing.
func TestHoursAreComparedWhileTheyChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, project := w.bootstrap()
	wh := w.newWarehouse(project, "demo")
	ns := w.newNamespace(wh, "n")
	w.follow()
	log := &goingOn{EventLog: w.store}
	round, limit := 0, 0
	log.meanwhile = func() {
		if round >= limit {
			return // or the replay would never come to an end
		}
		w.newTable(ns, fmt.Sprint("t", round))
		other := w.newWarehouse(project, fmt.Sprint("w", round))
		if round++; round%2 == 0 {
			w.must(step{on: other, close: true, event: &catalog.WarehouseDeleted{Name: fmt.Sprint("w", round-1)}})
		}
		if round == 5 {
			if err := w.follower().Reset(t.Context()); err != nil {
				t.Error(err)
			}
		}
		w.follow()
	}
	for range 3 {
		limit += 4
		report, err := projections.Compare(t.Context(), projections.CheckConfig{Pool: w.db.App, Log: log, PageSize: 4})
		if err != nil || !report.OK() {
			t.Errorf("%v, %v", report.Findings, err)
		}
	}
	if round < 6 {
		t.Errorf("only %d rounds", round)
	}
}

// goingOn is a log that grows while it is read.
type goingOn struct {
	projections.EventLog
	meanwhile func()
}

func (l *goingOn) ReadAfter(ctx context.Context, position int64, limit int) ([]eventstore.Entry, error) {
	l.meanwhile()
	return l.EventLog.ReadAfter(ctx, position, limit)
}
