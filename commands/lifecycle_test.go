package commands_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/internal/ids"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
)

func dropPurge(k *kit.Kit, at commands.Identifier) error {
	return k.Commands.DropTable(k.Context(), k.Call(), commands.DropTable{Warehouse: k.Warehouse, Table: at, PurgeRequested: true})
}

// pending returns the purge of a dropped object that waits.
func pending(t *testing.T, k *kit.Kit, object ids.ID) (p commands.Purge, found bool) {
	t.Helper()
	rows, err := k.Pool.Query(t.Context(), "SELECT drop_event FROM rm.dropped WHERE object_id = $1 AND purge_requested", [16]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		found = true
		if err := rows.Scan((*[16]byte)(&p.Drop)); err != nil {
			t.Fatal(err)
		}
	}
	p.Warehouse, p.Object = k.Warehouse, object
	return p, found
}

func TestDroppedForPurgeHoldsItsPlaceAndNotItsName(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	table := k.Table("db", "t")
	if err := dropPurge(k, kit.At("db", "t")); err != nil {
		t.Fatal(err)
	}
	second := k.Table("db", "t")
	if second.ID == table.ID {
		t.Error("the name brought the table back")
	}
	location := kit.Document(t, table.Document)["location"].(string)
	for _, at := range []string{location, location + "/data", filepath.Dir(location[7:])} {
		_, err := k.Create("db", "u", `,"location":"`+at+`"`)
		wantError(t, err, catalog.BadRequest, "The location overlaps with the location of another object")
	}
	if _, found := pending(t, k, table.ID); !found {
		t.Error("nobody knows that it has to be purged")
	}
	// A namespace does not wait for its tables' files.
	if err := drop(k, kit.At("db", "t")); err != nil {
		t.Fatal(err)
	}
	if err := dropNamespace(k, "db"); err != nil {
		t.Error(err)
	}
	if _, found := pending(t, k, second.ID); found {
		t.Error("a drop without purge waits for one")
	}
}

func TestRegisteringAtTheLocationOfADroppedTableAdoptsIt(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	table := k.Table("db", "t")
	if err := dropPurge(k, kit.At("db", "t")); err != nil {
		t.Fatal(err)
	}
	purge, _ := pending(t, k, table.ID)
	events := len(k.Events())
	back, err := register(k, "back", table.Pointer, false)
	if err != nil {
		t.Fatal(err)
	}
	if got := k.Events()[events:]; !slices.Equal(got, []string{catalog.TypeTableSuperseded, catalog.TypeTableRegistered}) {
		t.Errorf("events %v", got)
	}
	if back.ID == table.ID {
		t.Error("the old life goes on")
	}
	// The purge that was asked for is over.
	if _, err := k.Commands.ResolvePurge(t.Context(), purge); err != commands.ErrPurgeOver { //nolint:errorlint // it is that very one
		t.Errorf("the purge stands at %v", err)
	}
	if err := k.Commands.StartPurge(t.Context(), purge, catalog.PurgeStarted{}); err != commands.ErrPurgeOver { //nolint:errorlint // as above
		t.Errorf("the purge starts: %v", err)
	}
	if files := kit.Files(t, k.Root); len(files) != 1 {
		t.Errorf("files %v", files)
	}
	// A living one is not adopted.
	_, err = register(k, "again", back.Pointer, false)
	wantError(t, err, catalog.AlreadyExists, "A table with the same UUID already exists in the warehouse")
	// With its own claims the overwrite stays at home.
	if _, err := register(k, "back", back.Pointer, true); err != nil {
		t.Errorf("over itself: %v", err)
	}
}

