package commands_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/internal/ids"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/queries"
)

const week = 7 * 24 * time.Hour

// softKit is a catalog whose warehouse keeps what is dropped for a week.
func softKit(t *testing.T) *kit.Kit {
	t.Helper()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	keepFor(k, week)
	return k
}

func keepFor(k *kit.Kit, d time.Duration) {
	k.Helper()
	var seconds *int64
	if d >= 0 {
		n := int64(d / time.Second)
		seconds = &n
	}
	w, err := k.Commands.UpdateWarehouseDeleteProfile(k.Context(), k.Call(), commands.UpdateWarehouseDeleteProfile{Warehouse: k.Warehouse, ExpirationSeconds: seconds})
	if err != nil || (w.ExpirationSeconds == nil) != (seconds == nil) || seconds != nil && *w.ExpirationSeconds != *seconds {
		k.Fatalf("%+v, %v", w, err)
	}
}

func softDrop(k *kit.Kit, at commands.Identifier, purge bool) {
	k.Helper()
	if err := k.Commands.DropTable(k.Context(), k.Call(), commands.DropTable{Warehouse: k.Warehouse, Table: at, PurgeRequested: purge}); err != nil {
		k.Fatal(err)
	}
}

func undrop(k *kit.Kit, targets ...commands.UndropTarget) error {
	return k.Commands.Undrop(k.Context(), k.Call(), commands.Undrop{Warehouse: k.Warehouse, Targets: targets})
}

func tableTarget(id ids.ID) commands.UndropTarget {
	return commands.UndropTarget{Kind: catalog.EntityTable, Object: id}
}

func deleted(k *kit.Kit) []queries.Deleted {
	k.Helper()
	list, _, err := k.Queries.ListDeletedTabulars(k.Context(), authz.Anonymous, k.Warehouse, ids.Nil, queries.Page{})
	if err != nil {
		k.Fatal(err)
	}
	return list
}

func droppedTrees(k *kit.Kit) []queries.Deleted {
	k.Helper()
	list, _, err := k.Queries.ListDeletedNamespaces(k.Context(), authz.Anonymous, k.Warehouse, queries.Page{})
	if err != nil {
		k.Fatal(err)
	}
	return list
}

// drop is the event by which an object was dropped.
func dropOf(k *kit.Kit, object ids.ID) commands.Expiry {
	k.Helper()
	in := commands.Expiry{Warehouse: k.Warehouse, Object: object}
	err := k.Pool.QueryRow(k.Context(), `SELECT drop_event FROM rm.dropped WHERE object_id = $1
		UNION ALL SELECT drop_event FROM rm.dropped_namespace WHERE namespace_id = $1`, [16]byte(object)).Scan((*[16]byte)(&in.Drop))
	if err != nil {
		k.Fatal(err)
	}
	return in
}

func TestADroppedTableComesBackAsItWas(t *testing.T) {
	t.Parallel()
	k := softKit(t)
	made := k.Table("db", "t")
	softDrop(k, kit.At("db", "t"), true)

	_, err := k.Load(kit.At("db", "t"), loadAll)
	wantError(t, err, catalog.NoSuchTable, "Table does not exist: db.t")
	_, err = k.Commit(kit.At("db", "t"), "", setProperty)
	wantError(t, err, catalog.NoSuchTable, "Table does not exist: db.t")
	list := deleted(k)
	if len(list) != 1 || list[0].ID != made.ID || list[0].Name != "t" || !slices.Equal(list[0].Namespace, []string{"db"}) || !list[0].PurgeRequested ||
		!list[0].ExpiresAt.Equal(kit.Now.Add(week).Truncate(time.Millisecond)) || !list[0].DeletedAt.Equal(kit.Now) || !list[0].DropRoot.IsNil() {
		t.Fatalf("deleted %+v", list)
	}
	// What the warehouse says later changes nothing for what was dropped before.
	keepFor(k, time.Hour)
	if again := deleted(k); !again[0].ExpiresAt.Equal(list[0].ExpiresAt) {
		t.Errorf("expires at %s", again[0].ExpiresAt)
	}
	// Its name is free, its place is not.
	location := kit.Document(t, made.Document)["location"].(string)
	_, err = k.Create("db", "other", fmt.Sprintf(`,"location":%q`, location))
	wantError(t, err, catalog.BadRequest, "The location overlaps with the location of another object")
	k.Table("db", "T")
	wantError(t, undrop(k, tableTarget(made.ID)), catalog.AlreadyExists, "Table already exists: db.t")
	renamed := tableTarget(made.ID)
	renamed.Name = "back"
	if err := undrop(k, renamed); err != nil {
		t.Fatal(err)
	}
	got, err := k.Load(kit.At("db", "back"), loadAll)
	if err != nil || got.ID != made.ID || got.Pointer != made.Pointer || string(got.Document.Plain()) != string(made.Document) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := k.Commit(kit.At("db", "back"), "", setProperty); err != nil {
		t.Error(err)
	}
	wantError(t, undrop(k, tableTarget(made.ID)), catalog.NoSuchTable, "No dropped table that can come back has the id "+made.ID.String())
	if n := len(deleted(k)); n != 0 {
		t.Errorf("%d are still listed", n)
	}
}

