package projections_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

func TestReadModelsRefuseByNamedConstraints(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, project := w.bootstrap()
	wh := w.newWarehouse(project, "demo")
	sales := w.newNamespace(wh, "Sales")
	inner := w.newNamespace(sales, "inner")
	orders := w.newTable(sales, "Orders", "file//srv/a/b/")
	clone := tableStep(sales, "clone")
	clone.on.uuid = orders.uuid
	clone.event.(*catalog.TableCreated).TableUUID = orders.uuid
	ghost := &object{id: testIDs.New(), warehouse: wh.id, project: project.id, entity: catalog.EntityNamespace, path: catalog.Namespace{"ghost"}}
	noProject := &object{id: testIDs.New(), entity: catalog.EntityWarehouse}
	unheld := func(s step) step { s.held = nil; return s }

	for name, c := range map[string]struct {
		step       step
		constraint string
	}{
		"a second bootstrap":                {step{on: &object{id: testIDs.New(), entity: catalog.EntityServer}, event: &catalog.ServerBootstrapped{}}, projections.ServerOneKey},
		"a warehouse's name, other case":    {step{on: &object{id: testIDs.New(), project: project.id, entity: catalog.EntityWarehouse}, event: &catalog.WarehouseCreated{Project: project.id, Name: "DEMO", StorageProfile: json.RawMessage(`{"type":"file"}`), DefaultFormat: 2, AllowedFormats: []int{2}}}, projections.WarehouseNameKey},
		"a warehouse in no project":         {step{on: noProject, event: &catalog.WarehouseCreated{Project: testIDs.New(), Name: "x", StorageProfile: json.RawMessage(`{"type":"file"}`), DefaultFormat: 2, AllowedFormats: []int{2}}}, projections.WarehouseProjectFK},
		"a namespace's name, other case":    {namespaceStep(wh, "sALES"), projections.NamespacePathKey},
		"a nested namespace's name":         {namespaceStep(sales, "INNER"), projections.NamespacePathKey},
		"a namespace below none":            {unheld(namespaceStep(ghost, "x")), projections.NamespaceParentFK},
		"a namespace in no warehouse":       {unheld(namespaceStep(&object{id: testIDs.New(), warehouse: testIDs.New(), project: project.id, entity: catalog.EntityWarehouse}, "x")), projections.NamespaceWarehouseFK},
		"a namespace with children":         {step{on: sales, close: true, event: &catalog.NamespaceDropped{Namespace: sales.path}}, projections.NamespaceParentFK},
		"a table's name, other case":        {tableStep(sales, "oRDERS"), projections.TabularNameKey},
		"a table's uuid":                    {clone, projections.TabularUUIDKey},
		"a table in no namespace":           {unheld(tableStep(ghost, "x")), projections.TabularNamespaceFK},
		"a location inside another's":       {tableStep(inner, "x", "file//srv/a/b/c/"), projections.LocationClaimOverlap},
		"a location around another's":       {tableStep(inner, "x", "file//srv/a/"), projections.LocationClaimOverlap},
		"the same location":                 {tableStep(inner, "x", "file//srv/a/b/"), projections.LocationClaimOverlap},
		"set-location onto another's":       {commitStep(w.newTable(inner, "y", "file//srv/q/"), []string{"file//srv/a/"}, []string{"file//srv/q/"}), projections.LocationClaimOverlap},
		"a rename onto another's name":      {renameStep(w.newTable(inner, "orders"), sales, "ORDERS"), projections.TabularNameKey},
		"a rename into a missing namespace": {unheld(renameStep(w.newTable(inner, "z"), ghost, "z")), projections.TabularNamespaceFK},
	} {
		if err := w.try(c.step); constraintOf(err) != c.constraint {
			t.Errorf("%s: %v, want a refusal by %s", name, err, c.constraint)
		}
	}

	// What does not collide: siblings, a prefix of a name, the own old place.
	w.must(tableStep(sales, "x", "file//srv/a/bb/"))
	w.must(commitStep(orders, []string{"file//srv/a/b/inside/"}, []string{"file//srv/a/b/"}))
	w.must(renameStep(orders, sales, "ORDERS"))
	w.must(step{on: w.newNamespace(wh, "empty"), close: true, event: &catalog.NamespaceDropped{Namespace: catalog.Namespace{"empty"}}})
	w.newNamespace(wh, "empty")
}

func TestNamespaceWithTablesIsNotDropped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, project := w.bootstrap()
	ns := w.newNamespace(w.newWarehouse(project, "demo"), "ns")
	table := w.newTable(ns, "t")
	drop := step{on: ns, close: true, event: &catalog.NamespaceDropped{Namespace: ns.path}}
	if err := w.try(drop); constraintOf(err) != projections.TabularNamespaceFK {
		t.Fatalf("drop of a full namespace: %v", err)
	}
	w.must(dropStep(table))
	w.must(drop)
	var closed *eventstore.ClosedError
	if err := w.try(tableStep(ns, "t")); !errors.As(err, &closed) {
		t.Fatalf("a table in a dropped namespace: %v", err)
	}
}

func TestNamesAndLocationsMoveWithinOneCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, project := w.bootstrap()
	ns := w.newNamespace(w.newWarehouse(project, "demo"), "ns")
	a := w.newTable(ns, "a", "file//srv/a/")
	b := w.newTable(ns, "b", "file//srv/b/x/")
	// a takes b's place around, while b leaves it: what goes, goes first.
	w.must(
		commitStep(a, []string{"file//srv/b/"}, []string{"file//srv/a/"}),
		commitStep(b, []string{"file//srv/c/"}, []string{"file//srv/b/x/"}),
	)
	// A table is dropped and another takes its name and place.
	b.claims = []string{"file//srv/c/"}
	w.must(dropStep(b), tableStep(ns, "B", "file//srv/c/"))
}

func TestOfOverlappingClaimsExactlyOneSurvives(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, project := w.bootstrap()
	ns := w.newNamespace(w.newWarehouse(project, "demo"), "ns")
	movers := make([]*object, 20)
	for i := range movers {
		movers[i] = w.newTable(ns, fmt.Sprintf("mover%d", i))
	}
	// Ten places, each wanted by ten at once: itself, its parent side, children.
	want := func(i int) string {
		base := fmt.Sprintf("file//srv/race/%d/", i%10)
		switch (i / 10) % 4 {
		case 0:
			return base
		case 1:
			return base + "child/"
		case 2:
			return base + "child/grandchild/"
		}
		return fmt.Sprintf("file//srv/race/%d/", i%10)
	}
	var group sync.WaitGroup
	errs := make([]error, 100)
	start := make(chan struct{})
	for i := range errs {
		s := tableStep(ns, fmt.Sprintf("t%d", i), want(i))
		if i%5 == 4 {
			s = commitStep(movers[i/5], []string{want(i)}, movers[i/5].claims)
		}
		group.Add(1)
		go func() {
			defer group.Done()
			<-start
			_, errs[i] = w.store.Append(t.Context(), commitOf(t, s))
		}()
	}
	close(start)
	group.Wait()
	won := map[string]int{}
	for i, err := range errs {
		var refused *eventstore.ConstraintError
		switch {
		case err == nil:
			won[want(i)]++
		case !errors.As(err, &refused) || refused.Constraint != projections.LocationClaimOverlap:
			t.Errorf("attempt %d: %v", i, err)
		}
		var pgErr *pgconn.PgError
		if errors.As(err, &pgErr) && pgErr.Code == "40P01" {
			t.Errorf("attempt %d: deadlock", i)
		}
	}
	for i := range 10 {
		base := fmt.Sprintf("file//srv/race/%d/", i)
		if n := won[base] + won[base+"child/"] + won[base+"child/grandchild/"]; n != 1 {
			t.Errorf("%d claims of %s survived", n, base)
		}
	}
}

func TestCreateAndDropOfParentsRace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, project := w.bootstrap()
	wh := w.newWarehouse(project, "demo")
	for i := range 20 {
		ns := w.newNamespace(wh, fmt.Sprintf("ns%d", i))
		table := commitOf(t, tableStep(ns, "t"))
		drop := commitOf(t, step{on: ns, close: true, event: &catalog.NamespaceDropped{Namespace: ns.path}})
		var group sync.WaitGroup
		var tableErr, dropErr error
		group.Add(2)
		go func() { defer group.Done(); _, tableErr = w.store.Append(t.Context(), table) }()
		go func() { defer group.Done(); _, dropErr = w.store.Append(t.Context(), drop) }()
		group.Wait()
		if (tableErr == nil) == (dropErr == nil) {
			t.Fatalf("round %d: create gives %v, drop gives %v", i, tableErr, dropErr)
		}
	}
}

func TestAuthzMarkMovesWhenATableChangesItsParent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, project := w.bootstrap()
	wh := w.newWarehouse(project, "demo")
	a, b := w.newNamespace(wh, "a"), w.newNamespace(wh, "b")
	table := w.newTable(a, "t")
	mark := func() ids.ID {
		var id [16]byte
		if err := w.db.App.QueryRow(t.Context(), "SELECT authz_mark FROM rm.project").Scan(&id); err != nil {
			t.Fatal(err)
		}
		return id
	}
	first := mark()
	w.must(renameStep(table, a, "t2"))
	if mark() != first {
		t.Error("a rename in place moved the mark of rights")
	}
	table.name.Name = "t2"
	w.must(renameStep(table, b, "t2"))
	if mark() != table.mark {
		t.Errorf("the mark of rights is %s, the move was %s", mark(), table.mark)
	}
}
