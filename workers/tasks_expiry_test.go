package workers

import (
	"slices"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/queries"
)

// An expiry that is called off gives the object its life back; one that is to run
// now ends it before its time, in the caller's name.
func TestExpiriesAreCalledOffAndRunEarly(t *testing.T) {
	t.Parallel()
	w := newTaskWorld(t)
	w.keepFor(3600)
	back, ends := w.table("back"), w.table("ends")
	for _, tb := range []*table{back, ends} {
		w.fill(tb, 1, 0, "a.parquet")
		w.dropPurge(tb)
	}
	w.Namespace("tree")
	w.Table("tree", "t")
	w.dropTree("tree", true)
	expiries := w.tasks(queries.TaskFilter{Queues: []string{"tabular_expiration"}}) // Lakekeeper's old name, newest first
	if len(expiries) != 3 || !slices.Equal(expiries[2].Name, []string{"db", "back"}) || expiries[2].Status != queries.TaskScheduled {
		t.Fatalf("%+v", expiries)
	}
	if err := w.control(commands.TaskCancel, time.Time{}, expiries[2].ID, expiries[0].ID); err != nil {
		t.Fatal(err)
	}
	for _, at := range []commands.Identifier{back.at(), {Namespace: []string{"tree"}, Name: "t"}} {
		if _, err := w.Load(at, loadAll); err != nil {
			t.Errorf("%v does not live: %v", at, err)
		}
	}
	if got := w.tasks(queries.TaskFilter{Statuses: []queries.TaskStatus{queries.TaskCancelled}}); len(got) != 2 {
		t.Errorf("%d are cancelled", len(got))
	}
	for range 2 { // the second time there is nothing to do
		if err := w.control(commands.TaskRunNow, time.Time{}, expiries[1].ID); err != nil {
			t.Fatal(err)
		}
		if n := w.count(catalog.TypeTableExpired); n != 1 {
			t.Errorf("expired is said %d times", n)
		}
	}
	defer w.run(w.config())()
	eventually(t, "the purge", func() bool { _, dropped, _ := w.state(ends.ID); return dropped == 0 })
	w.requireGone(ends)
	eventually(t, "the end of the expiry", func() bool {
		got, err := w.Queries.GetTask(t.Context(), w.Call().Actor, w.Warehouse, expiries[1].Warehouse, expiries[1].ID)
		return err == nil && got.Status == queries.TaskSuccess
	})
}
