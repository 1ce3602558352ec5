package workers

import (
	"errors"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/internal/clock"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
)

// expire lets the leases run out, as time does by the database's clock.
func (w *world) expire() {
	w.Helper()
	if _, err := w.Pool.Exec(w.Context(), "UPDATE ops.purge_lease SET expires_at = clock_timestamp() - interval '1 second'"); err != nil {
		w.Fatal(err)
	}
}

func (w *world) leases() (n int) {
	w.Helper()
	if err := w.Pool.QueryRow(w.Context(), "SELECT count(*) FROM ops.purge_lease").Scan(&n); err != nil {
		w.Fatal(err)
	}
	return n
}

// again purges a table whole, beside a run that is held up, and makes another one
// at its place.
func (w *world) again(tb *table, in commands.Purge) *table {
	w.Helper()
	w.expire()
	if err := w.purger().purge(w.Context(), in, nil); err != nil {
		w.Fatal(err)
	}
	w.requireGone(tb)
	made, err := w.Create("db", "next", `,"location":"`+tb.location("")+`"`)
	if err != nil {
		w.Fatal(err)
	}
	next := &table{Table: made, name: "next", folder: tb.folder}
	w.fill(next, 9, 0, "next-1.parquet", "next-2.parquet")
	w.put(next, "data/next-3.parquet", nil)
	return next
}

// A run that was held up, from the moment it has looked around or from the
// middle of its deletions, deletes nothing of whoever has the place by then,
// whether its clocks went on meanwhile or stood still. (Where all clocks of a
// machine stand still with it, names have to differ, as engines see to.)
func TestALateRunOfAPurgeDeletesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		held   int // the deletion before which the run is held up; 0: before all of them
		frozen bool
	}{
		"before the first deletion":           {0, false},
		"before the first, clocks stood":      {1, true},
		"at what the metadata reaches":        {2, false},
		"at what it reaches, clocks stood":    {2, true},
		"among the rest":                      {6, false},
		"among the rest, clocks stood":        {6, true},
		"at the metadata file":                {15, false},
		"at the metadata file, clocks stood":  {15, true},
		"second but last, while clocks stood": {14, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, kit.Setup{})
			tb := w.table("t")
			w.fill(tb, 1, 0, "a.parquet", "b.parquet")
			for _, f := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"} {
				w.put(tb, "data/rest-"+f+".parquet", nil)
			}
			w.dropPurge(tb)
			in := w.waiting()[0]

			var next *table
			var before []string
			hold := func() {
				next = w.again(tb, in)
				before = w.below(next)
			}
			late := w.purger()
			now := clock.NewFake(time.Now())
			late.config.Clock = now
			steps := 0
			late.pace = newPace(countdown{clock.System{}, func() {
				if steps++; steps == c.held {
					hold()
					if !c.frozen {
						now.Advance(time.Minute)
					}
				}
			}}, 1_000_000)
			held, report, err := takeLease(t.Context(), &late.config, in)
			if err != nil || report != nil {
				t.Fatal(report, err)
			}
			run, err := late.begin(t.Context(), in, held)
			if err != nil {
				t.Fatal(err)
			}
			if err := late.config.Commands.StartPurge(t.Context(), in, catalog.PurgeStarted{Everything: true}); err != nil {
				t.Fatal(err)
			}
			if c.held == 0 {
				hold()
				now.Advance(time.Minute)
			}
			if err := run.delete(t.Context()); !errors.Is(err, errLost) {
				t.Errorf("the late run, after %d steps: %v", steps, err)
			}
			if err := held.settle(t.Context(), deletedReport{}); !errors.Is(err, errLost) {
				t.Errorf("it says that it is done: %v", err)
			}
			if next == nil {
				t.Fatalf("it was never held up: %d steps", steps)
			}
			if files := w.below(next); !slices.Equal(files, before) {
				t.Errorf("of the next table's files\n%v are left\n%v", before, files)
			}
			if err := late.purge(t.Context(), in, nil); err != nil {
				t.Errorf("it runs again: %v", err)
			}
			if files := w.below(next); !slices.Equal(files, before) {
				t.Errorf("after another run %v", files)
			}
			if n := w.leases(); n != 0 {
				t.Errorf("%d leases are left", n)
			}
		})
	}
}

