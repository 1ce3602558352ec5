package projections_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/pgtest"
	"github.com/icecore-catalog/icecore/projections"
)

// The examples of pg_trgm's documentation, and what it says of words.
func TestTrigramsAreThoseOfPostgreSQL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"cat": "  c| ca|at |cat", "foo|bar": "  b|  f| ba| fo|ar |bar|foo|oo ", "CAT": "  c| ca|at |cat",
		"a": "  a| a ", "": "", " .-_/": "", "word word": "  w| wo|ord|rd |wor", "Ä1": "  ä| ä1|ä1 ", "x\x00y": "  x|  y| x | y ",
	} {
		if got := strings.Join(projections.Trigrams(text), "|"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		list := projections.Trigrams(rapid.String().Draw(t, "text"))
		if !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != len(list) {
			t.Fatalf("not sorted or not unique: %q", list)
		}
		for _, g := range list {
			if n := len([]rune(g)); n != 3 {
				t.Fatalf("%q has %d characters", g, n)
			}
		}
	})
}

func (w *world) follower() *projections.Follower {
	return projections.NewFollower(w.db.App, w.store)
}

func (w *world) follow() {
	w.Helper()
	w.drain()
	if err := w.follower().CatchUp(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// found are the names that a search finds, nearest first.
func (w *world) found(warehouse ids.ID, text string) []string {
	w.Helper()
	rows, err := w.db.App.Query(w.Context(), `SELECT t.name FROM rm.search_tabulars($1, $2, $3, 10) WITH ORDINALITY AS s (id, distance, n)
		JOIN rm.tabular t ON t.tabular_id = s.id ORDER BY s.n`, [16]byte(warehouse), [16]byte(catalog.MainBranch), projections.Trigrams(text))
	if err != nil {
		w.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		w.Fatal(err)
	}
	return names
}

func TestSearchFollowsNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, project := w.bootstrap()
	wh, other := w.newWarehouse(project, "demo"), w.newWarehouse(project, "other")
	finance := w.newNamespace(w.newNamespace(wh, "Departments"), "finance")
	region := w.newTable(finance, "region_42")
	w.newTable(finance, "region_43")
	w.newTable(w.newNamespace(wh, "ops"), "hosts")
	w.newTable(w.newNamespace(other, "finance"), "elsewhere")
	w.follow()
	for text, want := range map[string]string{
		"region 42": "region_42,region_43", "finance region 43": "region_43,region_42", "departments.FINANCE": "region_42,region_43,hosts",
		"hosts": "hosts,region_42,region_43", // a word's end is in common: far away, but not nothing "elsewhere": "", "": "", "zzz": "", "regoin_42": "region_42,region_43",
	} {
		got := w.found(wh.id, text)
		if text == "departments.FINANCE" {
			slices.Sort(got[:2]) // equally near
		}
		if strings.Join(got, ",") != want {
			t.Errorf("%q finds %q, want %q", text, got, want)
		}
	}
	w.must(renameStep(region, finance, "ledger"))
	region.name = catalog.TableName{NamespaceID: finance.id, Namespace: finance.path, Name: "ledger"}
	if got := w.found(wh.id, "ledger"); len(got) != 0 {
		t.Errorf("found before the follower came: %q", got)
	}
	w.follow()
	if got := w.found(wh.id, "ledger"); !slices.Equal(got, []string{"ledger"}) {
		t.Errorf("after the rename: %q", got)
	}
	w.must(dropStep(region))
	w.follow()
	if got := w.found(wh.id, "ledger"); len(got) != 0 {
		t.Errorf("after the drop: %q", got)
	}
}

// hours reads the statistics of a warehouse as texts, newest first.
func (w *world) hours(warehouse ids.ID) []string {
	w.Helper()
	rows, err := w.db.App.Query(w.Context(), "SELECT tables || '/' || views FROM rm.warehouse_statistics WHERE warehouse_id = $1 ORDER BY until DESC", [16]byte(warehouse))
	if err != nil {
		w.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		w.Fatal(err)
	}
	return list
}

func TestStatisticsCountByTheHour(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, project := w.bootstrap()
	wh := w.newWarehouse(project, "demo")
	w.follow()
	if got := w.hours(wh.id); !slices.Equal(got, []string{"0/0"}) {
		t.Errorf("an empty warehouse: %v", got)
	}
	ns := w.newNamespace(wh, "n")
	tables := []*object{w.newTable(ns, "a"), w.newTable(ns, "b"), w.newTable(ns, "c")}
	w.must(commitStep(tables[0], nil, nil))
	w.must(renameStep(tables[1], ns, "d"))
	w.follow()
	// What was counted so far, moved into the past: the next change makes a row.
	super := w.db.Connect(t, pgtest.RoleSuper)
	if _, err := super.Exec(t.Context(), "UPDATE rm.warehouse_statistics SET until = until - interval '3 hours'"); err != nil {
		t.Fatal(err)
	}
	w.must(dropStep(tables[2]))
	w.follow()
	if got := w.hours(wh.id); !slices.Equal(got, []string{"2/0", "3/0"}) {
		t.Errorf("hours %v", got)
	}
	w.must(step{on: ns, event: &catalog.NamespaceProtectionUpdated{Namespace: ns.path, Protected: true}})
	w.follow()
	if got := w.hours(wh.id); !slices.Equal(got, []string{"2/0", "3/0"}) {
		t.Errorf("hours %v", got)
	}
	empty := w.newWarehouse(project, "empty")
	w.must(step{on: empty, close: true, event: &catalog.WarehouseDeleted{Name: "empty"}})
	w.follow()
	if got := w.hours(empty.id); len(got) != 0 {
		t.Errorf("a deleted warehouse: %v", got)
	}
}

// Two followers at once, in the midst of changes: at the end all is as one
// follower alone would have it, and as a comparison wants it.
func TestFollowersShareTheWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, project := w.bootstrap()
	random := rand.New(rand.NewPCG(1, 2))
	var namespaces, tables []*object
	for i := range 3 {
		wh := w.newWarehouse(project, fmt.Sprintf("w%d", i))
		namespaces = append(namespaces, w.newNamespace(wh, "alpha"), w.newNamespace(wh, "beta"))
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				if err := w.follower().CatchUp(t.Context()); err != nil {
					t.Error(err)
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for i := range 150 {
		switch n := random.IntN(10); {
		case n < 6 || len(tables) == 0:
			tables = append(tables, w.newTable(namespaces[random.IntN(len(namespaces))], fmt.Sprintf("table_%d", i)))
		case n < 8:
			o := tables[random.IntN(len(tables))]
			i := slices.IndexFunc(namespaces, func(ns *object) bool { return ns.id == o.name.NamespaceID })
			w.must(renameStep(o, namespaces[i], fmt.Sprintf("renamed_%d", random.IntN(1_000_000))))
		default:
			i := random.IntN(len(tables))
			w.must(dropStep(tables[i]))
			tables = slices.Delete(tables, i, i+1)
		}
		if i%10 == 0 {
			w.drain()
		}
	}
	close(stop)
	wg.Wait()
	w.follow()
	if report := w.compare(0); !report.OK() {
		t.Errorf("%v", report.Findings)
	}
	var indexed, living int
	err := w.db.App.QueryRow(t.Context(), "SELECT (SELECT count(*) FROM rm.tabular_search), (SELECT count(*) FROM rm.tabular)").Scan(&indexed, &living)
	if err != nil || indexed != living || living != len(tables) {
		t.Errorf("%d are indexed, %d live, %d were made, %v", indexed, living, len(tables), err)
	}
	if err := w.follower().Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.follow()
	if report := w.compare(0); !report.OK() {
		t.Errorf("made anew: %v", report.Findings)
	}
}

func TestCorruptionOfWhatFollowsIsFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.history()
	w.follow()
	super := w.db.Connect(t, pgtest.RoleSuper)
	do := func(sql string) {
		t.Helper()
		if tag, err := super.Exec(t.Context(), sql); err != nil || tag.RowsAffected() == 0 {
			t.Fatalf("%s: %v, %v", sql, tag, err)
		}
	}
	if report := w.compare(0); !report.OK() {
		t.Fatalf("before: %v", report.Findings)
	}
	const oneSearch, oneHour = " WHERE ctid = (SELECT max(ctid) FROM rm.tabular_search)", " WHERE ctid = (SELECT max(ctid) FROM rm.warehouse_statistics)"
	for _, sql := range []string{
		"UPDATE rm.tabular_search SET warehouse_id = gen_random_uuid()" + oneSearch, "UPDATE rm.tabular_search SET branch_id = gen_random_uuid()" + oneSearch,
		"UPDATE rm.tabular_search SET tabular_id = gen_random_uuid()" + oneSearch, "UPDATE rm.tabular_search SET trigrams = '{x}'" + oneSearch,
		"UPDATE rm.tabular_search SET stream_version = stream_version + 1" + oneSearch, "DELETE FROM rm.tabular_search" + oneSearch,
		"UPDATE rm.warehouse_statistics SET warehouse_id = gen_random_uuid()" + oneHour, "UPDATE rm.warehouse_statistics SET until = until + interval '1 hour'" + oneHour,
		"UPDATE rm.warehouse_statistics SET tables = tables + 1" + oneHour, "UPDATE rm.warehouse_statistics SET views = views + 1" + oneHour,
		"UPDATE rm.warehouse_statistics SET updated_at = updated_at + interval '1 microsecond'" + oneHour,
		"UPDATE rm.warehouse_statistics SET position = position + 1" + oneHour, "DELETE FROM rm.warehouse_statistics" + oneHour,
	} {
		do(sql)
		if report := w.compare(0); report.Count < 1 || report.Count > 2 {
			t.Errorf("%s: %v", sql, report.Findings)
		}
		if err := w.follower().Reset(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.follow()
		if report := w.compare(0); !report.OK() {
			t.Fatalf("mended after %s: %v", sql, report.Findings)
		}
	}
}
