package projections_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/icecore-catalog/icecore/internal/pgtest"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/projections/document"
)

// rowsOnly lends no connection, so that a resolver reads rows as pgx makes them.
type rowsOnly struct{ projections.Querier }

// The answer to a lone request is the same whether columns are read in their
// binary form or by pgx; also after the statement's tables were put in the place
// of others, and where the server has forgotten the statement.
func TestALoneAnswerIsThatOfRows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, project := w.bootstrap()
	wh := w.newWarehouse(project, "Demo")
	top := w.newNamespace(wh, "Top")
	inner := w.newNamespace(top, "In.ner")
	table, outer := w.newTable(inner, "Orders"), w.newTable(top, "Outer")
	doc, err := document.Pack([]byte(`{"format-version":2}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := document.Save(t.Context(), w.db.App, table.id, table.mark, &doc); err != nil {
		t.Fatal(err)
	}
	raw, plain := w.resolver(), projections.NewResolver(rowsOnly{w.db.App}, projections.Options{})
	t.Cleanup(func() { _ = plain.Close(context.Background()) })
	same := func(t *testing.T) {
		t.Helper()
		for name, q := range map[string]projections.Query{
			"stale":        {Warehouse: wh.id, Namespace: []string{"top", "In.ner"}, Name: "orders", Hint: outer.mark},
			"as known":     {Warehouse: wh.id, Namespace: []string{"top", "In.ner"}, Name: "orders", Hint: table.mark},
			"no hint":      {Warehouse: wh.id, Namespace: []string{"top"}, Name: "outer"},
			"no table":     {Warehouse: wh.id, Namespace: []string{"top"}, Name: "nothing"},
			"no namespace": {Warehouse: wh.id, Namespace: []string{"nowhere"}, Name: "orders"},
			"a spelling":   {Warehouse: wh.id, Namespace: []string{"TOP"}, Name: "OUTER", Spelling: true},
		} {
			got, want := w.resolve(raw, q), w.resolve(plain, q)
			if d := want.Now.Sub(got.Now); d < 0 || d > time.Minute {
				t.Errorf("%s: %s and then %s", name, got.Now, want.Now)
			}
			want.Now = got.Now
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v, want %+v", name, got, want)
			}
		}
	}
	same(t) // teaches both the warehouse
	same(t)
	if _, err := w.db.Owner.Exec(t.Context(), "ALTER TABLE rm.tabular RENAME TO was; CREATE TABLE rm.tabular (LIKE rm.was INCLUDING ALL); INSERT INTO rm.tabular SELECT * FROM rm.was; GRANT SELECT ON rm.tabular TO "+string(pgtest.RoleApp), pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	same(t)
	asked := 0
	for _, conn := range w.db.App.AcquireAllIdle(t.Context()) {
		var here int
		if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_prepared_statements WHERE name = 'icecore_resolve_one'").Scan(&here); err != nil {
			t.Fatal(err)
		}
		asked += here
		_, _ = conn.Exec(t.Context(), "DEALLOCATE icecore_resolve_one", pgx.QueryExecModeSimpleProtocol) // where it is there
		conn.Release()
	}
	if asked == 0 {
		t.Error("no connection was asked in binary form: two of one kind were compared")
	}
	same(t)
	if _, err := w.db.Owner.Exec(t.Context(), "DROP TABLE rm.tabular; ALTER TABLE rm.was RENAME TO tabular"); err != nil {
		t.Fatal(err)
	}
	same(t)
}