// Force, an unregistration and a warehouse that says so drop for good.
func TestWhatDropsForGood(t *testing.T) {
	t.Parallel()
	k := softKit(t)
	for _, name := range []string{"forced", "unregistered", "hard"} {
		k.Table("db", name)
	}
	protected := k.Table("db", "protected")
	if _, err := k.Commands.SetProtection(t.Context(), k.Call(), commands.SetProtection{Warehouse: k.Warehouse, Kind: catalog.EntityTable, Object: protected.ID, Protected: true}); err != nil {
		t.Fatal(err)
	}
	drop := func(name string, force bool) error {
		return k.Commands.DropTable(t.Context(), k.Call(), commands.DropTable{Warehouse: k.Warehouse, Table: kit.At("db", name), Force: force})
	}
	if err := drop("forced", true); err != nil {
		t.Error(err)
	}
	if _, err := k.Commands.UnregisterTable(t.Context(), k.Call(), commands.UnregisterTable{Warehouse: k.Warehouse, Table: kit.At("db", "unregistered")}); err != nil {
		t.Error(err)
	}
	if err := drop("protected", false); catalog.KindOf(err) != catalog.TabularProtected {
		t.Error(err)
	}
	keepFor(k, -1)
	if err := drop("hard", false); err != nil {
		t.Error(err)
	}
	if list := deleted(k); len(list) != 0 {
		t.Errorf("%+v can come back", list)
	}
}

