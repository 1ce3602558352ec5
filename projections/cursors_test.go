package projections_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/projections/projectionstest"
)

func destinationStep(name string, after int64) step {
	return step{on: &object{id: testIDs.New(), entity: catalog.EntityDestination}, event: &catalog.DestinationCreated{
		DestinationConfig: destinationConfig(name), Kind: "log", Start: catalog.DestinationStart{From: catalog.StartPosition, After: after, Epoch: min(after, 1)},
	}}
}

func destinationConfig(name string) catalog.DestinationConfig {
	return catalog.DestinationConfig{
		Name: name, Settings: json.RawMessage(`{"level":"info"}`), OnRefusal: catalog.OnRefusalHalt,
		Filter: catalog.DestinationFilter{Projects: []ids.ID{}, Warehouses: []ids.ID{}, Entities: []string{"table"}, Types: []string{}},
	}
}

func (w *world) exec(sql string, args ...any) {
	w.Helper()
	if _, err := w.db.App.Exec(w.Context(), sql, args...); err != nil {
		w.Fatal(err)
	}
}

// cursor is the operational row of a destination as text.
func (w *world) cursor(o *object) (text string) {
	w.Helper()
	err := w.db.App.QueryRow(w.Context(), `SELECT coalesce((SELECT concat_ws(' ', epoch, position, coalesce(lease_owner::text, '-'), failures,
		coalesce(halted_at, 0), retry_after IS NOT NULL, coalesce(last_error, '-'), published) FROM publish.destination WHERE destination_id = $1), '')`,
		[16]byte(o.id)).Scan(&text)
	if err != nil {
		w.Fatal(err)
	}
	return text
}

