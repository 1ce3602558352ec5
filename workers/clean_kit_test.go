package workers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/internal/ids"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
)

const day = 24 * time.Hour

// cleaner is the worker without its client.
func (w *world) cleaner(window time.Duration) *cleaner {
	c := w.config()
	c.UndoWindow = window
	c.defaults()
	return &cleaner{config: c, pace: newPace(c.Clock, c.PurgeRate)}
}

// clean runs a clean-up of one table.
func (w *world) clean(object ids.ID, window time.Duration) {
	w.Helper()
	w.Sequence()
	if err := w.cleaner(window).object(w.Context(), w.Warehouse, dueObject{object: object}); err != nil {
		w.Fatal(err)
	}
	w.Sequence()
}

// plan looks for what a clean-up would delete.
func (w *world) plan(object ids.ID, window time.Duration) commands.CleanUpPlan {
	w.Helper()
	w.Sequence()
	plan, err := w.Commands.PlanCleanUp(w.Context(), commands.CleanUp{Warehouse: w.Warehouse, Object: object, UndoWindow: window})
	if err != nil {
		w.Fatal(err)
	}
	return plan
}

// pass lets time go by: what is in the store now was written at the time before.
func (w *world) pass(d time.Duration) {
	w.Helper()
	w.Sequence()
	w.stamp()
	w.Clock.Advance(d)
}

// stamp gives files that were written by the machine's clock the time of the kit's.
func (w *world) stamp() {
	w.Helper()
	now := w.Clock.Now()
	for _, file := range kit.Files(w, w.Root) {
		path := filepath.Join(w.Root, file)
		info, err := os.Stat(path)
		if err == nil && info.ModTime().After(now) {
			err = os.Chtimes(path, now, now)
		}
		if err != nil {
			w.Fatal(err)
		}
	}
}

// cleanedTable is a table that lets go of former states and keeps one in its log.
func (w *world) cleanedTable(name string) *table {
	w.Helper()
	made, err := w.Create("db", name, `,"properties":{"write.metadata.delete-after-commit.enabled":"true","write.metadata.previous-versions-max":"1"}`)
	if err != nil {
		w.Fatal(err)
	}
	location := kit.Document(w, made.Document)["location"].(string)
	return &table{Table: made, name: name, folder: strings.TrimPrefix(location, "file://")}
}

// commit sets a property and returns the location of the state that it makes.
func (w *world) commit(tb *table, value string) string {
	w.Helper()
	made, err := w.Commit(tb.at(), "[]", fmt.Sprintf(`[{"action":"set-properties","updates":{"k":%q}}]`, value))
	if err != nil {
		w.Fatal(err)
	}
	tb.Table = made
	return made.Pointer
}

// orphan writes a file such as a lost commit of an object leaves behind.
func (w *world) orphan(tb *table, object ids.ID) string {
	w.Helper()
	id := catalog.FileID(w.Store.LogID(), object, w.IDs.New())
	return w.put(tb, "metadata/00007-"+id.String()+".metadata.json", []byte(`{}`))
}

func there(location string) bool {
	_, err := os.Stat(strings.TrimPrefix(location, "file://"))
	return err == nil
}

// requireThere fails for files that are gone, and for files that are not.
func requireThere(t testing.TB, kept, gone []string) {
	t.Helper()
	for _, f := range kept {
		if !there(f) {
			t.Errorf("%s is gone", f)
		}
	}
	for _, f := range gone {
		if there(f) {
			t.Errorf("%s is still there", f)
		}
	}
}

func reasons(plan commands.CleanUpPlan) map[string]string {
	list := map[string]string{}
	for _, f := range plan.Files {
		list[f.Location] = f.Reason
	}
	return list
}
