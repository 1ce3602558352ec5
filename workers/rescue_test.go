package workers

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/icecore-catalog/icecore/catalog"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
)

// The worst that can pass before a job of a dead process goes on: its last sign of
// life, the beat of another, and that one's poll. It is less than a minute.
func TestAJobOfADeadProcessIsTakenUpWithinAMinute(t *testing.T) {
	t.Parallel()
	if worst := deadTime + beatTime + pollPurge; worst >= time.Minute {
		t.Errorf("up to %v", worst)
	}
	w := newWorld(t, kit.Setup{})
	c := w.config()
	c.defaults()
	workers, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"dead", "spent", "cancelled", "alive", "forgotten", "ended"} {
		tb := w.table(name)
		w.dropPurge(tb)
		by := "gone"
		if name == "alive" || name == "forgotten" {
			by = workers.client.ID()
		}
		if _, err := w.Pool.Exec(t.Context(), `UPDATE river.river_job SET state = 'running', attempt = 1, attempted_at = clock_timestamp() - interval '31 s',
			attempted_by = ARRAY['before', $1], tags = ARRAY[$2] WHERE id = (SELECT max(id) FROM river.river_job)`, by, name); err != nil {
			t.Fatal(i, err)
		}
	}
	for _, change := range []string{
		"UPDATE river.river_job SET attempt = max_attempts WHERE 'spent' = ANY (tags)",
		`UPDATE river.river_job SET metadata = '{"cancel_attempted_at":"2026-01-01T00:00:00Z"}' WHERE 'cancelled' = ANY (tags)`,
		"UPDATE river.river_job SET state = 'completed', finalized_at = clock_timestamp() WHERE 'ended' = ANY (tags)",
	} {
		if _, err := w.Pool.Exec(t.Context(), change); err != nil {
			t.Fatal(err)
		}
	}
	// What it is said to run and does not ended in a history that the database lost.
	var alive int64
	if err := w.Pool.QueryRow(t.Context(), "SELECT id FROM river.river_job WHERE 'alive' = ANY (tags)").Scan(&alive); err != nil {
		t.Fatal(err)
	}
	workers.runs.list[alive] = &run{}
	for range 2 { // the second time there is nothing to do
		if err := workers.beat(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"dead": "available", "spent": "discarded", "cancelled": "cancelled", "alive": "running", "forgotten": "available", "ended": "completed"} {
		var state string
		var errs int
		if err := w.Pool.QueryRow(t.Context(), "SELECT state::text, coalesce(cardinality(errors), 0) FROM river.river_job WHERE $1 = ANY (tags)", name).Scan(&state, &errs); err != nil {
			t.Fatal(err)
		}
		rescued := 0
		if name != "alive" && name != "ended" {
			rescued = 1
		}
		if state != want || errs != rescued {
			t.Errorf("%s: %s, want %s; %d errors", name, state, want, errs)
		}
	}
}

// A rescuer may turn a job that has just completed back: it read before the end
// and wrote after it. The second run finds nothing to do: it is no failure, purged
// is said once, and what stands at the place by now is nobody's to delete.
func TestAPurgeThatIsRunAgainAfterItsEndFindsNothing(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"available", "retryable", "running"} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, kit.Setup{})
			tb := w.table("t")
			w.fill(tb, 1, 0, "a.parquet", "b.parquet")
			w.dropPurge(tb)
			c := w.config()
			c.dead = 300 * time.Millisecond
			defer w.run(c)()
			eventually(t, "the purge", func() bool { return w.jobs("completed") == 1 })
			w.requireGone(tb)

			// Somebody else lives there now, under the same names.
			at := tb.folder
			next, err := w.Create("db", "next", fmt.Sprintf(`,"location":%q`, "file://"+at))
			if err != nil {
				t.Fatal(err)
			}
			again := &table{Table: next, name: "next", folder: at}
			w.fill(again, 1, 0, "a.parquet", "b.parquet")
			before := fmt.Sprint(w.below(again))

			if _, err := w.Pool.Exec(t.Context(), `UPDATE river.river_job SET state = $1::text::river.river_job_state, finalized_at = NULL, scheduled_at = clock_timestamp(),
				attempted_at = clock_timestamp() - interval '3 hours', attempted_by = ARRAY['gone'] WHERE kind = 'purge'`, state); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the second run", func() bool { return w.jobs("completed") == 1 })
			if after := fmt.Sprint(w.below(again)); after != before {
				t.Errorf("left %s of %s", after, before)
			}
			if n := w.count(catalog.TypeTablePurged); n != 1 {
				t.Errorf("purged is said %d times", n)
			}
			var errs int
			if err := w.Pool.QueryRow(t.Context(), "SELECT coalesce(cardinality(errors), 0) FROM river.river_job WHERE kind = 'purge'").Scan(&errs); err != nil {
				t.Fatal(err)
			}
			if state != "running" && errs > 0 { // one that was rescued says so
				t.Errorf("%d errors", errs)
			}
		})
	}
}

