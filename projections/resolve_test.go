package projections_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/pgtest"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/projections/document"
)

func (w *world) resolver() *projections.SharedResolver {
	r := projections.NewResolver(w.db.App, projections.Options{})
	w.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			w.Error(err)
		}
	})
	return r
}

func (w *world) resolve(r projections.Resolver, q projections.Query) projections.Facts {
	w.Helper()
	facts, err := r.Resolve(w.Context(), q)
	if err != nil {
		w.Fatalf("resolve: %v", err)
	}
	return facts[0]
}

func TestResolveTellsWhatIsThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.resolver()
	if f := w.resolve(r, projections.Query{}); f.Server.Bootstrapped || f.Project.Exists || f.Now.IsZero() {
		t.Errorf("before the bootstrap: %+v", f)
	}
	server, project := w.bootstrap()
	wh := w.newWarehouse(project, "Demo")
	top := w.newNamespace(wh, "Top")
	inner := w.newNamespace(top, "In.ner")
	table := w.newTable(inner, "Orders")
	w.must(commitStep(table, nil, nil))
	doc, err := document.Pack([]byte(`{"format-version":2}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := document.Save(t.Context(), w.db.App, table.id, table.mark, &doc); err != nil {
		t.Fatal(err)
	}

	check := func(f projections.Facts) {
		t.Helper()
		if f.Server.ID != server.id || f.Project.ID != project.id || f.Project.AuthzMark != project.mark {
			t.Errorf("server and project: %+v %+v", f.Server, f.Project)
		}
		h := f.Warehouse
		if !h.Exists || h.ID != wh.id || h.Name != "Demo" || !h.Active || h.Version != 1 || h.Mark != wh.mark || h.DefaultFormat != 2 ||
			!slices.Equal(h.AllowedFormats, []int{1, 2, 3}) || !h.UpdatedAt.Equal(testTime) || string(h.StorageProfile) != `{"type":"file","root":"file:///srv/Demo"}` {
			t.Errorf("warehouse: %+v", h)
		}
	}
	load := projections.Query{Warehouse: wh.id, Namespace: []string{"tOP", "in.NER"}, Name: "oRDERS"}
	for range 2 { // the second time from what the instance knows of the warehouse
		f := w.resolve(r, load)
		check(f)
		n := f.Namespace
		if !n.Exists || n.ID != inner.id || !slices.Equal(n.Ancestors, []ids.ID{top.id}) || n.ParentID != top.id || n.Levels != nil || n.Properties != nil {
			t.Errorf("namespace of a load: %+v", n)
		}
		tab := f.Table
		if !tab.Exists || tab.ID != table.id || tab.Name != "Orders" || tab.Kind != "table" || tab.TableUUID != table.uuid.String() ||
			tab.Version != 2 || tab.Mark != table.mark || !tab.Fresh || tab.Pointer != table.pointer || tab.Document == nil {
			t.Fatalf("table: %+v", tab)
		}
		if text, err := tab.Document.Unpack(); err != nil || string(text) != `{"format-version":2}` {
			t.Errorf("document: %q, %v", text, err)
		}
	}

	hinted := load
	hinted.Hint = table.mark
	if tab := w.resolve(r, hinted).Table; tab.Fresh || tab.Pointer != "" || tab.Document != nil || tab.Version != 2 || tab.Mark != table.mark {
		t.Errorf("with the right hint: %+v", tab)
	}
	load.Details = true
	if f := w.resolve(r, load); !slices.Equal(f.Namespace.Levels, []string{"Top", "In.ner"}) || string(f.Namespace.Properties) != `{"z": "1","a":"2"}` ||
		f.Namespace.Version != 1 || f.Namespace.Mark != inner.mark || f.Project.Name != "Default Project" {
		t.Errorf("with details: %+v", f.Namespace)
	}
	check(w.resolve(r, projections.Query{Project: project.id, WarehouseName: "dEMO"}))

	ns := w.resolve(r, projections.Query{Warehouse: wh.id, Namespace: []string{"top"}}).Namespace
	if !ns.Exists || ns.ID != top.id || len(ns.Ancestors) != 0 || !ns.ParentID.IsNil() || string(ns.Properties) != `{"z": "1","a":"2"}` {
		t.Errorf("namespace: %+v", ns)
	}
	ns = w.resolve(r, projections.Query{Warehouse: wh.id, Namespace: []string{"top", "in.ner", "new"}}).Namespace
	if ns.Exists || !ns.ParentExists || ns.ParentID != inner.id || !slices.Equal(ns.Ancestors, []ids.ID{top.id}) {
		t.Errorf("a namespace to be created: %+v", ns)
	}
	for _, q := range []projections.Query{
		{Warehouse: testIDs.New(), Namespace: []string{"top"}, Name: "orders"},
		{Project: project.id, WarehouseName: "other"},
		{Project: testIDs.New(), WarehouseName: "demo"},
	} {
		if f := w.resolve(r, q); f.Warehouse.Exists || f.Namespace.Exists || f.Table.Exists || !f.Server.Bootstrapped || f.Project.Exists != (q.Project == project.id) {
			t.Errorf("%+v: %+v", q, f)
		}
	}
	for _, name := range []string{"other", "", "\x1f", "a\x00b", "\xff", strings.Repeat("x", 70000)} {
		if f := w.resolve(r, projections.Query{Warehouse: wh.id, Namespace: []string{"top", "in.ner"}, Name: name}); f.Table.Exists || !f.Namespace.Exists {
			t.Errorf("name %.10q: %+v", name, f)
		}
		if f := w.resolve(r, projections.Query{Warehouse: wh.id, Namespace: []string{"top", name}}); f.Namespace.Exists {
			t.Errorf("level %.10q: %+v", name, f)
		}
	}
	if f := w.resolve(r, projections.Query{Warehouse: wh.id, Namespace: []string{"top\x1fin.ner"}}); f.Namespace.Exists {
		t.Errorf("a level that holds the separator: %+v", f.Namespace)
	}
}

func TestResolveByObject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, project := w.bootstrap()
	wh, other := w.newWarehouse(project, "a"), w.newWarehouse(project, "b")
	ns := w.newNamespace(wh, "ns")
	table := w.newTable(ns, "t")
	facts, err := w.resolver().Resolve(t.Context(),
		projections.Query{Warehouse: wh.id, Object: table.id},
		projections.Query{Warehouse: wh.id, Object: ns.id, Details: true},
		projections.Query{Warehouse: other.id, Object: table.id},
		projections.Query{Warehouse: wh.id, Namespace: []string{"NS"}, Name: "T"},
		projections.Query{Warehouse: wh.id, Object: testIDs.New()},
	)
	if err != nil {
		t.Fatal(err)
	}
	if f := facts[0]; f.Table.ID != table.id || f.Namespace.ID != ns.id || f.Table.Pointer != table.pointer {
		t.Errorf("a table: %+v", f)
	}
	if f := facts[1]; f.Table.Exists || f.Namespace.ID != ns.id || f.Namespace.Version != 1 {
		t.Errorf("a namespace: %+v", f)
	}
	if f := facts[2]; f.Table.Exists || f.Namespace.Exists || f.Warehouse.ID != other.id {
		t.Errorf("a table of another warehouse: %+v", f)
	}
	if f := facts[3]; f.Table.ID != table.id {
		t.Errorf("by path beside: %+v", f)
	}
	if f := facts[4]; f.Table.Exists || f.Namespace.Exists {
		t.Errorf("no object: %+v", f)
	}
}

// gate is a pool whose statements wait until they are let through.
type gate struct {
	pool    *pgxpool.Pool
	arrived chan int // number of queries in a statement that waits
	pass    chan struct{}
	fail    error
}

func (g *gate) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	g.arrived <- len(args[0].([][16]byte))
	select {
	case <-g.pass:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if g.fail != nil {
		return nil, g.fail
	}
	return g.pool.Query(ctx, sql, args...)
}

// waitQueued waits until n calls stand in the queue.
func waitQueued(r *projections.SharedResolver, n int) {
	for projections.Waiting(r) != n {
	}
}

func TestCallsThatWaitShareAStatement(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bootstrap()
	g := &gate{pool: w.db.App, arrived: make(chan int), pass: make(chan struct{})}
	r := projections.NewResolver(g, projections.Options{MaxBatch: 4, InFlight: 2, Overdue: time.Hour})
	var group sync.WaitGroup
	call := func(ctx context.Context, n int) *error {
		var err error
		group.Add(1)
		go func() {
			defer group.Done()
			var facts []projections.Facts
			facts, err = r.Resolve(ctx, make([]projections.Query, n)...)
			if err == nil && len(facts) != n {
				err = fmt.Errorf("%d facts for %d queries", len(facts), n)
			}
			for _, f := range facts {
				if err == nil && !f.Server.Bootstrapped {
					err = errors.New("facts are empty")
				}
			}
		}()
		return &err
	}
	// A lone call goes at once, and so does what fills a statement.
	errs := []*error{call(t.Context(), 1)}
	if n := <-g.arrived; n != 1 {
		t.Fatalf("a lone call has %d queries in its statement", n)
	}
	errs = append(errs, call(t.Context(), 4))
	if n := <-g.arrived; n != 4 {
		t.Fatalf("a full statement has %d queries", n)
	}
	// Five wait: three share a statement up to MaxBatch queries, one is left
	// out because its caller went away, a large one has its own.
	errs = append(errs, call(t.Context(), 1))
	waitQueued(r, 1)
	errs = append(errs, call(t.Context(), 2))
	waitQueued(r, 2)
	gone, leave := context.WithCancel(t.Context())
	left := call(gone, 1)
	waitQueued(r, 3)
	errs = append(errs, call(t.Context(), 1))
	waitQueued(r, 4)
	errs = append(errs, call(t.Context(), 9))
	waitQueued(r, 5)
	leave()
	waitQueued(r, 4)
	g.pass <- struct{}{}
	if n := <-g.arrived; n != 4 {
		t.Fatalf("the waiting calls share a statement of %d queries, want 4", n)
	}
	g.pass <- struct{}{}
	if n := <-g.arrived; n != 9 {
		t.Fatalf("the large call has a statement of %d queries", n)
	}
	g.pass <- struct{}{}
	g.pass <- struct{}{}
	group.Wait()
	for i, err := range errs {
		if *err != nil {
			t.Errorf("call %d: %v", i, *err)
		}
	}
	if !errors.Is(*left, context.Canceled) {
		t.Errorf("the caller that left got %v", *left)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Resolve(t.Context(), projections.Query{}); !errors.Is(err, projections.ErrResolverClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// firstHangs is a gate whose first statement comes to no end.
type firstHangs struct {
	*gate
	once sync.Once
	hung chan struct{}
}

func (h *firstHangs) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	first := false
	h.once.Do(func() { first = true })
	if first {
		close(h.hung)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.gate.Query(ctx, sql, args...)
}

// TestNobodyWaitsBehindAStatementThatHangs: of two slots one is lost, and the
// other serves as if it were the only one.
func TestNobodyWaitsBehindAStatementThatHangs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bootstrap()
	g := &gate{pool: w.db.App, arrived: make(chan int), pass: make(chan struct{})}
	first := &firstHangs{gate: g, hung: make(chan struct{})}
	r := projections.NewResolver(first, projections.Options{Overdue: time.Millisecond})
	results := make(chan error, 8)
	call := func(ctx context.Context) {
		go func() { _, err := r.Resolve(ctx, projections.Query{}); results <- err }()
	}
	hung, end := context.WithCancel(t.Context())
	call(hung)
	<-first.hung
	for range 3 {
		call(t.Context()) // goes when the one before it is overdue, or at once
		<-g.arrived
		for i := range 2 {
			call(t.Context())
			waitQueued(r, i+1)
		}
		g.pass <- struct{}{}
		if n := <-g.arrived; n != 2 {
			t.Fatalf("two calls that wait have a statement of %d", n)
		}
		g.pass <- struct{}{}
		for range 3 {
			if err := <-results; err != nil {
				t.Fatal(err)
			}
		}
	}
	end()
	if err := <-results; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller of the statement that hung got %v", err)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestFailureOfASharedStatementReachesAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	g := &gate{pool: w.db.App, arrived: make(chan int), pass: make(chan struct{})}
	r := projections.NewResolver(g, projections.Options{InFlight: 1})
	results := make(chan error, 8)
	call := func(ctx context.Context) {
		go func() { _, err := r.Resolve(ctx, projections.Query{}); results <- err }()
	}
	call(t.Context())
	<-g.arrived
	for i := range 3 {
		call(t.Context())
		waitQueued(r, i+1)
	}
	g.pass <- struct{}{}
	if err := <-results; err != nil {
		t.Fatal(err)
	}
	<-g.arrived
	g.fail = errors.New("the line is dead")
	g.pass <- struct{}{}
	<-g.arrived // a dead connection is tried again, once
	g.pass <- struct{}{}
	for range 3 {
		if err := <-results; !errors.Is(err, g.fail) {
			t.Errorf("a call got %v", err)
		}
	}
	// When all callers of a statement are gone, it is cancelled.
	g.fail = nil
	call(t.Context())
	<-g.arrived
	ctx, cancel := context.WithCancel(t.Context())
	call(ctx)
	waitQueued(r, 1)
	g.pass <- struct{}{}
	<-g.arrived
	cancel()
	for range 2 {
		if err := <-results; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("a call got %v", err)
		}
	}
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestNothingCachedSurvivesARestoreWrongly takes the database back to an older
// state under a running instance and lets history go another way: the same
// version numbers come again, the same marks never do.
func TestNothingCachedSurvivesARestoreWrongly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, project := w.bootstrap()
	wh := w.newWarehouse(project, "demo")
	ns := w.newNamespace(wh, "ns")
	table := w.newTable(ns, "t")
	r := w.resolver()
	query := projections.Query{Warehouse: wh.id, Namespace: []string{"ns"}, Name: "t"}
	w.resolve(r, query)

	backup := func(sql string) {
		t.Helper()
		super := w.db.Connect(t, pgtest.RoleSuper)
		if _, err := super.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	tables := []string{"es.stream", "rm.project", "rm.warehouse", "rm.namespace", "rm.tabular", "rm.location_claim"}
	var save, restore []string
	for i, name := range tables {
		save = append(save, fmt.Sprintf("CREATE TABLE backup_%d AS TABLE %s", i, name))
		restore = append(restore, fmt.Sprintf("DELETE FROM %s; INSERT INTO %s SELECT * FROM backup_%d", name, name, i))
	}
	backup("CREATE SCHEMA b; SET search_path = b; " + strings.Join(save, "; "))

	// The lost history: version 2 of the table and a new profile of the warehouse.
	before := *table
	w.must(commitStep(table, nil, nil))
	lost := *table
	doc, err := document.Pack([]byte("the lost document"))
	if err != nil {
		t.Fatal(err)
	}
	if err := document.Save(t.Context(), w.db.App, table.id, table.mark, &doc); err != nil {
		t.Fatal(err)
	}
	changed := testIDs.New()
	backup(fmt.Sprintf("UPDATE rm.warehouse SET storage_profile = '\"lost\"', stream_version = 2; UPDATE es.stream SET version = 2, mark = '%s' WHERE stream_id = '%s'", changed, wh.id))
	f := w.resolve(r, query)
	if f.Table.Version != 2 || f.Table.Mark != lost.mark || f.Table.Document == nil || string(f.Warehouse.StorageProfile) != `"lost"` || f.Warehouse.Version != 2 {
		t.Fatalf("before the restore: %+v %+v", f.Table, f.Warehouse)
	}

	backup("SET search_path = b; SET session_replication_role = replica; " + strings.Join(restore, "; "))
	query.Hint = lost.mark
	f = w.resolve(r, query)
	if f.Table.Version != 1 || f.Table.Mark != before.mark || !f.Table.Fresh || f.Table.Pointer != before.pointer || f.Table.Document != nil {
		t.Errorf("after the restore: %+v", f.Table)
	}
	if f.Warehouse.Version != 1 || f.Warehouse.Mark != wh.mark || string(f.Warehouse.StorageProfile) != `{"type":"file","root":"file:///srv/demo"}` {
		t.Errorf("the warehouse after the restore: %+v", f.Warehouse)
	}

	// Version 2 comes again, with another content: not under the lost mark.

	again := testIDs.New()
	backup(fmt.Sprintf("UPDATE es.stream SET version = 2, mark = '%s', pointer = 'file:///other' WHERE stream_id = '%s'", again, table.id))
	f = w.resolve(r, query)
	if f.Table.Version != 2 || f.Table.Mark != again || f.Table.Pointer != "file:///other" || f.Table.Document != nil {
		t.Errorf("version 2 of the other history: %+v", f.Table)
	}
}

func TestEachFactIsReadAfterItsCallArrived(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, project := w.bootstrap()
	wh := w.newWarehouse(project, "demo")
	ns := w.newNamespace(wh, "ns")
	r := w.resolver()
	tables := make([]*object, 4)
	for i := range tables {
		tables[i] = w.newTable(ns, fmt.Sprintf("t%d", i))
	}
	// Readers keep the resolver busy while writers check that every commit that
	// was acknowledged is seen by the next call.
	ctx, cancel := context.WithCancel(t.Context())
	var readers, writers sync.WaitGroup
	for range 8 {
		readers.Add(1)
		go func() {
			defer readers.Done()
			for ctx.Err() == nil {
				if _, err := r.Resolve(ctx, projections.Query{Warehouse: wh.id, Namespace: []string{"ns"}, Name: "t0"}); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		}()
	}
	for _, table := range tables {
		writers.Add(1)
		go func() {
			defer writers.Done()
			for range 50 {
				if err := w.try(commitStep(table, nil, nil)); err != nil {
					t.Error(err)
					return
				}
				facts, err := r.Resolve(t.Context(), projections.Query{Warehouse: wh.id, Namespace: []string{"ns"}, Name: table.name.Name})
				if err != nil || facts[0].Table.Version != table.version || facts[0].Table.Mark != table.mark {
					t.Errorf("after version %d: %+v, %v", table.version, facts, err)
					return
				}
			}
		}()
	}
	writers.Wait()
	cancel()
	readers.Wait()
}
