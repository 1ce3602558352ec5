package commands_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
	"github.com/icecore-catalog/icecore/queries"
)

func dropTree(k *kit.Kit, in commands.DropNamespace, levels ...string) error {
	in.Warehouse, in.Namespace, in.Recursive = k.Warehouse, levels, true
	return k.Commands.DropNamespace(k.Context(), k.Call(), in)
}

// viewRequest is a CreateViewRequest.
func viewRequest(name string) json.RawMessage {
	return json.RawMessage(`{"name":"` + name + `","schema":` + kit.Schema + `,"properties":{},"view-version":{"version-id":1,"timestamp-ms":1,"schema-id":0,` +
		`"summary":{"engine-name":"test"},"default-namespace":["a"],"representations":[{"type":"sql","sql":"SELECT 1","dialect":"spark"}]}}`)
}

func registerIn(k *kit.Kit, namespace, name, location string, overwrite bool) (commands.Table, error) {
	return k.Commands.RegisterTable(k.Context(), k.Call(), commands.RegisterTable{
		Warehouse: k.Warehouse, Namespace: []string{namespace}, Name: name, MetadataLocation: location, Overwrite: overwrite,
	})
}

// protect sets a flag behind the catalog's back, and puts it back at
// the end: the log knows nothing of it.
func protect(k *kit.Kit, table, column string, object any) {
	k.Helper()
	if _, err := k.DB.Owner.Exec(k.Context(), "UPDATE rm."+table+" SET protected = true WHERE "+column+" = $1", object); err != nil {
		k.Fatal(err)
	}
	k.Cleanup(func() {
		if _, err := k.DB.Owner.Exec(context.WithoutCancel(k.Context()), "UPDATE rm."+table+" SET protected = false"); err != nil {
			k.Error(err)
		}
	})
}

func namespaces(t *testing.T, k *kit.Kit) []string {
	t.Helper()
	list, err := k.Queries.ListNamespaces(t.Context(), authz.Anonymous, k.Warehouse, nil, queries.Page{})
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(list.Namespaces))
	for i, levels := range list.Namespaces {
		names[i] = strings.Join(levels, ".")
	}
	return names
}

