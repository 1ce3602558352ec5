package workers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
	"github.com/icecore-catalog/icecore/storage"
)

func (w *world) register(tb *table, location string) error {
	_, err := w.Commands.RegisterTable(w.Context(), w.Call(), commands.RegisterTable{
		Warehouse: w.Warehouse, Namespace: []string{"db"}, Name: tb.name, MetadataLocation: location, Overwrite: true,
	})
	return err
}

// Each reason for which a file stays.
func TestWhatKeepsAMetadataFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		window time.Duration
		act    func(*world, *table)
		gone   int // of the five states 0 to 4
	}{
		"nothing keeps three":                  {0, func(*world, *table) {}, 3},
		"the undo window of the server":        {400 * day, func(*world, *table) {}, 0},
		"the undo window of the warehouse":     {0, func(w *world, _ *table) { w.undoWindow(400 * day) }, 0},
		"a shorter one of the warehouse":       {400 * day, func(w *world, _ *table) { w.undoWindow(0) }, 3},
		"the table keeps former states again":  {0, func(w *world, tb *table) { w.property(tb, "false") }, 0},
		"it let go of them only a moment ago":  {400 * day, func(w *world, tb *table) { w.property(tb, "false"); w.property(tb, "true") }, 0},
		"a soft end: the object does not live": {0, func(w *world, tb *table) { w.dropPurge(tb) }, 0},
		"a restore": {7 * day, func(w *world, _ *table) {
			if _, err := w.DB.Owner.Exec(w.Context(), `INSERT INTO es.epoch (epoch, previous_size, previous_root, system_identifier, timeline, opened_at)
				VALUES (99, 1, '', 1, 'x', $1)`, w.Clock.Now().Add(-day)); err != nil {
				w.Fatal(err)
			}
		}, 0},
		"what was registered claims anew, and what lay there stays": {0, func(w *world, tb *table) {
			w.orphan(tb, tb.ID) // has no part in it
			if err := w.register(tb, tb.Pointer); err != nil {
				w.Fatal(err)
			}
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, kit.Setup{})
			tb := w.cleanedTable("t")
			states := []string{tb.Pointer}
			for i := range 4 {
				w.pass(time.Hour)
				states = append(states, w.commit(tb, fmt.Sprint(i)))
			}
			w.pass(30 * day)
			c.act(w, tb)
			w.stamp()
			w.clean(tb.ID, c.window)
			requireThere(t, states[c.gone:], states[:c.gone])
		})
	}
}

func (w *world) undoWindow(d time.Duration) {
	w.Helper()
	seconds := int64(d / time.Second)
	if _, err := w.Commands.SetUndoWindow(w.Context(), w.Call(), commands.SetUndoWindow{Warehouse: w.Warehouse, Seconds: &seconds}); err != nil {
		w.Fatal(err)
	}
}

func (w *world) property(tb *table, value string) {
	w.Helper()
	made, err := w.Commit(tb.at(), "[]", fmt.Sprintf(`[{"action":"set-properties","updates":{"write.metadata.delete-after-commit.enabled":%q}}]`, value))
	if err != nil {
		w.Fatal(err)
	}
	tb.Table = made
}

// A transaction that fails has deleted nothing, and nothing goes afterwards that the
// first table needs.
func TestAFailedTransactionCostsNoFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	a, b := w.cleanedTable("a"), w.table("b")
	for i := range 3 {
		w.commit(a, fmt.Sprint(i))
	}
	w.pass(2 * day)
	needed := []string{a.Pointer}
	for _, e := range kit.Document(w, a.Document)["metadata-log"].([]any) {
		needed = append(needed, e.(map[string]any)["metadata-file"].(string))
	}
	files := w.left()
	err := w.Commands.CommitTransaction(w.Context(), w.Call(), commands.CommitTransaction{Warehouse: w.Warehouse, Changes: []commands.CommitTable{
		w.Change(a.at(), "[]", `[{"action":"set-properties","updates":{"lost":"1"}}]`),
		w.Change(b.at(), `[{"type":"assert-table-uuid","uuid":"0190a000-0000-7000-8000-0000000000ff"}]`, `[{"action":"set-properties","updates":{"lost":"1"}}]`),
	}})
	if catalog.KindOf(err) != catalog.CommitFailed {
		t.Fatal(err)
	}
	if got := w.left(); strings.Join(got, " ") != strings.Join(files, " ") {
		t.Errorf("the transaction left %v of %v", got, files)
	}
	w.clean(a.ID, 0)
	requireThere(t, needed, nil)
}