// A cursor comes, moves and goes with the decision about it: whoever holds a
// lease from before has lost it.
func TestCursorsMoveInTheCommitThatDecrees(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bootstrap()
	w.drain()
	created := destinationStep("Orders", 2)
	w.must(created)
	d := created.on
	same := func(when, want string) {
		t.Helper()
		if got := w.cursor(d); got != want {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	same("created", "1 2 - 0 0 f - 0")

	const owner = "018f3c1e-7b2a-7cde-8f01-0000000000aa"
	work := func() {
		w.exec(`UPDATE publish.destination SET position = 7, lease_owner = $1, lease_until = '2030-01-01Z', failures = 3,
			retry_after = '2030-01-01Z', last_error = 'refused', halted_at = 8, published = 5`, owner)
	}
	work()
	w.must(step{on: d, event: &catalog.DestinationPaused{Name: "Orders"}})
	same("paused", "1 7 "+owner+" 3 8 t refused 5")
	w.must(step{on: d, event: &catalog.DestinationResumed{Name: "Orders"}})
	same("resumed", "1 7 "+owner+" 0 0 f refused 5")
	work()
	w.must(step{on: d, event: &catalog.DestinationUpdated{From: "Orders", DestinationConfig: destinationConfig("orders 2")}})
	same("updated", "1 7 "+owner+" 0 0 f refused 5")
	work()
	w.must(step{on: d, event: &catalog.DestinationReplayed{Name: "orders 2", Start: catalog.DestinationStart{From: catalog.StartBeginning}}})
	same("replayed", "0 0 - 0 0 f - 5")

	// An event is skipped only where the destination halted, and parked.
	event := testIDs.New()
	skip := step{on: d, event: &catalog.DestinationSkipped{RefusedEvent: catalog.RefusedEvent{Name: "orders 2", Position: 8, Event: event}, Epoch: 1}}
	var conflict *eventstore.ConflictError
	if err := w.try(skip); !errors.As(err, &conflict) {
		t.Errorf("skipped what did not halt: %v", err)
	}
	work()
	w.must(skip)
	same("skipped", "1 8 "+owner+" 0 0 f - 5")
	details := projections.NewDetails(w.db.App)
	parked, err := details.Parked(t.Context(), d.id, 0, 10)
	if err != nil || len(parked) != 1 || parked[0].Position != 8 || parked[0].Event != event || parked[0].Retry || !parked[0].ParkedAt.Equal(testTime) {
		t.Errorf("parked %+v, %v", parked, err)
	}
	retry := func(position int64) error {
		return w.try(step{on: d, event: &catalog.DestinationRetried{RefusedEvent: catalog.RefusedEvent{Name: "orders 2", Position: position, Event: event}}})
	}
	if err := retry(9); !errors.As(err, &conflict) {
		t.Errorf("retried what is not parked: %v", err)
	}
	if err := retry(8); err != nil {
		t.Error(err)
	}
	if parked, err := details.Parked(t.Context(), d.id, 7, 10); err != nil || len(parked) != 1 || !parked[0].Retry {
		t.Errorf("parked %+v, %v", parked, err)
	}
	if parked, err := details.Parked(t.Context(), d.id, 8, 10); err != nil || len(parked) != 0 {
		t.Errorf("after it %+v, %v", parked, err)
	}

	w.must(step{on: d, close: true, event: &catalog.DestinationRemoved{Name: "orders 2"}})
	same("removed", "")
	if parked, err := details.Parked(t.Context(), d.id, 0, 10); err != nil || len(parked) != 0 {
		t.Errorf("left behind %+v, %v", parked, err)
	}
	if err := w.try(step{on: d, event: &catalog.DestinationPaused{Name: "orders 2"}}); err == nil {
		t.Error("a removed destination was paused")
	}
	projectionstest.RequireRebuildEqual(t, w.db.App)
}

func TestNamesOfDestinationsAreUniqueInAnyCase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bootstrap()
	one, two := destinationStep("Straße", 0), destinationStep("other", 0)
	w.must(one)
	w.must(two)
	var constraint *eventstore.ConstraintError
	if err := w.try(destinationStep("STRASSE", 0)); err == nil {
		t.Log("ß folds to itself, as in names of tables")
	}
	if err := w.try(destinationStep("STRAßE", 0)); !errors.As(err, &constraint) || constraint.Constraint != projections.DestinationNameKey {
		t.Errorf("created: %v", err)
	}
	if err := w.try(step{on: two.on, event: &catalog.DestinationUpdated{From: "other", DestinationConfig: destinationConfig("straße")}}); !errors.As(err, &constraint) || constraint.Constraint != projections.DestinationNameKey {
		t.Errorf("renamed: %v", err)
	}
	details := projections.NewDetails(w.db.App)
	if d, found, err := details.DestinationNamed(t.Context(), "sTRAße"); err != nil || !found || d.ID != one.on.id || d.Name != "Straße" || d.Version != 1 || d.Filter.Entities[0] != "table" {
		t.Errorf("by name: %+v, %v, %v", d, found, err)
	}
	projectionstest.RequireRebuildEqual(t, w.db.App)
}

// A cursor that is missing is made at the place decreed last; one that is there
// is left alone.
func TestMissingCursorsAreHealed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bootstrap()
	w.drain()
	one, two := destinationStep("one", 1), destinationStep("two", 2)
	w.must(one)
	w.must(two)
	w.must(step{on: two.on, event: &catalog.DestinationReplayed{Name: "two", Start: catalog.DestinationStart{From: catalog.StartPosition, After: 1, Epoch: 1}}})
	w.exec("UPDATE publish.destination SET position = 9 WHERE destination_id = $1", [16]byte(one.on.id))
	w.exec("DELETE FROM publish.destination WHERE destination_id = $1", [16]byte(two.on.id))
	details := projections.NewDetails(w.db.App)
	if d, found, err := details.Destination(t.Context(), two.on.id); err != nil || !found || d.Position != 1 || d.Epoch != 1 {
		t.Errorf("without a cursor: %+v, %v, %v", d, found, err)
	}
	for _, want := range []int64{1, 0} {
		var healed int64
		if err := w.db.App.QueryRow(t.Context(), "SELECT publish.heal()").Scan(&healed); err != nil || healed != want {
			t.Errorf("healed %d, %v, want %d", healed, err, want)
		}
	}
	if got := w.cursor(two.on); got != "1 1 - 0 0 f - 0" {
		t.Errorf("healed to %q", got)
	}
	if got := w.cursor(one.on); got != "1 9 - 0 0 f - 0" {
		t.Errorf("the other one is at %q", got)
	}
	// One that is replayed without a cursor gets one, too.
	w.exec("DELETE FROM publish.destination")
	w.must(step{on: one.on, event: &catalog.DestinationReplayed{Name: "one", Start: catalog.DestinationStart{From: catalog.StartBeginning}}})
	if got := w.cursor(one.on); got != "0 0 - 0 0 f - 0" {
		t.Errorf("replayed to %q", got)
	}
}
