package commands_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
)

func rename(k *kit.Kit, from, to commands.Identifier) error {
	return k.Commands.RenameTable(k.Context(), k.Call(), commands.RenameTable{Warehouse: k.Warehouse, Source: from, Destination: to})
}

func drop(k *kit.Kit, at commands.Identifier) error {
	return k.Commands.DropTable(k.Context(), k.Call(), commands.DropTable{Warehouse: k.Warehouse, Table: at})
}

func TestRename(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("a")
	k.Namespace("b")
	first := k.Table("a", "t")
	k.Table("a", "taken")
	wantError(t, rename(k, kit.At("a", "no"), kit.At("a", "u")), catalog.NoSuchTable, "Table does not exist: a.no")
	wantError(t, rename(k, kit.At("a", "t"), kit.At("non_existing", "u")), catalog.NoSuchNamespace, "Namespace does not exist: non_existing")
	wantError(t, rename(k, kit.At("a", "t"), kit.At("a", "TAKEN")), catalog.AlreadyExists, "Cannot rename a.t to a.TAKEN. Table already exists")
	wantError(t, rename(k, kit.At("a", "t"), kit.At("a", "")), catalog.BadRequest, "")
	events := len(k.Events())
	if err := rename(k, kit.At("a", "T"), kit.At("a", "t")); err != nil || len(k.Events()) != events {
		t.Errorf("to its own name: %v, %d events", err, len(k.Events())-events)
	}
	if err := rename(k, kit.At("a", "t"), kit.At("a", "T")); err != nil {
		t.Errorf("to another letter case: %v", err)
	}
	if err := rename(k, kit.At("a", "t"), kit.At("B", "u")); err != nil {
		t.Fatal(err)
	}
	moved, err := k.Load(kit.At("b", "u"), loadAll)
	if err != nil || moved.ID != first.ID || moved.Pointer != first.Pointer || moved.ETag != first.ETag {
		t.Errorf("moved to %+v, %v", moved, err)
	}
	// The old name is free, and what happens to its next owner is its own.
	second := k.Table("a", "t")
	if err := drop(k, kit.At("b", "u")); err != nil {
		t.Fatal(err)
	}
	if loaded, err := k.Load(kit.At("a", "t"), loadAll); err != nil || loaded.ID != second.ID {
		t.Errorf("the new table at the old name: %v", err)
	}
}

func TestRenamesOntoOneNameRace(t *testing.T) {
	t.Parallel()
	a := kit.New(t, kit.Setup{})
	b := kit.New(t, kit.Setup{Share: a})
	a.Namespace("db")
	const n = 6
	for i := range n {
		a.Table("db", fmt.Sprint("t", i))
	}
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		k := []*kit.Kit{a, b}[i%2]
		wg.Go(func() { errs[i] = rename(k, kit.At("db", fmt.Sprint("t", i)), kit.At("db", "goal")) })
	}
	wg.Wait()
	won := 0
	for i, err := range errs {
		if err == nil {
			won++
		} else {
			wantError(t, err, catalog.AlreadyExists, fmt.Sprintf("Cannot rename db.t%d to db.goal. Table already exists", i))
		}
	}
	if won != 1 {
		t.Errorf("%d tables have the name", won)
	}
}

func TestDropAndCommitRace(t *testing.T) {
	t.Parallel()
	a := kit.New(t, kit.Setup{})
	b := kit.New(t, kit.Setup{Share: a})
	a.Namespace("db")
	for i := range 10 {
		name := fmt.Sprint("t", i)
		a.Table("db", name)
		var dropped, committed error
		var wg sync.WaitGroup
		wg.Go(func() { dropped = drop(a, kit.At("db", name)) })
		wg.Go(func() { _, committed = b.Commit(kit.At("db", name), kit.Head(0), kit.Append(1, 0, 1)) })
		wg.Wait()
		if dropped != nil {
			t.Errorf("drop: %v", dropped)
		}
		if committed != nil {
			wantError(t, committed, catalog.NoSuchTable, "")
		}
		wantError(t, drop(a, kit.At("db", name)), catalog.NoSuchTable, "Table does not exist: db."+name)
	}
}

func TestCreatesOfOneNameRace(t *testing.T) {
	t.Parallel()
	a := kit.New(t, kit.Setup{})
	b := kit.New(t, kit.Setup{Share: a})
	a.Namespace("db")
	const n = 8
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		k := []*kit.Kit{a, b}[i%2]
		wg.Go(func() { _, errs[i] = k.Create("db", []string{"same", "SAME"}[i/2%2], "") })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else {
			wantError(t, err, catalog.AlreadyExists, "Table already exists: db.…")
		}
	}
	if won != 1 {
		t.Errorf("%d tables have the name", won)
	}
	if files := kit.Files(t, a.Root); len(files) != 1 {
		t.Errorf("losers left files: %v", files)
	}
}