// A rollback to a former state and its clean-up have one winner: the file is
// registered and there, or the registration was refused.
func TestARegistrationAndACleanUpHaveOneWinner(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	for round := range 12 {
		tb := w.cleanedTable(fmt.Sprint("t", round))
		old := tb.Pointer
		w.commit(tb, "1")
		w.commit(tb, "2")
		w.pass(2 * day)
		var wait sync.WaitGroup
		var refused error
		wait.Go(func() { refused = w.register(tb, old) })
		wait.Go(func() {
			cleaner := w.cleaner(0)
			cleaner.config.rest = restTime
			err := cleaner.object(w.Context(), w.Warehouse, dueObject{object: tb.ID})
			if err != nil && catalog.KindOf(err) != catalog.Unavailable && catalog.KindOf(err) != catalog.CommitFailed {
				t.Error(err)
			}
		})
		done := make(chan struct{})
		go func() { wait.Wait(); close(done) }()
		q := w.Store.Sequencer()
		for running := true; running; {
			select {
			case <-done:
				running = false
			default:
				_, _ = q.RunOnce(w.Context())
			}
		}
		q.Close()
		w.Sequence()
		if refused == nil && !there(old) {
			t.Fatalf("round %d: the registered file was deleted", round)
		}
	}
}

// While a clean-up is under way none of its files can be registered; what a killed
// run left is finished by the next.
func TestACleanUpIsFinishedByTheNextRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	tb := w.cleanedTable("t")
	old := tb.Pointer
	w.commit(tb, "1")
	w.commit(tb, "2")
	w.pass(2 * day)
	_, started, err := w.Commands.StartCleanUp(w.Context(), commands.CleanUp{Warehouse: w.Warehouse, Object: tb.ID})
	if err != nil || started == nil || len(started.Files) != 1 {
		t.Fatalf("%+v, %v", started, err)
	}
	if err := w.register(tb, old); catalog.KindOf(err) != catalog.Unavailable {
		t.Errorf("a file that is being deleted was registered: %v", err)
	}
	w.Sequence()
	if err := w.cleaner(0).warehouse(w.Context(), w.Warehouse); err != nil {
		t.Fatal(err)
	}
	requireThere(t, []string{tb.Pointer}, []string{old})
	if err := w.register(tb, old); err == nil {
		t.Error("a deleted file was registered")
	}
	var open int
	if err := w.Pool.QueryRow(w.Context(), "SELECT count(*) FROM rm.clean_up").Scan(&open); err != nil || open != 0 {
		t.Errorf("%d clean-ups are open, %v", open, err)
	}
	w.Sequence()
	if err := w.cleaner(0).delete(w.Context(), w.Warehouse, started); err != nil {
		t.Errorf("a run that comes late: %v", err)
	}
}

// A table that was dropped, or a file that was changed, before the deletion stays.
func TestWhatChangedSinceTheManifestStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	for name, act := range map[string]func(*table, string){
		"dropped": func(tb *table, _ string) {
			if _, err := w.Commands.UnregisterTable(w.Context(), w.Call(), commands.UnregisterTable{Warehouse: w.Warehouse, Table: tb.at()}); err != nil {
				t.Fatal(err)
			}
		},
		"changed": func(_ *table, file string) {
			if err := os.WriteFile(strings.TrimPrefix(file, "file://"), []byte("other"), 0o644); err != nil {
				t.Fatal(err)
			}
		},
	} {
		tb := w.table(name)
		file := w.orphan(tb, tb.ID)
		w.pass(2 * day)
		w.Sequence()
		_, started, err := w.Commands.StartCleanUp(w.Context(), commands.CleanUp{Warehouse: w.Warehouse, Object: tb.ID})
		if err != nil || started == nil {
			t.Fatalf("%s: %+v, %v", name, started, err)
		}
		act(tb, file)
		w.Sequence()
		if err := w.cleaner(0).warehouse(w.Context(), w.Warehouse); err != nil {
			t.Fatal(err)
		}
		requireThere(t, []string{file}, nil)
		if kept := w.event("dev.icecore.cleanup.finished")["kept"].([]any); len(kept) != 1 || kept[0] != file {
			t.Errorf("%s: kept are %v", name, kept)
		}
	}
}

