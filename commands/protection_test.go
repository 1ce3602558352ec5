package commands_test

import (
	"testing"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
)

// Protection moves the mark of a table and not its document: loads and commits
// go on from the same file, and verify folds the history as before.
func TestProtectionLeavesTheDocument(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	table := k.Table("db", "t")
	for _, on := range []bool{true, false, true} {
		got, err := k.Commands.SetProtection(t.Context(), k.Call(), commands.SetProtection{Warehouse: k.Warehouse, Kind: catalog.EntityTable, Object: table.ID, Protected: on})
		if err != nil || got.Protected != on || got.UpdatedAt.IsZero() {
			t.Fatalf("%v: %+v, %v", on, got, err)
		}
		shown, err := k.Queries.GetProtection(t.Context(), authz.Anonymous, k.Warehouse, catalog.EntityTable, table.ID)
		if err != nil || shown.Protected != on || !shown.UpdatedAt.Equal(got.UpdatedAt) {
			t.Errorf("set %+v, shown %+v, %v", got, shown, err)
		}
		loaded, err := k.Load(kit.At("db", "t"), loadAll)
		if err != nil || loaded.Pointer != table.Pointer || loaded.Mark == table.Mark {
			t.Errorf("loaded %s at %s, %v", loaded.Pointer, loaded.Mark, err)
		}
	}
	next, err := k.Commit(kit.At("db", "t"), "", setProperty)
	if err != nil || next.Pointer == table.Pointer {
		t.Errorf("%s, %v", next.Pointer, err)
	}
}

// A repeated request is no second event.
func TestProtectionIsRepeatable(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	table := k.Table("db", "t")
	key := k.IDs.New()
	in := commands.SetProtection{Warehouse: k.Warehouse, Kind: catalog.EntityTable, Object: table.ID, Protected: true}
	first, err := k.Commands.SetProtection(t.Context(), k.Keyed(key, 1), in)
	if err != nil {
		t.Fatal(err)
	}
	events := len(k.Events())
	again, err := k.Commands.SetProtection(t.Context(), k.Keyed(key, 1), in)
	if err != nil || again != first || len(k.Events()) != events {
		t.Errorf("%+v, then %+v, %v", first, again, err)
	}
}
