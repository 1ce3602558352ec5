package workers

import (
	"context"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"github.com/icecore-catalog/icecore/internal/clock"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
)

// What is due is found by the sweep, cleaned up by one job of its warehouse, and not
// due again at once.
func TestTheSweepFindsWhatIsDue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	tb := w.table("t")
	orphan := w.orphan(tb, tb.ID)
	w.pass(2 * day)
	w.Sequence()
	c := w.config()
	c.Clock = clock.NewFake(time.Now().Add(2 * day)) // ids are made by the machine's clock
	c.defaults()
	sweep := func() (jobs int) {
		t.Helper()
		if err := (&cleanSweeper{config: c}).Work(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if err := w.Pool.QueryRow(t.Context(), "SELECT count(*) FROM river.river_job WHERE kind = 'clean_metadata'").Scan(&jobs); err != nil {
			t.Fatal(err)
		}
		return jobs
	}
	if n := sweep() + sweep(); n != 2 {
		t.Fatalf("%d jobs after two sweeps", n)
	}
	worker := &cleaner{config: c, pace: newPace(clock.System{}, 1000)}
	if err := worker.Work(t.Context(), &river.Job[CleanArgs]{Args: CleanArgs{Warehouse: w.Warehouse}}); err != nil {
		t.Fatal(err)
	}
	requireThere(t, []string{tb.Pointer}, []string{orphan})
	w.Sequence()
	w.Exec("UPDATE river.river_job SET state = 'completed', finalized_at = now()")
	if n := sweep(); n != 1 {
		t.Errorf("%d jobs, though nothing is due", n)
	}
	c.NoCleanUp = true
	if err := (&cleaner{config: c}).Work(context.Background(), nil); err != nil {
		t.Error(err)
	}
}