// After the first file may be gone, nothing brings a table back.
func TestAPurgeThatStartedIsNotAdopted(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	table := k.Table("db", "t")
	if err := dropPurge(k, kit.At("db", "t")); err != nil {
		t.Fatal(err)
	}
	purge, _ := pending(t, k, table.ID)
	for range 2 { // a job may run twice
		if err := k.Commands.StartPurge(t.Context(), purge, catalog.PurgeStarted{Everything: true}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := register(k, "back", table.Pointer, false)
	wantError(t, err, catalog.BadRequest, "The location overlaps with the location of another object")
	for range 2 {
		if err := k.Commands.FinishPurge(t.Context(), purge, catalog.Purged{Deleted: 1}); err != nil {
			t.Fatal(err)
		}
	}
	// The place is free.
	if _, err := register(k, "back", table.Pointer, false); err != nil {
		t.Errorf("after the purge: %v", err)
	}
	events := k.Events()
	if n := count(events, catalog.TypeTablePurgeStarted); n != 1 {
		t.Errorf("%d starts", n)
	}
	if n := count(events, catalog.TypeTablePurged); n != 1 {
		t.Errorf("%d ends", n)
	}
}

func count(list []string, what string) (n int) {
	for _, s := range list {
		if s == what {
			n++
		}
	}
	return n
}

// Adoption and the start of the purge race on the version of the dropped table:
// exactly one wins.
func TestAdoptionAndPurgeRace(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	other := kit.New(t, kit.Setup{Share: k})
	k.Namespace("db")
	for range 15 {
		table := k.Table("db", "t")
		if err := dropPurge(k, kit.At("db", "t")); err != nil {
			t.Fatal(err)
		}
		purge, _ := pending(t, k, table.ID)
		var adopted, started error
		var wg sync.WaitGroup
		wg.Go(func() { _, adopted = register(k, "t", table.Pointer, false) })
		wg.Go(func() { started = other.Commands.StartPurge(t.Context(), purge, catalog.PurgeStarted{}) })
		wg.Wait()
		if (adopted == nil) == (started == nil) {
			t.Fatalf("adopted: %v, started: %v", adopted, started)
		}
		if adopted == nil {
			if err := drop(k, kit.At("db", "t")); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// onlyCreate lets its actor make things and drop nothing.
type onlyCreate struct{}

func (onlyCreate) Decide(_ context.Context, _ authz.Actor, _ authz.Facts, action authz.Action) (authz.Decision, error) {
	may := !strings.HasSuffix(string(action), ".drop")
	return authz.Decision{Allow: may, Visible: true}, nil
}

func (onlyCreate) Filter(_ context.Context, _ authz.Actor, _ authz.Facts, _ string, children []ids.ID) ([]ids.ID, error) {
	return children, nil
}

// What the caller could not have dropped is not the caller's to take over, nor
// what lies in another warehouse, nor a folder around it.
func TestOnlyTheCallersOwnIsAdopted(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	mallory := kit.New(t, kit.Setup{Share: k, Authorizer: onlyCreate{}})
	k.Namespace("db")
	table := k.Table("db", "t")
	if err := dropPurge(k, kit.At("db", "t")); err != nil {
		t.Fatal(err)
	}
	taken := "The location overlaps with the location of another object"
	_, err := register(mallory, "t", table.Pointer, false)
	wantError(t, err, catalog.BadRequest, taken)

	around := forge(t, k, filepath.Join(k.Root, "forged"), func(doc map[string]any) {
		doc["location"] = "file://" + filepath.Dir(strings.TrimPrefix(kit.Document(t, table.Document)["location"].(string), "file://"))
	})
	_, err = register(k, "around", around, false)
	wantError(t, err, catalog.BadRequest, taken)
	if _, found := pending(t, k, table.ID); !found {
		t.Error("a refused registration ended the dropped table")
	}
	within := forge(t, k, filepath.Join(k.Root, "forged"), func(doc map[string]any) {
		doc["location"] = kit.Document(t, table.Document)["location"].(string) + "/inner"
	})
	if _, err := register(k, "within", within, false); err != nil {
		t.Errorf("below its own: %v", err)
	}
}

func TestUnregisterLosesNoCommit(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	other := kit.New(t, kit.Setup{Share: k})
	k.Namespace("db")
	for range 10 {
		k.Table("db", "t")
		var last, committed commands.Table
		var gone, lost error
		var wg sync.WaitGroup
		wg.Go(func() {
			last, gone = k.Commands.UnregisterTable(t.Context(), k.Call(), commands.UnregisterTable{Warehouse: k.Warehouse, Table: kit.At("db", "t")})
		})
		wg.Go(func() { committed, lost = other.Commit(kit.At("db", "t"), kit.Head(0), kit.Append(1, 0, 1)) })
		wg.Wait()
		if gone != nil {
			t.Fatal(gone)
		}
		if lost == nil && last.Pointer != committed.Pointer {
			t.Errorf("unregistered at %s, committed %s", last.Pointer, committed.Pointer)
		}
		if lost != nil {
			wantError(t, lost, catalog.NoSuchTable, "")
		}
		if back, err := register(k, "t", last.Pointer, false); err != nil || string(back.Document) != string(last.Document) {
			t.Fatalf("register again: %v", err)
		}
		if err := drop(k, kit.At("db", "t")); err != nil {
			t.Fatal(err)
		}
	}
}

// An overwrite keeps id, releases what the table claimed, and purges nothing.
func TestOverwriteKeepsTheIdAndFreesThePlace(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	table := k.Table("db", "t")
	before := kit.Files(t, k.Root)
	elsewhere := forge(t, k, filepath.Join(k.Root, "other"), func(doc map[string]any) {
		doc["location"] = "file://" + k.Root + "/other"
	})
	over, err := register(k, "t", elsewhere, true)
	if err != nil || over.ID != table.ID || over.Pointer != elsewhere {
		t.Fatalf("%+v, %v", over, err)
	}
	for _, file := range before {
		if !slices.Contains(kit.Files(t, k.Root), file) {
			t.Errorf("%s is gone", file)
		}
	}
	if _, err := register(k, "old", table.Pointer, false); err != nil {
		t.Errorf("the old place: %v", err)
	}
	mallory := kit.New(t, kit.Setup{Share: k, Authorizer: onlyCreate{}})
	_, err = register(mallory, "t", table.Pointer, true)
	wantError(t, err, catalog.Forbidden, "")
}