func TestRecursiveDropEndsTheWholeTreeInOneCommit(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("a")
	k.Namespace("a", "b")
	k.Namespace("a", "b", "c")
	k.Namespace("a", "d")
	k.Namespace("ab")
	table := k.Table("a", "t")
	k.Table("ab", "t")
	if _, err := k.Commands.CreateTable(t.Context(), k.Call(), commands.CreateTable{
		Warehouse: k.Warehouse, Namespace: []string{"a", "b", "c"}, Request: kit.Request("deep", ""),
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Commands.CreateView(t.Context(), k.Call(), commands.CreateView{
		Warehouse: k.Warehouse, Namespace: []string{"a", "d"}, Request: viewRequest("v"),
	}); err != nil {
		t.Fatal(err)
	}
	wantError(t, dropNamespace(k, "a"), catalog.NamespaceNotEmpty, "Namespace a is not empty")
	before := len(k.Events())
	if err := dropTree(k, commands.DropNamespace{}, "A"); err != nil {
		t.Fatal(err)
	}
	if got := namespaces(t, k); !slices.Equal(got, []string{"ab"}) {
		t.Errorf("left: %v", got)
	}
	var commits int
	if err := k.Pool.QueryRow(t.Context(), "SELECT count(DISTINCT append_seq) FROM es.event WHERE commit_size = 7").Scan(&commits); err != nil {
		t.Fatal(err)
	}
	if got := k.Events()[before:]; commits != 1 || len(got) != 7 {
		t.Errorf("%d commits of 7 events; %v", commits, got)
	}
	if got := k.Events()[before:]; got[len(got)-1] != catalog.TypeNamespaceDropped || slices.Index(got, catalog.TypeNamespaceDropped) != 3 || !slices.Contains(got, catalog.TypeViewDropped) {
		t.Errorf("in the order %v", got)
	}
	wantError(t, dropTree(k, commands.DropNamespace{}, "a"), catalog.NoSuchNamespace, "Namespace does not exist: a")
	// No file is gone, and names and locations are free.
	if files := kit.Files(t, k.Root); len(files) != 4 {
		t.Errorf("files: %v", files)
	}
	k.Namespace("a")
	if _, err := registerIn(k, "a", "t", table.Pointer, false); err != nil {
		t.Errorf("register what was dropped: %v", err)
	}
}

func TestRecursiveDropOfAnEmptyNamespace(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("a")
	if err := dropTree(k, commands.DropNamespace{}, "a"); err != nil {
		t.Fatal(err)
	}
	wantError(t, dropTree(k, commands.DropNamespace{}, "a"), catalog.NoSuchNamespace, "")
	wantError(t, dropTree(k, commands.DropNamespace{}, ""), catalog.NoSuchNamespace, "")
}

func TestProtectionRefusesDropsWithoutForce(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	a := k.Namespace("a")
	b := k.Namespace("a", "b")
	table := k.Table("a", "t")
	named := "Namespace with name 'a' "

	protect(k, "tabular", "tabular_id", table.ID)
	wantError(t, drop(k, kit.At("a", "t")), catalog.TabularProtected, "Cannot delete protected tabular a.t without force flag")
	wantError(t, dropTree(k, commands.DropNamespace{}, "a"), catalog.ChildTabularProtected,
		named+"has protected child tables or views and force flag was not specified.")
	_, err := registerIn(k, "a", "t", table.Pointer, true)
	wantError(t, err, catalog.TabularProtected, "Cannot delete protected tabular a.t without force flag")
	// What does not end it is not refused (lakekeeper 2.3).
	if err := rename(k, kit.At("a", "t"), kit.At("a", "u")); err != nil {
		t.Errorf("rename: %v", err)
	}
	if _, err := k.Commit(kit.At("a", "u"), kit.Head(0), kit.Append(1, 0, 1)); err != nil {
		t.Errorf("commit: %v", err)
	}

	protect(k, "namespace", "namespace_id", b.ID)
	wantError(t, dropTree(k, commands.DropNamespace{}, "a"), catalog.ChildNamespaceProtected,
		named+"has protected child namespaces and force flag was not specified.")
	wantError(t, dropNamespace(k, "a", "b"), catalog.NamespaceProtected,
		"Namespace with name 'a.b' is protected and force flag not set. Cannot delete protected namespace.")
	protect(k, "namespace", "namespace_id", a.ID)
	wantError(t, dropTree(k, commands.DropNamespace{}, "a"), catalog.NamespaceProtected,
		named+"is protected and force flag not set. Cannot delete protected namespace.")
	// Force is no recursion.
	err = k.Commands.DropNamespace(t.Context(), k.Call(), commands.DropNamespace{Warehouse: k.Warehouse, Namespace: []string{"a"}, Force: true})
	wantError(t, err, catalog.NamespaceNotEmpty, "Namespace a is not empty")

	events := len(k.Events())
	if err := k.Commands.DropTable(t.Context(), k.Call(), commands.DropTable{Warehouse: k.Warehouse, Table: kit.At("a", "u"), Force: true}); err != nil {
		t.Fatal(err)
	}
	if err := dropTree(k, commands.DropNamespace{Force: true}, "a"); err != nil {
		t.Fatal(err)
	}
	if got := k.Events()[events:]; len(got) != 3 {
		t.Errorf("by force: %v", got)
	}
}

// A tree that is larger than a commit goes in several, and what is protected
// anywhere in it keeps it whole.
func TestTreesLargerThanACommitGoInPages(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("a")
	var last commands.Namespace
	var wg sync.WaitGroup
	const n = eventstore.MaxRecords + 20
	for w := range 8 {
		wg.Go(func() {
			for i := w; i < n; i += 8 {
				made := k.Namespace("a", fmt.Sprintf("n%04d", i))
				if i == n-1 {
					last = made
				}
			}
		})
	}
	wg.Wait()
	k.Table("a", "t")
	before := len(k.Events())
	protect(k, "namespace", "namespace_id", last.ID)
	wantError(t, dropTree(k, commands.DropNamespace{}, "a"), catalog.ChildNamespaceProtected, "")
	if got := k.Events(); len(got) != before {
		t.Errorf("a refused drop made %d events", len(got)-before)
	}
	key := k.IDs.New()
	in := commands.DropNamespace{Warehouse: k.Warehouse, Namespace: []string{"a"}, Recursive: true, Force: true}
	for range 2 {
		if err := k.Commands.DropNamespace(t.Context(), k.Keyed(key, 1), in); err != nil {
			t.Fatal(err)
		}
	}
	if got := k.Events()[before:]; len(got) != n+2 || got[len(got)-1] != catalog.TypeNamespaceDropped {
		t.Errorf("%d events, the last %s", len(got), got[len(got)-1])
	}
	if got := namespaces(t, k); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

// breakingLog is a log that is away from some commit of a drop on.
type breakingLog struct {
	eventstore.Log
	away  *atomic.Bool
	drops *atomic.Int32
}

func (l breakingLog) Append(ctx context.Context, c *eventstore.Commit) (eventstore.Receipt, error) {
	if c.Records[0].Type == catalog.TypeNamespaceDropped && l.drops.Add(1) > 1 && l.away.Load() {
		return eventstore.Receipt{}, &eventstore.BusyError{Cause: errors.New("away")}
	}
	return l.Log.Append(ctx, c)
}

// treeCounter counts the looks at a whole tree.
type treeCounter struct {
	commands.ClaimReader
	looks *atomic.Int32
}

func (c treeCounter) TreeProtected(ctx context.Context, warehouse, namespace ids.ID) (namespaces, tabulars bool, err error) {
	c.looks.Add(1)
	return c.ClaimReader.TreeProtected(ctx, warehouse, namespace)
}

// A drop in several commits that ends between them says so, for a clean refusal
// would mean that nothing happened; the same request, with the same key, carries
// on. The whole tree is asked for protection once in a request.
func TestADropThatEndsEarlySaysHowFarItCame(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	var drops, looks atomic.Int32
	k := kit.New(t, kit.Setup{Wrap: func(p *kit.Parts) {
		p.Commands.Log = breakingLog{p.Commands.Log, &away, &drops}
		p.Commands.Claims = treeCounter{p.Commands.Claims, &looks}
		p.Commands.Sleep = func(context.Context, time.Duration) error { return nil }
	}})
	k.Namespace("a")
	const n = 3*eventstore.MaxRecords + 5
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for i := w; i < n; i += 16 {
				k.Namespace("a", fmt.Sprintf("n%04d", i))
			}
		})
	}
	wg.Wait()
	in := commands.DropNamespace{Warehouse: k.Warehouse, Namespace: []string{"a"}, Recursive: true}
	key := k.IDs.New()
	away.Store(true)
	wantError(t, k.Commands.DropNamespace(t.Context(), k.Keyed(key, 1), in), catalog.CommitStateUnknown,
		"The drop ended early: 1000 objects of the tree are gone, the others are as they were; the same request carries on")
	if n := looks.Load(); n != 1 {
		t.Errorf("%d looks at the whole tree in two commits", n)
	}
	if got := namespaces(t, k); !slices.Equal(got, []string{"a"}) {
		t.Errorf("left: %v", got)
	}
	// Before the first commit nothing happened, and that is what is said.
	drops.Store(1)
	wantError(t, k.Commands.DropNamespace(t.Context(), k.Keyed(key, 1), in), catalog.Unavailable, "")
	away.Store(false)
	looks.Store(0)
	if err := k.Commands.DropNamespace(t.Context(), k.Keyed(key, 1), in); err != nil {
		t.Fatal(err)
	}
	if n := looks.Load(); n != 1 {
		t.Errorf("%d looks at the whole tree in three commits", n)
	}
	if got := namespaces(t, k); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

// Whatever is made in a tree while it is dropped: the drop takes it along, or it
// is refused; nothing stands in a namespace that is gone.
func TestRecursiveDropAndCreateBelowRace(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	other := kit.New(t, kit.Setup{Share: k})
	for i := range 15 {
		name := fmt.Sprintf("n%d", i)
		k.Namespace(name)
		k.Table(name, "first")
		var dropped, table, namespace, commit error
		var wg sync.WaitGroup
		wg.Go(func() { dropped = dropTree(k, commands.DropNamespace{}, name) })
		wg.Go(func() { _, table = other.Create(name, "t", "") })
		wg.Go(func() { namespace = createNamespace(other, nil, name, "sub") })
		wg.Go(func() { _, commit = other.Commit(kit.At(name, "first"), kit.Head(0), kit.Append(1, 0, 1)) })
		wg.Wait()
		if dropped != nil {
			t.Fatalf("drop: %v", dropped)
		}
		for _, err := range []error{table, namespace} {
			if err != nil {
				wantError(t, err, catalog.NoSuchNamespace, "")
			}
		}
		if commit != nil {
			wantError(t, commit, catalog.NoSuchTable, "")
		}
	}
	if got := namespaces(t, k); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}