// While one run may delete, another makes way, and does not say that all is done.
func TestARunMakesWayForTheOneThatDeletes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	tb := w.table("t")
	w.fill(tb, 1, 0, "a.parquet")
	w.dropPurge(tb)
	in := w.waiting()[0]
	p := w.purger()
	held, _, err := takeLease(t.Context(), &p.config, in)
	if err != nil {
		t.Fatal(err)
	}
	before := w.below(tb)
	if err := w.purger().purge(t.Context(), in, nil); !errors.Is(err, errLost) {
		t.Errorf("the other run: %v", err)
	}
	if files := w.below(tb); !slices.Equal(files, before) {
		t.Errorf("it deleted: %v of %v are left", files, before)
	}
	held.release(t.Context())
	w.purgeAll()
	w.requireGone(tb)
}

// A run that is killed when all is deleted and before the log says so leaves its
// report to the next, which deletes nothing: the place may be another's the
// moment that the first one's word arrives.
func TestAPurgeWhoseFilesAreGoneIsOnlyFinished(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	tb := w.table("t")
	w.fill(tb, 1, 0, "a.parquet")
	w.dropPurge(tb)
	in := w.waiting()[0]
	p := w.purger()
	held, _, err := takeLease(t.Context(), &p.config, in)
	if err != nil {
		t.Fatal(err)
	}
	if report, err := p.deleteAll(t.Context(), in, held); err != nil || report == nil {
		t.Fatal(report, err)
	}
	if err := os.MkdirAll(tb.folder, 0o755); err != nil {
		t.Fatal(err)
	}
	somebodys := w.put(tb, "data/somebodys.parquet", nil)
	w.expire()
	w.purgeAll()
	if files := w.below(tb); !slices.Equal(files, []string{"data/somebodys.parquet"}) {
		t.Errorf("%s is to be there: %v", somebodys, files)
	}
	if got := w.event(catalog.TypeTablePurged)["deleted"].(float64); got < 5 {
		t.Errorf("%v deleted, says the log", got)
	}
	if closed, dropped, claims := w.state(tb.ID); !closed || dropped != 0 || claims != 0 || w.leases() != 0 {
		t.Errorf("closed %v, %d dropped, %d claims, %d leases", closed, dropped, claims, w.leases())
	}
}

// The lease holds while both clocks say so: one stands still while a machine is
// suspended, the other can be set.
func TestALeaseHoldsByBothClocks(t *testing.T) {
	t.Parallel()
	var now atomic.Pointer[time.Time]
	set := func(at time.Time) { now.Store(&at) }
	start := time.Now()
	l := &lease{config: &Config{Clock: clockFunc(func() time.Time { return *now.Load() }), lease: 15 * time.Second}, asked: start}
	for name, c := range map[string]struct {
		at   time.Time
		want bool
	}{
		"at once":                  {start, true},
		"within its part":          {start.Add(900 * time.Millisecond), true},
		"after it":                 {start.Add(time.Second), false},
		"suspended":                {start.Round(0).Add(time.Hour), false},
		"the wall clock set back":  {start.Round(0).Add(-time.Second), false},
		"one that was never asked": {start.Add(-time.Second), false},
	} {
		set(c.at)
		if got := l.holds(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

type clockFunc func() time.Time

func (f clockFunc) Now() time.Time { return f() }

// What a killed run left behind is swept.
func TestLeasesOfWhatIsPurgedAreSwept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	one, two := w.table("one"), w.table("two")
	w.dropPurge(one)
	w.dropPurge(two)
	p := w.purger()
	for _, in := range w.waiting() {
		if _, _, err := takeLease(t.Context(), &p.config, in); err != nil {
			t.Fatal(err)
		}
	}
	w.expire()
	if err := w.purger().purge(t.Context(), w.waiting()[0], nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := takeLease(t.Context(), &p.config, w.waiting()[0]); err != nil { // too late, and killed
		t.Fatal(err)
	}
	if _, err := w.Pool.Exec(t.Context(), "UPDATE ops.purge_lease SET expires_at = expires_at - interval '2 hours'"); err != nil {
		t.Fatal(err)
	}
	if err := (&sweeper{pool: w.Pool}).Work(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if n := w.leases(); n != 1 {
		t.Errorf("%d leases, of one purge that waits", n)
	}
	w.purgeAll()
	w.requireGone(two)
}
