package projections_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/icecore-catalog/icecore/internal/pgtest"
	"github.com/icecore-catalog/icecore/projections"
)

// TestEveryStatementIsPrepared has PostgreSQL read every statement, as the
// application role.
func TestEveryStatementIsPrepared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	conn := w.db.Connect(t, pgtest.RoleApp)
	files, err := filepath.Glob("sql/*.sql")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d statements, %v", len(files), err)
	}
	more, err := filepath.Glob("document/sql/*.sql")
	if err != nil || len(more) == 0 {
		t.Fatalf("%d statements, %v", len(more), err)
	}
	for _, file := range append(files, more...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sql := strings.ReplaceAll(string(text), "@folded@", "rm.warehouse_statistics")
		if strings.Contains(sql, "%s") && !strings.Contains(sql, "format(") { // tables of a run
			sql = strings.Replace(strings.Replace(sql, "%s d", "(SELECT NULL::uuid AS object_id, NULL::uuid AS warehouse_id, '' AS location, '' AS sha256, NULL::uuid AS event_id) d", 1), "%s w", "rm.warehouse w", 1)
		}
		if _, err := conn.Prepare(t.Context(), file, sql); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	for _, sql := range projections.WriteStatements() {
		if _, err := conn.Prepare(t.Context(), sql, sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// A tree is read by its keys, however many others the warehouse holds.
func TestTreesAreReadByTheirKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, project := w.bootstrap()
	warehouse := w.newWarehouse(project, "demo")
	for i := range 20 {
		w.newTable(w.newNamespace(warehouse, fmt.Sprint("n", i)), "t")
	}
	if _, err := w.db.Owner.Exec(t.Context(), "ANALYZE"); err != nil {
		t.Fatal(err)
	}
	conn := w.db.Connect(t, pgtest.RoleApp)
	// Small tables are read whole unless that is forbidden: what counts is that
	// each look-up has an index to go by.
	if _, err := conn.Exec(t.Context(), "SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan"); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"sql/tree.sql", "sql/tree_protected.sql", "sql/dropped.sql"} {
		plan := w.plan(conn, file)
		for _, bad := range []string{"Seq Scan", "Hash", "Merge"} {
			if strings.Contains(plan, bad) {
				t.Errorf("%s: %s in\n%s", file, bad, plan)
			}
		}
	}
}

// plan returns the generic plan of a statement file on a prepared connection.
func (w *world) plan(conn *pgx.Conn, file string) string {
	w.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		w.Fatal(err)
	}
	description, err := conn.Prepare(w.Context(), file, string(text))
	if err != nil {
		w.Fatal(err)
	}
	nulls := strings.TrimSuffix(strings.Repeat("NULL, ", len(description.ParamOIDs)), ", ")
	rows, err := conn.Query(w.Context(), `EXPLAIN (COSTS OFF) EXECUTE "`+file+`" (`+nulls+`)`, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		w.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		w.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// TestResolveLooksUpByWholeKeys holds the plan while tables are small, which is
// when a planner left to itself makes the one that hurts when they have grown.
func TestResolveLooksUpByWholeKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, project := w.bootstrap()
	w.fill(w.newWarehouse(project, "demo"), 3, 5)
	if _, err := w.db.Owner.Exec(t.Context(), "VACUUM ANALYZE rm.tabular, rm.namespace, rm.warehouse"); err != nil {
		t.Fatal(err)
	}
	conn := w.db.Connect(t, pgtest.RoleApp)
	if err := projections.PrepareConn(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"sql/resolve.sql", "sql/resolve_lean.sql", "sql/resolve_one.sql", "sql/resolve_objects.sql"} {
		plan := w.plan(conn, file)
		for _, bad := range []string{"Seq Scan", "Hash", "Merge", "Bitmap", "Sort"} {
			if strings.Contains(plan, bad) {
				t.Errorf("%s: %s in\n%s", file, bad, plan)
			}
		}
		keys := map[string]int{"namespace_path_key": 3, "namespace_pkey": 3, "tabular_name_key": 4, "tabular_pkey": 3, "document_pkey": 2, "warehouse_name_key": 2}
		lines := strings.Split(plan, "\n")
		for i, line := range lines {
			for index, columns := range keys {
				if !strings.Contains(line, " using "+index+" ") {
					continue
				}
				if i+1 == len(lines) || !strings.Contains(lines[i+1], "Index Cond:") || strings.Count(lines[i+1], " = ")-strings.Count(lines[i+1], "CASE WHEN (q.warehouse_name = ") < columns {
					t.Errorf("%s: %s is not searched by its %d columns:\n%s", file, index, columns, plan)
				}
			}
		}
		if n := strings.Count(plan, "Index Cond"); n < 5 {
			t.Errorf("%s: only %d look-ups by key in\n%s", file, n, plan)
		}
	}
}

// TestEveryReadOfTheLogCarriesARange: a read of es.event without a range of
// numbers looks into every partition that there ever was (design 3.7), and none
// of them has an index but that of the numbers.
func TestEveryReadOfTheLogCarriesARange(t *testing.T) {
	t.Parallel()
	var files []string
	for _, pattern := range []string{"sql/*.sql", "../eventstore/sql/*.sql", "../workers/sql/*.sql", "../queries/sql/*.sql"} {
		more, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	reads := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "FROM es.event")
		for rest != "" {
			var read string
			read, rest, _ = strings.Cut(rest, "FROM es.event")
			if strings.HasPrefix(read, "_") {
				continue // another table
			}
			reads++
			if !regexp.MustCompile(`WHERE[^;]*append_seq (=|>|>=|BETWEEN) `).MatchString(read) {
				t.Errorf("%s reads es.event without a range of numbers:%s", file, read)
			}
		}
	}
	if reads < 10 {
		t.Errorf("only %d reads found", reads)
	}
}