// Files that lost races really leave behind, where deletions fail, are orphans.
func TestLosersOfRacesAreCleanedUp(t *testing.T) {
	t.Parallel()
	broken := errors.New("the store does not delete")
	var stuck *stuckStores
	w := newWorld(t, kit.Setup{Opener: func(s *storage.Stores) kit.Opener {
		stuck = &stuckStores{Opener: s, err: broken}
		return stuck
	}})
	tb := w.table("t")
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			_, err := w.Commit(tb.at(), kit.Head(0), kit.Append(int64(i+1), 0, 1))
			if err != nil && catalog.KindOf(err) != catalog.CommitFailed {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	stuck.heal()
	lost := w.orphan(tb, tb.ID) // and that of a process that was killed
	w.pass(2 * day)
	plan := w.plan(tb.ID, 0)
	if got := reasons(plan); got[lost] != catalog.CleanedOrphan {
		t.Errorf("would go: %v", got)
	}
	w.clean(tb.ID, 0)
	if got := reasons(w.plan(tb.ID, 0)); !maps.Equal(got, map[string]string{}) {
		t.Errorf("still to go: %v", got)
	}
	if _, err := w.Commit(tb.at(), "[]", `[{"action":"set-properties","updates":{"k":"v"}}]`); err != nil {
		t.Error(err)
	}
}

// stuckStores opens stores in which nothing can be deleted until they heal.
type stuckStores struct {
	kit.Opener
	mu  sync.Mutex
	err error
}

func (s *stuckStores) heal() { s.mu.Lock(); s.err = nil; s.mu.Unlock() }

func (s *stuckStores) Open(ctx context.Context, p storage.Profile) (storage.Store, error) {
	store, err := s.Opener.Open(ctx, p)
	return stuckStore{store, s}, err
}

type stuckStore struct {
	storage.Store
	of *stuckStores
}

func (s stuckStore) Scoped(claims []storage.Key) storage.Objects {
	return stuckObjects{s.Store.Scoped(claims), s.of}
}

type stuckObjects struct {
	storage.Objects
	of *stuckStores
}

func (o stuckObjects) Delete(ctx context.Context, location string) error {
	o.of.mu.Lock()
	err := o.of.err
	o.of.mu.Unlock()
	if err != nil {
		return err
	}
	return o.Objects.Delete(ctx, location)
}

// Whatever happens to a table, no clean-up deletes what one of its states within the
// undo window, or now, needs.
func TestNoCleanUpDeletesALiveFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	n, most := 0, 4
	if os.Getenv("ICECORE_LONG") != "" {
		most = 60
	}
	rapid.Check(t, func(r *rapid.T) {
		if n++; n > most {
			return // a history costs a second
		}
		tb := w.cleanedTable(fmt.Sprint("t", n))
		const window = 3 * day
		type state struct {
			at    time.Time // until when it was the state, zero for now
			files []string
		}
		var states []state
		note := func(doc []byte, pointer string) {
			if len(states) > 0 {
				states[len(states)-1].at = w.Clock.Now()
			}
			s := state{files: []string{pointer}}
			log, _ := kit.Document(w, doc)["metadata-log"].([]any)
			for _, e := range log {
				s.files = append(s.files, e.(map[string]any)["metadata-file"].(string))
			}
			states = append(states, s)
		}
		note(tb.Document, tb.Pointer)
		for i := range rapid.IntRange(3, 10).Draw(r, "steps") {
			switch rapid.IntRange(0, 5).Draw(r, "step") {
			case 0, 1:
				w.commit(tb, fmt.Sprint(i))
				note(tb.Document, tb.Pointer)
			case 2:
				w.property(tb, rapid.SampledFrom([]string{"true", "false"}).Draw(r, "lets go"))
				note(tb.Document, tb.Pointer)
			case 3:
				back := rapid.SampledFrom(states).Draw(r, "back").files[0]
				made, err := w.Commands.RegisterTable(w.Context(), w.Call(), commands.RegisterTable{
					Warehouse: w.Warehouse, Namespace: []string{"db"}, Name: tb.name, MetadataLocation: back, Overwrite: true,
				})
				if (err == nil) != there(back) {
					r.Fatalf("registered %s: %v", back, err)
				}
				if err == nil {
					tb.Table = made
					note(made.Document, made.Pointer)
				}
			case 4:
				w.orphan(tb, tb.ID)
			case 5:
				w.pass(time.Duration(rapid.IntRange(1, 60).Draw(r, "hours")) * time.Hour)
			}
			w.stamp()
			before := map[string]bool{}
			for _, s := range states {
				for _, f := range s.files {
					before[f] = there(f)
				}
			}
			w.clean(tb.ID, window)
			for _, s := range states {
				if s.at.IsZero() || !s.at.Before(w.Clock.Now().Add(-window)) {
					for _, f := range s.files {
						if before[f] && !there(f) {
							r.Fatalf("%s was deleted, which the state until %v needs", f, s.at)
						}
					}
				}
			}
		}
	})
}
