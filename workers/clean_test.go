package workers

import (
	"maps"
	"testing"
	"time"

	kit "github.com/icecore-catalog/icecore/internal/servicetest"
)

// What fell out of the metadata log goes when the undo window is over, and not
// before; what the log still names stays.
func TestFormerStatesGoAfterTheUndoWindow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	tb := w.cleanedTable("t")
	states := []string{tb.Pointer}
	for _, v := range []string{"1", "2", "3", "4"} {
		w.pass(time.Hour)
		states = append(states, w.commit(tb, v))
	}
	w.pass(6 * day)
	w.clean(tb.ID, 7*day)
	requireThere(t, states, nil)

	w.pass(2 * day)
	w.clean(tb.ID, 7*day)
	requireThere(t, states[3:], states[:3])
	started, finished := w.event("dev.icecore.cleanup.started"), w.event("dev.icecore.cleanup.finished")
	if n := len(started["files"].([]any)); n != 3 {
		t.Errorf("the manifest has %d lines", n)
	}
	if finished["deleted"] != 3.0 || len(finished["kept"].([]any)) != 0 {
		t.Errorf("the end says %v", finished)
	}
	events := len(w.Events())
	w.clean(tb.ID, 7*day)
	if got := len(w.Events()); got != events {
		t.Errorf("a second look made %d events", got-events)
	}
	if got := w.commit(tb, "5"); !there(got) {
		t.Error("a commit after the clean-up failed")
	}
}

// An orphan goes, and only for the table that it was written for.
func TestOrphansGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	tb, other := w.table("t"), w.table("other")
	first := tb.Pointer
	second := w.commit(tb, "1")
	mine, foreign := w.orphan(tb, tb.ID), w.orphan(tb, other.ID)
	client := w.put(tb, "metadata/00009-"+w.IDs.New().String()+".metadata.json", []byte("{}"))
	hadoop := w.put(tb, "metadata/v3.metadata.json", []byte("{}"))
	manifest := w.put(tb, "metadata/00000-1-a1b2c3d4-m0.avro", []byte("x"))
	w.pass(23 * time.Hour)
	if plan := w.plan(tb.ID, 0); len(plan.Files) != 0 || !plan.Waiting {
		t.Errorf("young files would go: %v, waiting %v", plan.Files, plan.Waiting)
	}
	w.pass(2 * time.Hour)
	if got, want := reasons(w.plan(tb.ID, 0)), map[string]string{mine: "orphan"}; !maps.Equal(got, want) {
		t.Errorf("would go: %v", got)
	}
	w.clean(tb.ID, 0)
	requireThere(t, []string{first, second, foreign, client, hadoop, manifest}, []string{mine})
}
