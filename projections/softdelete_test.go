package projections_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/pgtest"
	"github.com/icecore-catalog/icecore/projections"
)

// softStep drops a table so that it can come back.
func softStep(o *object, purge bool) step {
	until := testTime.UnixMilli() + 1000
	return step{on: o, sleeps: true, event: &catalog.TableDropped{
		TableName: o.name, TableUUID: o.uuid, MetadataLocation: o.pointer, PurgeRequested: purge, ExpiresAtMS: &until,
	}}
}

// undropStep gives it back its life.
func undropStep(o, namespace *object, name string) step {
	to := catalog.TableName{NamespaceID: namespace.id, Namespace: namespace.path, Name: name}
	return step{on: o, dormant: true, held: []*object{namespace}, event: &catalog.TableUndropped{Undropped: catalog.Undropped{
		UUID: o.uuid, MetadataLocation: o.pointer, From: o.name, To: to,
	}}}
}

// expireStep ends it.
func expireStep(o *object, purge bool) step {
	e := catalog.Expired{Ended: catalog.Ended{TableName: o.name, UUID: o.uuid, MetadataLocation: o.pointer}, PurgeRequested: purge}
	if !purge {
		e.ClaimsReleased = o.claims
	}
	return step{on: o, dormant: true, sleeps: purge, close: !purge, event: &catalog.TableExpired{Expired: e}}
}

// treeOf names namespaces, parents first, and what stands in them.
func treeOf(namespaces, tabulars []*object) (tree catalog.Tree) {
	for _, n := range namespaces {
		tree.Namespaces = append(tree.Namespaces, catalog.TreeNamespace{ID: n.id, Namespace: n.path, Ancestors: n.ancestors, Properties: json.RawMessage(`{"a": "1"}`)})
	}
	for _, o := range tabulars {
		tree.Tabulars = append(tree.Tabulars, catalog.TreeTabular{Kind: o.entity, ID: o.id, NamespaceID: o.name.NamespaceID, Name: o.name.Name, UUID: o.uuid, MetadataLocation: o.pointer})
	}
	return tree
}

func along(namespaces, tabulars []*object) []*object {
	return append(append([]*object(nil), namespaces[1:]...), tabulars...)
}

func dropTreeStep(purge bool, namespaces, tabulars []*object) step {
	return step{on: namespaces[0], sleeps: true, along: along(namespaces, tabulars), event: &catalog.NamespaceDropped{
		Namespace: namespaces[0].path, Recursive: true,
		Soft: &catalog.SoftDrop{PurgeRequested: purge, ExpiresAtMS: testTime.UnixMilli() + 1000, Tree: treeOf(namespaces, tabulars)},
	}}
}

func undropTreeStep(from catalog.Namespace, namespaces, tabulars []*object) step {
	return step{on: namespaces[0], dormant: true, along: along(namespaces, tabulars), event: &catalog.NamespaceUndropped{
		From: from, To: namespaces[0].path, Tree: treeOf(namespaces, tabulars),
	}}
}

// expireTreeStep ends a tree without tables, or one whose tables are to be purged.
func expireTreeStep(purge bool, namespaces, tabulars []*object) step {
	e := &catalog.NamespaceExpired{Namespace: namespaces[0].path, PurgeRequested: purge}
	for _, n := range namespaces {
		e.Namespaces = append(e.Namespaces, n.id)
	}
	for i, o := range treeOf(namespaces, tabulars).Tabulars {
		ended := catalog.ExpiredTabular{TreeTabular: o}
		if !purge {
			ended.ClaimsReleased = tabulars[i].claims
		}
		e.Tabulars = append(e.Tabulars, ended)
	}
	return step{on: namespaces[0], dormant: true, close: true, along: along(namespaces, tabulars), event: e}
}

