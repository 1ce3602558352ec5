package commands_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
	"github.com/icecore-catalog/icecore/queries"
)

func TestATablesLife(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Namespace("db")
	created := k.Table("db", "Events")
	if created.Staged() || !strings.HasPrefix(created.Pointer, "file://"+k.Root+"/db/Events-") {
		t.Fatalf("created at %q", created.Pointer)
	}
	loaded, err := k.Load(kit.At("DB", "events"), queries.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if string(loaded.Document.Plain()) != string(created.Document) || loaded.ETag != created.ETag || loaded.Pointer != created.Pointer {
		t.Error("a load shows another state than the create")
	}
	committed, err := k.Commit(kit.At("db", "events"), kit.Head(0), kit.Append(1, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	if committed.Mark == created.Mark || committed.Pointer == created.Pointer || !strings.Contains(committed.Pointer, "/metadata/00001-") {
		t.Errorf("the commit moved %s to %s", created.Pointer, committed.Pointer)
	}
	if err := k.Commands.RenameTable(t.Context(), k.Call(), commands.RenameTable{
		Warehouse: k.Warehouse, Source: kit.At("db", "events"), Destination: kit.At("db", "facts"),
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Load(kit.At("db", "events"), queries.LoadOptions{}); catalog.KindOf(err) != catalog.NoSuchTable || err.Error() != "Table does not exist: db.events" {
		t.Errorf("the old name gives %v", err)
	}
	renamed, err := k.Load(kit.At("db", "facts"), queries.LoadOptions{})
	if err != nil || renamed.Pointer != committed.Pointer {
		t.Fatalf("the new name gives %+v, %v", renamed, err)
	}
	if err := k.Commands.DropTable(t.Context(), k.Call(), commands.DropTable{Warehouse: k.Warehouse, Table: kit.At("db", "facts")}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(strings.TrimPrefix(committed.Pointer, "file://")); err != nil {
		t.Errorf("the drop took the file: %v", err)
	}
	registered, err := k.Commands.RegisterTable(t.Context(), k.Call(), commands.RegisterTable{
		Warehouse: k.Warehouse, Namespace: []string{"db"}, Name: "again", MetadataLocation: committed.Pointer,
	})
	if err != nil {
		t.Fatal(err)
	}
	if registered.ID == created.ID {
		t.Error("the second life has the id of the first")
	}
	if _, err := k.Commit(kit.At("db", "again"), kit.Head(1), kit.Append(2, 1, 2)); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"dev.icecore.server.bootstrapped", "dev.icecore.project.created", "dev.icecore.warehouse.created",
		"dev.icecore.namespace.created", "dev.icecore.table.created", "dev.icecore.table.committed",
		"dev.icecore.table.renamed", "dev.icecore.table.dropped", "dev.icecore.table.registered", "dev.icecore.table.committed",
	}
	if got := k.Events(); !slices.Equal(got, want) {
		t.Errorf("events %v", got)
	}
	if n := len(kit.Files(t, filepath.Join(k.Root, "db"))); n != 3 {
		t.Errorf("%d files", n)
	}
}
