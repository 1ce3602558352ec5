package workers

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
)

// forgotten is a table that was filled and unregistered: its files stay, which
// was promised, and its place is free.
func (w *world) forgotten(name string) (tb *table, files []string) {
	w.Helper()
	tb = w.table(name)
	w.fill(tb, 1, 0, "a.parquet", "b.parquet")
	w.put(tb, "data/loose.parquet", nil)
	if _, err := w.Commands.UnregisterTable(w.Context(), w.Call(), commands.UnregisterTable{Warehouse: w.Warehouse, Table: tb.at()}); err != nil {
		w.Fatal(err)
	}
	return tb, w.below(tb)
}

// at creates a table at a folder.
func (w *world) at(name, folder string) *table {
	w.Helper()
	made, err := w.Create("db", name, `,"location":"file://`+folder+`"`)
	if err != nil {
		w.Fatal(err)
	}
	return &table{Table: made, name: name, folder: folder}
}

func (w *world) update(tb *table, updates string) {
	w.Helper()
	made, err := w.Commit(tb.at(), `[]`, updates)
	if err != nil {
		w.Fatal(err)
	}
	tb.Table = made
}

// A purge clears a folder whole only if nothing lay there when it was claimed:
// what lies there else is of whoever had the place before.
func TestPurgeKeepsWhatLayThereBefore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		claim func(w *world, old *table) *table
		all   bool // the claims are all cleared
	}{
		"created at the same place": {func(w *world, old *table) *table { return w.at("t2", old.folder) }, false},
		"created around it":         {func(w *world, old *table) *table { return w.at("t2", filepath.Dir(old.folder)) }, false},
		"created within it":         {func(w *world, old *table) *table { return w.at("t2", filepath.Join(old.folder, "data")) }, false},
		"created in a new folder within it": {func(w *world, old *table) *table {
			return w.at("t2", filepath.Join(old.folder, "new"))
		}, true},
		"moved to the place": {func(w *world, old *table) *table {
			tb := w.at("t2", filepath.Join(w.Root, "first"))
			w.update(tb, `[{"action":"set-location","location":"`+old.location("")+`"}]`)
			tb.folder = old.folder
			return tb
		}, false},
		"metadata moved to the place": {func(w *world, old *table) *table {
			tb := w.at("t2", filepath.Join(w.Root, "first"))
			w.update(tb, `[{"action":"set-properties","updates":{"write.metadata.path":"`+old.location("data")+`"}}]`)
			return tb
		}, false},
		"created with its metadata at the place": {func(w *world, old *table) *table {
			made, err := w.Create("db", "t2", `,"properties":{"write.metadata.path":"`+old.location("metadata")+`"}`)
			if err != nil {
				t.Fatal(err)
			}
			return &table{Table: made, name: "t2", folder: strings.TrimPrefix(kit.Document(t, made.Document)["location"].(string), "file://")}
		}, false},
		"created by a commit at the place": {func(w *world, old *table) *table {
			made, err := w.Commit(kit.At("db", "t2"), `[{"type":"assert-create"}]`, `[{"action":"assign-uuid","uuid":"018f3c1e-7b2a-7cde-8f01-000000000004"},`+
				`{"action":"upgrade-format-version","format-version":2},{"action":"add-schema","schema":`+kit.Schema+`},{"action":"set-current-schema","schema-id":-1},`+
				`{"action":"add-spec","spec":{"spec-id":0,"fields":[]}},{"action":"set-default-spec","spec-id":-1},`+
				`{"action":"add-sort-order","sort-order":{"order-id":0,"fields":[]}},{"action":"set-default-sort-order","sort-order-id":-1},`+
				`{"action":"set-location","location":"`+old.location("")+`"}]`)
			if err != nil {
				t.Fatal(err)
			}
			return &table{Table: made, name: "t2", folder: old.folder}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, kit.Setup{})
			old, before := w.forgotten("t1")
			tb := c.claim(w, old)
			w.fill(tb, 7, 0, "own.parquet")
			w.dropPurge(tb)
			w.purgeAll()
			left := w.below(old)
			for _, file := range before {
				if !slices.Contains(left, file) {
					t.Errorf("%s, which was promised to stay, is gone", file)
				}
			}
			if slices.Contains(w.below(tb), "data/own.parquet") {
				t.Error("what the table reaches is left")
			}
			if got := w.event(catalog.TypeTablePurgeStarted)["everything"]; got != c.all {
				t.Errorf("everything is %v", got)
			}
		})
	}
}

// Of two places one may be the table's alone: that one is cleared.
func TestPurgeClearsTheClaimThatWasEmpty(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	old, before := w.forgotten("t1")
	tb := w.table("t2")
	w.update(tb, `[{"action":"set-properties","updates":{"write.metadata.path":"`+old.location("metadata")+`"}}]`)
	w.put(tb, "data/never-committed.parquet", nil)
	w.dropPurge(tb)
	w.purgeAll()
	if files := w.below(tb); len(files) != 0 {
		t.Errorf("left %v", files)
	}
	if files := w.below(old); !slices.Equal(files, before) {
		t.Errorf("of the other's files %v are left", files)
	}
}

func TestPurgeOfAViewKeepsWhatLayThereBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	old, before := w.forgotten("t1")
	request := json.RawMessage(`{"name":"v","location":"` + old.location("") + `","schema":` + kit.Schema + `,"properties":{},"view-version":{"version-id":1,"timestamp-ms":1,"schema-id":0,` +
		`"summary":{"engine-name":"test"},"default-namespace":["db"],"representations":[{"type":"sql","sql":"SELECT 1","dialect":"spark"}]}}`)
	if _, err := w.Commands.CreateView(t.Context(), w.Call(), commands.CreateView{Warehouse: w.Warehouse, Namespace: []string{"db"}, Request: request}); err != nil {
		t.Fatal(err)
	}
	drop := commands.DropView{Warehouse: w.Warehouse, View: kit.At("db", "v"), PurgeRequested: true}
	if err := w.Commands.DropView(t.Context(), w.Call(), drop); err != nil {
		t.Fatal(err)
	}
	w.purgeAll()
	if files := w.below(old); !slices.Equal(files, before) {
		t.Errorf("of the other's files %v are left", files)
	}
}

// What says whether the data stays is read once: a file that cannot be read any
// more, in the middle of a purge, stops the rest.
func TestAPurgeWhoseMetadataBreaksInBetweenStops(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{Damaged: true})
	tb := w.table("t")
	w.fill(tb, 1, 0, "a.parquet")
	w.dropPurge(tb)
	in := w.waiting()[0]
	if err := w.Commands.StartPurge(t.Context(), in, catalog.PurgeStarted{Everything: true}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(strings.TrimPrefix(tb.Pointer, "file://"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	before := w.below(tb)
	w.purgeAll()
	if files := w.below(tb); !slices.Equal(files, before) {
		t.Errorf("left %v of %v", files, before)
	}
}