// softDrops does one of everything that can happen to what can come back, and
// leaves something that can.
func (w *world) softDrops(warehouse, a, b *object) {
	w.Helper()
	until := int64(60)
	w.must(step{on: warehouse, event: &catalog.WarehouseDeleteProfileUpdated{Name: "démo", ExpirationSeconds: &until}})
	for i, name := range []string{"soft", "back", "expired", "waits for the purge"} {
		o := w.newTable(a, name)
		purge := i == 3
		w.must(softStep(o, purge))
		switch i {
		case 1:
			w.must(undropStep(o, b, "Back again"))
		case 2, 3:
			w.must(expireStep(o, purge))
		}
	}
	for i, name := range []string{"tree", "tree back", "tree over", "tree kept over"} {
		root := w.newNamespace(warehouse, name)
		namespaces := []*object{root, w.newNamespace(root, "below")}
		tables := []*object{w.newTable(root, "t"), w.newTable(namespaces[1], "t")}
		if i == 2 {
			tables = nil
			namespaces = []*object{w.newNamespace(warehouse, "nothing in it")}
		}
		w.must(dropTreeStep(i == 0, namespaces, tables))
		switch i {
		case 1:
			from := root.path
			root.path = catalog.Namespace{"Renamed"}
			namespaces[1].path = append(catalog.Namespace{"Renamed"}, "below")
			namespaces[1].ancestors = []ids.ID{root.id}
			w.must(undropTreeStep(from, namespaces, tables))
		case 2, 3:
			w.must(expireTreeStep(false, namespaces, tables))
		}
	}
}

// A namespace does not end while something can come back into it, unless all in it
// was to go.
func TestANamespaceHoldsWhatCanComeBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, project := w.bootstrap()
	wh := w.newWarehouse(project, "demo")
	outer := w.newNamespace(wh, "outer")
	o := w.newTable(outer, "t")
	w.must(softStep(o, false))
	end := func(recursive bool) error {
		return w.try(step{on: outer, close: true, event: &catalog.NamespaceDropped{Namespace: outer.path, Recursive: recursive}})
	}
	if err := end(false); constraintOf(err) != projections.DroppedNamespaceVacant {
		t.Errorf("a table can come back: %v", err)
	}
	w.must(expireStep(o, true))
	inner := w.newNamespace(outer, "inner")
	w.must(dropTreeStep(false, []*object{inner}, nil))
	if err := end(false); constraintOf(err) != projections.DroppedNamespaceVacant {
		t.Errorf("a namespace can come back: %v", err)
	}
	if err := end(true); err != nil {
		t.Error(err)
	}
	w.drain()
	for _, f := range w.compare(3).Findings {
		t.Error(f)
	}
}

// What was dropped with its tree is closed to everybody: the event of the root
// moved its guard, and its version is what it was.
func TestATreeTakesTheGuardsAlong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, project := w.bootstrap()
	root := w.newNamespace(w.newWarehouse(project, "demo"), "root")
	o := w.newTable(root, "t")
	w.must(dropTreeStep(true, []*object{root}, []*object{o}))
	if err := w.try(commitStep(o, nil, nil)); err == nil {
		t.Error("a commit to a dropped table")
	}
	if err := w.try(tableStep(root, "new")); err == nil {
		t.Error("a table in a dropped namespace")
	}
	w.must(undropTreeStep(root.path, []*object{root}, []*object{o}))
	w.must(commitStep(o, nil, nil))
	w.must(tableStep(root, "new"))
	w.drain()
	for _, f := range w.compare(3).Findings {
		t.Error(f)
	}
}

// What goes and what changes is found by its own key, also while statistics are
// young: else the drop of a tree reads the whole warehouse for each of its tables.
func TestRowsAreFoundByTheirObject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, project := w.bootstrap()
	outer := w.newNamespace(w.newWarehouse(project, "demo"), "outer")
	for i := range 30 {
		w.newTable(outer, fmt.Sprint("t", i))
	}
	conn := w.db.Connect(t, pgtest.RoleOwner)
	if _, err := conn.Exec(t.Context(), "SET enable_seqscan = off; SET enable_bitmapscan = off", pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, sql := range projections.WriteStatements() {
		for table, key := range map[string]string{"rm.tabular": "tabular_pkey", "rm.namespace": "namespace_pkey", "rm.dropped_namespace": "dropped_namespace_pkey"} {
			if !strings.HasPrefix(sql, "DELETE FROM "+table+" WHERE ") {
				continue
			}
			found++
			id := "'" + outer.id.String() + "'"
			rows, err := conn.Query(t.Context(), "EXPLAIN "+strings.NewReplacer("$1", id, "$2", id, "$3", id).Replace(sql))
			if err != nil {
				t.Fatal(err)
			}
			lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if plan := strings.Join(lines, "\n"); err != nil || !strings.Contains(plan, key) {
				t.Errorf("%s: %v\n%s", sql, err, plan)
			}
		}
	}
	if found != 3 {
		t.Errorf("%d statements", found)
	}
}