func TestAnExpiryActsWhenItsTimeHasComeAndOnItsOwnDrop(t *testing.T) {
	t.Parallel()
	k := softKit(t)
	kept, purged := k.Table("db", "kept"), k.Table("db", "purged")
	softDrop(k, kit.At("db", "kept"), false)
	softDrop(k, kit.At("db", "purged"), true)
	first := dropOf(k, kept.ID)
	var notYet *commands.NotYetError
	if err := k.Commands.Expire(t.Context(), first); !errors.As(err, &notYet) || notYet.Left <= week-time.Millisecond || notYet.Left > week {
		t.Errorf("before its time: %v", err)
	}
	// Undropped and dropped again: the old job is about nothing.
	if err := undrop(k, tableTarget(kept.ID)); err != nil {
		t.Fatal(err)
	}
	if err := k.Commands.Expire(t.Context(), first); !errors.Is(err, commands.ErrExpiryOver) {
		t.Errorf("of what lives: %v", err)
	}
	softDrop(k, kit.At("db", "kept"), false)
	k.Clock.Advance(week)
	if err := k.Commands.Expire(t.Context(), first); !errors.Is(err, commands.ErrExpiryOver) {
		t.Errorf("for an earlier drop: %v", err)
	}
	// What is overdue can come back as long as nobody has ended it.
	if err := undrop(k, tableTarget(kept.ID)); err != nil {
		t.Fatal(err)
	}
	softDrop(k, kit.At("db", "kept"), false)
	k.Clock.Advance(week)
	for _, in := range []commands.Expiry{dropOf(k, kept.ID), dropOf(k, purged.ID)} {
		if err := k.Commands.Expire(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		if err := k.Commands.Expire(t.Context(), in); !errors.Is(err, commands.ErrExpiryOver) {
			t.Errorf("twice: %v", err)
		}
	}
	for _, id := range []ids.ID{kept.ID, purged.ID} {
		wantError(t, undrop(k, tableTarget(id)), catalog.NoSuchTable, "No dropped table that can come back has the id "+id.String())
	}
	// The one's place is free, its file is there; the other's waits for its purge.
	if _, err := registerIn(k, "db", "again", kept.Pointer, false); err != nil {
		t.Error(err)
	}
	d, found, err := projections.NewClaims(k.Pool).Dropped(t.Context(), k.Warehouse, purged.ID)
	if err != nil || !found || d.Expires || !d.PurgeRequested || d.Purging || len(d.Claims) != 1 {
		t.Errorf("%+v, %v, %v", d, found, err)
	}
	if list := deleted(k); len(list) != 0 {
		t.Errorf("%+v can come back", list)
	}
}

func TestARegistrationAdoptsWhatCouldComeBack(t *testing.T) {
	t.Parallel()
	k := softKit(t)
	made := k.Table("db", "t")
	softDrop(k, kit.At("db", "t"), true)
	in := dropOf(k, made.ID)
	adopted, err := registerIn(k, "db", "t", made.Pointer, false)
	if err != nil || adopted.ID == made.ID {
		t.Fatalf("%+v, %v", adopted, err)
	}
	wantError(t, undrop(k, tableTarget(made.ID)), catalog.NoSuchTable, "No dropped table that can come back has the id "+made.ID.String())
	k.Clock.Advance(week)
	if err := k.Commands.Expire(t.Context(), in); !errors.Is(err, commands.ErrExpiryOver) {
		t.Error(err)
	}
	if events := k.Events(); !slices.Contains(events, catalog.TypeTableSuperseded) {
		t.Errorf("events %v", events)
	}
}

// tree is a namespace with one below it, two tables and a view.
func tree(k *kit.Kit) (root commands.Namespace, tables []ids.ID) {
	k.Helper()
	root = k.Namespace("a")
	k.Namespace("a", "b")
	tables = append(tables, k.Table("a", "t").ID)
	made, err := k.Commands.CreateTable(k.Context(), k.Call(), commands.CreateTable{Warehouse: k.Warehouse, Namespace: []string{"a", "b"}, Request: kit.Request("deep", "")})
	if err != nil {
		k.Fatal(err)
	}
	if _, err := k.Commands.CreateView(k.Context(), k.Call(), commands.CreateView{Warehouse: k.Warehouse, Namespace: []string{"a"}, Request: viewRequest("v")}); err != nil {
		k.Fatal(err)
	}
	return root, append(tables, made.ID)
}

func TestATreeIsDroppedByOneEventAndComesBackWhole(t *testing.T) {
	t.Parallel()
	k := softKit(t)
	root, tables := tree(k)
	alone := k.Table("a", "alone")
	softDrop(k, kit.At("a", "alone"), false)
	before := len(k.Events())
	wantError(t, dropNamespace(k, "a"), catalog.NamespaceNotEmpty, "Namespace a is not empty")
	if err := dropTree(k, commands.DropNamespace{PurgeRequested: true}, "a"); err != nil {
		t.Fatal(err)
	}
	if events := k.Events()[before:]; !slices.Equal(events, []string{catalog.TypeNamespaceDropped}) {
		t.Errorf("events %v", events)
	}
	if list := namespaces(t, k); !slices.Equal(list, []string{"db"}) {
		t.Errorf("namespaces %v", list)
	}
	trees := droppedTrees(k)
	if len(trees) != 1 || trees[0].ID != root.ID || trees[0].Namespaces != 2 || trees[0].Tables != 2 || trees[0].Views != 1 || !trees[0].PurgeRequested {
		t.Fatalf("trees %+v", trees)
	}
	if n := len(deleted(k)); n != 4 {
		t.Errorf("%d tables and views are listed", n)
	}
	// What stood in it, and what was dropped before, leads nowhere.
	for _, id := range []ids.ID{tables[0], alone.ID} {
		err := undrop(k, tableTarget(id))
		if catalog.KindOf(err) != catalog.NoSuchNamespace || !strings.Contains(err.Error(), "undrop that namespace") {
			t.Errorf("into a dropped namespace: %v", err)
		}
	}
	// But one of it may come back elsewhere.
	elsewhere := tableTarget(tables[1])
	elsewhere.Namespace, elsewhere.Elsewhere = []string{"db"}, true
	if err := undrop(k, elsewhere); err != nil {
		t.Fatal(err)
	}
	if got, err := k.Load(kit.At("db", "deep"), loadAll); err != nil || got.ID != tables[1] {
		t.Errorf("%+v, %v", got, err)
	}
	// The name is free meanwhile, and then the tree needs another one.
	k.Namespace("A")
	target := commands.UndropTarget{Kind: catalog.EntityNamespace, Object: root.ID}
	wantError(t, undrop(k, target), catalog.AlreadyExists, "Namespace already exists: a")
	target.Name, target.Namespace, target.Elsewhere = "back", []string{"db"}, true
	if err := undrop(k, target); err != nil {
		t.Fatal(err)
	}
	got, err := k.Queries.LoadTable(t.Context(), authz.Anonymous, k.Warehouse, queries.Identifier{Namespace: []string{"db", "back"}, Name: "t"}, loadAll)
	if err != nil || got.ID != tables[0] {
		t.Errorf("%+v, %v", got, err)
	}
	below, err := k.Queries.ListNamespaces(t.Context(), authz.Anonymous, k.Warehouse, []string{"db", "back"}, queries.Page{})
	if err != nil || len(below.Namespaces) != 1 || !slices.Equal(below.Namespaces[0], []string{"db", "back", "b"}) {
		t.Errorf("%+v, %v", below, err)
	}
	// What was dropped by itself goes back into it, by its id.
	if err := undrop(k, tableTarget(alone.ID)); err != nil {
		t.Error(err)
	}
	if n, m := len(deleted(k)), len(droppedTrees(k)); n != 0 || m != 0 {
		t.Errorf("%d and %d are left", n, m)
	}
}

func TestATreeExpiresWhole(t *testing.T) {
	t.Parallel()
	for _, purge := range []bool{false, true} {
		t.Run(fmt.Sprint("purge=", purge), func(t *testing.T) {
			t.Parallel()
			k := softKit(t)
			root, tables := tree(k)
			if err := dropTree(k, commands.DropNamespace{PurgeRequested: purge}, "a"); err != nil {
				t.Fatal(err)
			}
			in := dropOf(k, root.ID)
			member := in
			member.Object = tables[0]
			k.Clock.Advance(week)
			if err := k.Commands.Expire(t.Context(), member); !errors.Is(err, commands.ErrExpiryOver) {
				t.Errorf("a part of it: %v", err)
			}
			if err := k.Commands.Expire(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			if err := k.Commands.Expire(t.Context(), in); !errors.Is(err, commands.ErrExpiryOver) {
				t.Errorf("twice: %v", err)
			}
			err := undrop(k, commands.UndropTarget{Kind: catalog.EntityNamespace, Object: root.ID})
			wantError(t, err, catalog.NoSuchNamespace, "No dropped namespace that can come back has the id "+root.ID.String())
			wantError(t, undrop(k, tableTarget(tables[0])), catalog.NoSuchTable, "No dropped table that can come back has the id "+tables[0].String())
			var waiting, claims int
			if err := k.Pool.QueryRow(t.Context(), "SELECT (SELECT count(*) FROM rm.dropped WHERE purge_requested AND expires_at IS NULL), (SELECT count(*) FROM rm.location_claim)").Scan(&waiting, &claims); err != nil {
				t.Fatal(err)
			}
			if want := map[bool]int{true: 3}[purge]; waiting != want || claims != want {
				t.Errorf("%d wait for their purge, %d claims", waiting, claims)
			}
			for _, object := range tables {
				d, found, err := projections.NewClaims(k.Pool).Dropped(t.Context(), k.Warehouse, object)
				if err != nil || found != purge {
					t.Fatal(found, err)
				}
				if !purge {
					continue
				}
				job := commands.Purge{Warehouse: k.Warehouse, Object: object, Drop: d.DropEvent}
				if err := k.Commands.StartPurge(t.Context(), job, catalog.PurgeStarted{}); err != nil {
					t.Error(err)
				}
				if err := k.Commands.FinishPurge(t.Context(), job, catalog.Purged{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// A warehouse with something that can come back is not deleted; a hidden one gives
// nothing back and lists nothing, and expires all the same.
func TestTheWarehouseOfWhatCanComeBack(t *testing.T) {
	t.Parallel()
	k := softKit(t)
	root := k.Namespace("empty")
	if err := dropTree(k, commands.DropNamespace{}, "empty"); err != nil {
		t.Fatal(err)
	}
	made := k.Table("db", "t")
	softDrop(k, kit.At("db", "t"), false)
	wantError(t, dropNamespace(k, "db"), catalog.NamespaceNotEmpty, "Namespace db is not empty")
	if err := dropTree(k, commands.DropNamespace{Force: true}, "db"); err != nil {
		t.Fatal(err)
	}
	remove := func() error {
		return k.Commands.DeleteWarehouse(t.Context(), k.Call(), commands.DeleteWarehouse{Warehouse: k.Warehouse, Force: true})
	}
	if err := remove(); catalog.KindOf(err) != catalog.WarehouseBusy {
		t.Errorf("with a table that can come back: %v", err)
	}
	if _, err := k.Commands.SetWarehouseActive(t.Context(), k.Call(), commands.SetWarehouseActive{Warehouse: k.Warehouse}); err != nil {
		t.Fatal(err)
	}
	wantError(t, undrop(k, tableTarget(made.ID)), catalog.NoSuchWarehouse, "Warehouse does not exist")
	k.Clock.Advance(week)
	if err := k.Commands.Expire(t.Context(), dropOf(k, made.ID)); err != nil {
		t.Error(err)
	}
	if err := remove(); catalog.KindOf(err) != catalog.WarehouseBusy {
		t.Errorf("with a namespace that can come back: %v", err)
	}
	if err := k.Commands.Expire(t.Context(), dropOf(k, root.ID)); err != nil {
		t.Error(err)
	}
	if err := remove(); err != nil {
		t.Error(err)
	}
}

// All targets come back or none, and a repeated request is answered as before.
func TestUndropIsOneCommitAndRepeatable(t *testing.T) {
	t.Parallel()
	k := softKit(t)
	one, two := k.Table("db", "one"), k.Table("db", "two")
	softDrop(k, kit.At("db", "one"), false)
	softDrop(k, kit.At("db", "two"), false)
	same := tableTarget(two.ID)
	same.Name = "ONE"
	wantError(t, undrop(k, tableTarget(one.ID), same), catalog.AlreadyExists, "Table already exists: db.ONE")
	wantError(t, undrop(k, tableTarget(one.ID), tableTarget(one.ID)), catalog.BadRequest, "The target "+one.ID.String()+" occurs twice")
	wantError(t, undrop(k, commands.UndropTarget{Kind: catalog.EntityView, Object: one.ID}), catalog.NoSuchView, "No dropped view that can come back has the id "+one.ID.String())
	if n := len(deleted(k)); n != 2 {
		t.Fatalf("%d are left", n)
	}
	key := k.IDs.New()
	in := commands.Undrop{Warehouse: k.Warehouse, Targets: []commands.UndropTarget{tableTarget(one.ID), tableTarget(two.ID)}}
	for range 3 {
		if err := k.Commands.Undrop(t.Context(), k.Keyed(key, 1), in); err != nil {
			t.Fatal(err)
		}
	}
	events := k.Events()
	if n := len(events); !slices.Equal(events[n-2:], []string{catalog.TypeTableUndropped, catalog.TypeTableUndropped}) {
		t.Errorf("events %v", events)
	}
	if err := k.Commands.Undrop(t.Context(), k.Keyed(k.IDs.New(), 1), in); catalog.KindOf(err) != catalog.NoSuchTable {
		t.Errorf("another request: %v", err)
	}
}

// An undrop and an expiry of the same drop, on two instances: one of them wins, and
// what the log says is what the caller was told.
func TestAnUndropAndAnExpiryHaveOneWinner(t *testing.T) {
	t.Parallel()
	rounds := 40
	if os.Getenv("ICECORE_LONG") != "" {
		rounds = 1000
	}
	k := softKit(t)
	keepFor(k, 0)
	other := kit.New(t, kit.Setup{Share: k})
	undropped, expired := 0, 0
	for round := range rounds {
		name := fmt.Sprint("t", round)
		made := k.Table("db", name)
		softDrop(k, kit.At("db", name), round%2 == 0)
		in := dropOf(k, made.ID)
		var undropErr, expireErr error
		var both sync.WaitGroup
		both.Go(func() { undropErr = undrop(k, tableTarget(made.ID)) })
		both.Go(func() { expireErr = other.Commands.Expire(context.WithoutCancel(t.Context()), in) })
		both.Wait()
		_, err := k.Load(kit.At("db", name), loadAll)
		switch {
		case undropErr == nil && errors.Is(expireErr, commands.ErrExpiryOver) && err == nil:
			undropped++
		case expireErr == nil && catalog.KindOf(undropErr) == catalog.NoSuchTable && catalog.KindOf(err) == catalog.NoSuchTable:
			expired++
		default:
			t.Fatalf("round %d: undrop %v, expiry %v, load %v", round, undropErr, expireErr, err)
		}
	}
	t.Logf("%d undropped, %d expired", undropped, expired)
}