// Ids of tasks and numbers of jobs lead to each other.
func TestTaskIDsAreReversible(t *testing.T) {
	t.Parallel()
	for _, job := range []int64{1, 42, 1<<62 - 1} {
		id := TaskID(job)
		if got, ok := jobOf(id); got != job || !ok {
			t.Errorf("%d is %s is %d", job, id, got)
		}
		if text := id.String(); text[14] != '8' || text[19] < '8' || text[19] > 'b' {
			t.Errorf("%s is no UUID of version 8", text)
		}
	}
	if _, ok := jobOf(TaskID(0)); ok {
		t.Error("0 is the number of a job")
	}
	foreign := TaskID(42)
	foreign[0]++
	if _, ok := jobOf(foreign); ok {
		t.Error("a foreign id names a job")
	}
}

// River's own rescue, which reads first and writes later, leaves what has ended
// meanwhile: the linked version says so in its statement.
func TestRiversRescueLeavesWhatHasEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	w.dropPurge(w.table("t"))
	if _, err := w.Pool.Exec(t.Context(), `UPDATE river.river_job SET state = 'running', attempt = 1, attempted_by = ARRAY['x'], attempted_at = clock_timestamp() - interval '3 hours'`); err != nil {
		t.Fatal(err)
	}
	executor := riverpgxv5.New(w.Pool).GetExecutor()
	horizon := time.Now().Add(-time.Hour)
	stuck, err := executor.JobGetStuck(t.Context(), &riverdriver.JobGetStuckParams{Max: 10, Schema: schemaName, StuckHorizon: horizon})
	if err != nil || len(stuck) != 1 {
		t.Fatalf("%d stuck, %v", len(stuck), err)
	}
	// It ends between the rescuer's read and its write.
	if _, err := w.Pool.Exec(t.Context(), "UPDATE river.river_job SET state = 'completed', finalized_at = clock_timestamp()"); err != nil {
		t.Fatal(err)
	}
	if _, err := executor.JobRescueMany(t.Context(), &riverdriver.JobRescueManyParams{
		ID: []int64{stuck[0].ID}, Error: [][]byte{[]byte(`{}`)}, FinalizedAt: []*time.Time{nil}, ScheduledAt: []time.Time{time.Now()},
		Schema: schemaName, State: []string{"retryable"}, StuckHorizon: horizon,
	}); err != nil {
		t.Fatal(err)
	}
	if w.jobs("completed") != 1 {
		t.Error("it is to run again")
	}
}

// With the times of production, a purge whose process was killed is at its end
// within a minute or so: it goes on when its lease and its process are dead.
func TestAKilledPurgeGoesOnWithinAMinute(t *testing.T) {
	if os.Getenv("ICECORE_LONG") == "" {
		t.Skip("takes most of a minute; set ICECORE_LONG=1")
	}
	t.Parallel()
	w := newWorld(t, kit.Setup{})
	tb := w.table("t")
	for i := range 200 {
		w.put(tb, fmt.Sprintf("data/%03d.parquet", i), nil)
	}
	w.dropPurge(tb)
	helper := startHelper(t, w)
	eventually(t, "some of the purge", func() bool { return len(w.below(tb)) < 150 })
	if err := helper.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = helper.Wait() // it says that it was killed
	left := len(w.below(tb))
	killed := time.Now()
	c := w.config()
	c.poll, c.slice, c.lease = 0, 0, 0
	defer w.run(c)()
	eventually(t, "more of the purge", func() bool { return len(w.below(tb)) < left })
	t.Logf("it went on after %s", time.Since(killed))
}
