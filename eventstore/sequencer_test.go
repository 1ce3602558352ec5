package eventstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/pgtest"
)

// roundOf does one round and fails the test on an error.
func roundOf(t testing.TB, q *Sequencer) bool {
	t.Helper()
	worked, err := q.RunOnce(t.Context())
	if err != nil {
		t.Fatalf("round: %v", err)
	}
	return worked
}

func (b *bundle) head(t testing.TB) Head {
	t.Helper()
	h, err := b.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestAtomicUnits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 20 {
		c := &Commit{ID: testIDs.New()}
		for range 7 {
			one := creation(testIDs.New())
			c.Streams = append(c.Streams, one.Streams...)
			c.Records = append(c.Records, one.Records...)
		}
		b.append(t, c)
	}
	b.batchSize = 10 // smaller than two commits: cuts through each second one
	q := b.Sequencer()
	defer q.Close()
	for roundOf(t, q) {
		if n := b.head(t).Size; n%7 != 0 {
			t.Fatalf("the log ends inside a commit at %d", n)
		}
	}
	log := b.all(t)
	if len(log) != 140 {
		t.Fatalf("%d entries", len(log))
	}
	for i, e := range log {
		if e.CommitIndex != i%7 || e.CommitID != log[i/7*7].CommitID || e.CommitSize != 7 {
			t.Fatalf("position %d holds event %d of commit %s", e.Position, e.CommitIndex, e.CommitID)
		}
	}
}

func TestStreamOrderAndDense(t *testing.T) {
	t.Parallel()
	b := setup(t)
	streams := make([]ids.ID, 5)
	for i := range streams {
		streams[i] = testIDs.New()
		b.append(t, creation(streams[i]))
	}
	for version := int64(1); version < 9; version++ {
		for _, s := range streams {
			b.append(t, change(s, version))
		}
	}
	b.drain(t)
	next := map[ids.ID]int64{}
	for i, e := range b.all(t) {
		if e.Position != int64(i+1) {
			t.Fatalf("position %d at place %d", e.Position, i+1)
		}
		if next[e.Stream]++; e.Version != next[e.Stream] {
			t.Fatalf("position %d: version %d of %s, %d was due", e.Position, e.Version, e.Stream, next[e.Stream])
		}
	}
	page, err := b.ReadStream(t.Context(), streams[2], 4, 3)
	if err != nil || len(page) != 3 || page[0].Version != 4 || page[2].Version != 6 || page[1].Stream != streams[2] {
		t.Errorf("stream page %+v, %v", page, err)
	}
}

// A number that is drawn but not committed is waited for, without holding up
// the others, and is dropped as soon as it is proved to be rolled back.
func TestHoles(t *testing.T) {
	t.Parallel()
	b := setup(t)
	q := b.Sequencer()
	defer q.Close()
	slow := b.inOpenTx(t, creation(testIDs.New()))   // draws 1
	failed := b.inOpenTx(t, creation(testIDs.New())) // draws 2
	b.append(t, creation(testIDs.New()))             // draws 3
	for range 3 {
		_, err := q.turn(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
	}
	if h := b.head(t); h.Size != 1 || !slices.Equal(h.Holes, []int64{1, 2}) || h.Seen != 3 {
		t.Fatalf("head %+v", h)
	}
	_ = failed.Rollback(t.Context())
	roundOf(t, q)
	roundOf(t, q)
	if h := b.head(t); !slices.Equal(h.Holes, []int64{1, 2}) {
		t.Fatalf("holes %v were dropped while the transaction before them runs", h.Holes)
	}
	commitTx(t, slow)
	b.settle(t)
	if h := b.head(t); h.Size != 2 || len(h.Holes) != 0 || h.Seen != 3 {
		t.Fatalf("head %+v", h)
	}
	log := b.all(t)
	if log[0].AppendSeq != 3 || log[1].AppendSeq != 1 {
		t.Errorf("order %d, %d", log[0].AppendSeq, log[1].AppendSeq)
	}
}

// Rolled back last numbers do not keep the sequencer awake for ever.
func TestIdleLogComesToRest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.append(t, creation(testIDs.New()))
	for range 3 {
		tx := b.inOpenTx(t, creation(testIDs.New()))
		_ = tx.Rollback(t.Context())
	}
	b.settle(t)
	q := b.Sequencer()
	defer q.Close()
	if something, err := q.peek(t.Context()); err != nil || something {
		t.Errorf("there is still something to do: %v, %v", something, err)
	}
	if h := b.head(t); h.Seen != 4 || h.LastDrawn != 4 || len(h.Holes) != 0 || h.Size != 1 {
		t.Errorf("head %+v", h)
	}
	// An idle look writes nothing.
	before := value[string](t, b.db, "SELECT xmin::text || xmax::text || ctid::text FROM es.log_head")
	for range 5 {
		if worked, err := q.turn(t.Context(), true); err != nil || worked {
			t.Fatal(worked, err)
		}
	}
	if after := value[string](t, b.db, "SELECT xmin::text || xmax::text || ctid::text FROM es.log_head"); after != before {
		t.Error("an idle look wrote to the head")
	}
}

// The proof needs the highest number read before the round gets its own
// transaction id, which it gets by locking the head. The control does it the
// other way round, and would drop a number that commits later.
func TestNumberIsReadBeforeTheOwnID(t *testing.T) {
	t.Parallel()
	for name, numberFirst := range map[string]bool{"number first": true, "id first": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			ctx := t.Context()
			b.drain(t)
			var last int64
			var own uint64
			tx := b.begin(t)
			readNumber := func() {
				if err := tx.QueryRow(ctx, "SELECT es.last_append_seq()").Scan(&last); err != nil {
					t.Fatal(err)
				}
			}
			takeID := func() {
				if _, err := tx.Exec(ctx, sqlLockHead); err != nil {
					t.Fatal(err)
				}
				if err := tx.QueryRow(ctx, "SELECT pg_current_xact_id_if_assigned()::text::bigint").Scan(&own); err != nil {
					t.Fatal(err)
				}
			}
			var slow pgx.Tx
			slip := func() { slow = b.inOpenTx(t, creation(testIDs.New())) }
			if numberFirst {
				readNumber()
				slip()
				takeID()
			} else {
				takeID()
				slip()
				readNumber()
			}
			commitTx(t, tx)
			// What the next round would conclude.
			proved := func(ctx context.Context) (proved bool, err error) {
				err = b.db.Owner.QueryRow(ctx, "SELECT pg_snapshot_xmin(pg_current_snapshot()) > $1::text::xid8", fmt.Sprint(own)).Scan(&proved)
				return proved, err
			}
			if numberFirst {
				if yes, err := proved(ctx); err != nil || yes || last != 0 {
					t.Errorf("proved %v up to %d beside a running commit: %v", yes, last, err)
				}
			} else {
				until(t, "the running commit is taken for dead", proved)
				if last != 1 {
					t.Errorf("the candidate is %d", last)
				}
			}
			commitTx(t, slow)
		})
	}
}

// Whoever saw A finds it before his own commit, also when A was slow.
func TestCausality(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stop := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		q := b.Sequencer()
		defer q.Close()
		for {
			select {
			case <-stop:
				return
			default:
				if _, err := q.RunOnce(t.Context()); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	errs := together(8, func(int) error {
		for range 25 {
			// Sees everything that is visible now, then commits.
			rows, err := b.db.App.Query(t.Context(), "SELECT event_id FROM es.event WHERE append_seq >= 0")
			if err != nil {
				return err
			}
			seen, err := pgx.CollectRows(rows, pgx.RowTo[[16]byte])
			if err != nil {
				return err
			}
			c := creation(testIDs.New())
			if len(seen) > 0 {
				c.Records[0].Causation = seen[len(seen)-1]
				c.Records[0].Data = fmt.Appendf(nil, `{"saw": %d}`, len(seen))
			}
			if _, err := b.Append(t.Context(), c); err != nil {
				return err
			}
		}
		return nil
	})
	close(stop)
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	b.drain(t)
	at := map[ids.ID]int64{}
	for _, e := range b.all(t) {
		if !e.Causation.IsNil() && at[e.Causation] == 0 {
			t.Errorf("position %d stands before its cause", e.Position)
		}
		var saw int64
		if _, err := fmt.Sscanf(string(e.Data), `{"saw": %d}`, &saw); err == nil && e.Position <= saw {
			t.Errorf("position %d saw %d events", e.Position, saw)
		}
		at[e.ID] = e.Position
	}
}

func TestLogTimeAscends(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)
	fake := clock.NewFake(start)
	b := setup(t, func(c *Config) { c.Clock = fake })
	for _, step := range []time.Duration{0, time.Second, -time.Hour, 2 * time.Hour} {
		fake.Advance(step)
		b.append(t, creation(testIDs.New()))
		b.drain(t)
	}
	log := b.all(t)
	for i, want := range []time.Duration{0, time.Second, time.Second, time.Hour + time.Second} {
		if got := log[i].LogTime; !got.Equal(start.Add(want)) {
			t.Errorf("logtime %d is %s, want %s after the start", i+1, got, want)
		}
	}
	for at, want := range map[time.Duration]int64{-1: 0, 0: 1, time.Second - 1000: 1, time.Second: 3, time.Hour: 3, 24 * time.Hour: 4} {
		if got, err := b.LastPositionAt(t.Context(), start.Add(at)); err != nil || got != want {
			t.Errorf("as of %s: position %d, %v, want %d", at, got, err, want)
		}
	}
}

// One notice for each batch, none for each commit.
func TestOneNoticeForEachBatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	listener := b.db.Connect(t, pgtest.RoleApp)
	if _, err := listener.Exec(t.Context(), "LISTEN "+Channel); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		b.append(t, creation(testIDs.New()))
	}
	b.drain(t)
	n, err := listener.WaitForNotification(t.Context())
	if err != nil || n.Payload != "5" {
		t.Fatalf("notice %+v, %v", n, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if n, err := listener.WaitForNotification(ctx); err == nil {
		t.Errorf("a second notice %+v", n)
	}
}

// The hook of a batch is part of it.
func TestBatchHook(t *testing.T) {
	t.Parallel()
	var fail bool
	var batches []Batch
	b := setup(t, func(c *Config) {
		c.OnBatch = func(batch Batch, writes *pgx.Batch) {
			batches = append(batches, batch)
			divisor := 1
			if fail {
				divisor = 0
			}
			writes.Queue("SELECT 1 / $1::int, 1 / (size = $2)::int FROM es.log_head", divisor, batch.To)
		}
	})
	b.append(t, creation(testIDs.New()))
	q := b.Sequencer()
	defer q.Close()
	fail = true
	if _, err := q.RunOnce(t.Context()); err == nil || !strings.Contains(err.Error(), "division by zero") {
		t.Fatalf("got %v", err)
	}
	if h := b.head(t); h.Size != 0 {
		t.Fatalf("a failed hook left %d positions", h.Size)
	}
	fail = false
	roundOf(t, q)
	if last := batches[len(batches)-1]; last.From != 1 || last.To != 1 || b.head(t).Size != 1 {
		t.Errorf("batch %+v", last)
	}
}

// Commits that break an invariant, as only a fault could make them: written
// straight into the table.
func TestHaltAndRepair(t *testing.T) {
	t.Parallel()
	for _, accept := range []bool{false, true} {
		t.Run(fmt.Sprintf("accept=%v", accept), func(t *testing.T) {
			t.Parallel()
			var halted []*HaltedError
			b := setup(t, func(c *Config) {
				c.Observer.Halted = func(e *HaltedError) { halted = append(halted, e) }
			})
			stream := testIDs.New()
			b.append(t, creation(stream))
			broken := change(stream, 1)
			if _, _, err := b.prepare(broken); err != nil {
				t.Fatal(err)
			}
			broken.Records[0].Version = 5 // the guard never said so
			var seq int64
			if err := b.db.App.QueryRow(t.Context(), sqlSeal, sealArgs(broken)...).Scan(&seq); err != nil {
				t.Fatal(err)
			}
			b.append(t, creation(testIDs.New()))

			q := b.Sequencer()
			defer q.Close()
			_, err := q.turn(t.Context(), true)
			var halt *HaltedError
			if !errors.As(err, &halt) || halt.AppendSeq != seq || !strings.Contains(halt.Reason, "version 5 after 1") {
				t.Fatalf("got %v", err)
			}
			q.failed(err)
			if len(halted) != 1 {
				t.Error("nobody was alerted")
			}
			if h := b.head(t); h.Size != 1 || h.Halted == nil || h.Halted.AppendSeq != seq {
				t.Fatalf("head %+v", h)
			}
			if _, err := q.turn(t.Context(), true); !errors.As(err, &halt) {
				t.Errorf("a halted log goes on: %v", err)
			}
			// Commits go on; who waits for a position is told.
			receipt := b.append(t, creation(testIDs.New()))
			if _, err := b.WaitForReceipt(t.Context(), receipt); !errors.As(err, &halt) {
				t.Errorf("wait: %v", err)
			}
			if err := b.Ready(t.Context()); err != nil {
				t.Errorf("a halted feed makes the server unready: %v", err)
			}

			if _, err := b.Repair(t.Context(), Repair{AppendSeq: seq + 1}); err == nil {
				t.Error("a repair of something else passed")
			}
			repaired, err := b.Repair(t.Context(), Repair{AppendSeq: seq, Accept: accept, Reason: "by hand", Actor: testIDs.New()})
			if err != nil {
				t.Fatal(err)
			}
			b.drain(t)
			log := b.all(t)
			var kept, decided int
			for _, e := range log {
				if e.AppendSeq == seq {
					kept++
				}
				if e.Type == RepairedType && e.ID == repaired.Records[0].ID {
					decided++
				}
			}
			want := 0
			if accept {
				want = 1
			}
			if kept != want || decided != 1 || len(log) != 4+want {
				t.Errorf("%d entries, the commit %d times, the decision %d times", len(log), kept, decided)
			}
			report, err := b.VerifyLog(t.Context(), nil)
			if err != nil || !report.OK() {
				t.Errorf("verify: %v, %v", report.Problems, err)
			}
		})
	}
}

// Positions and numbers beyond 2^31.
func TestBeyond32Bits(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.PartitionSize = 1 << 32 })
	const far = int64(1)<<31 - 2
	if _, err := b.db.Owner.Exec(t.Context(), "SELECT setval('es.append_seq', $1)", far); err != nil {
		t.Fatal(err)
	}
	stream := testIDs.New()
	b.append(t, creation(stream))
	for version := int64(1); version < 6; version++ {
		b.append(t, change(stream, version))
	}
	b.settle(t)
	log := b.all(t)
	if len(log) != 6 || log[5].AppendSeq != far+6 {
		t.Fatalf("%d entries, the last number %d", len(log), log[len(log)-1].AppendSeq)
	}
	// A log that is that long already: its tree has 2^31-1 leaves, of which
	// only the right edge is known here.
	long := setup(t)
	var edge frontier
	edge.size = 1<<31 - 1
	for range 31 {
		edge.roots = append(edge.roots, [32]byte{1})
	}
	root := edge.root()
	if _, err := long.db.Owner.Exec(t.Context(), "UPDATE es.log_head SET size = $1, frontier = $2, root = $3", edge.size, edge.bytes(), root[:]); err != nil {
		t.Fatal(err)
	}
	receipt := long.append(t, creation(stream))
	long.append(t, change(stream, 1))
	long.drain(t)
	if h := long.head(t); h.Size != 1<<31+1 {
		t.Fatalf("size %d", h.Size)
	}
	positions, err := long.WaitForReceipt(t.Context(), receipt)
	if err != nil || positions[0] != 1<<31 {
		t.Errorf("position %v, %v", positions, err)
	}
	entries, err := long.ReadAfter(t.Context(), 1<<31, 10)
	if err != nil || len(entries) != 1 || entries[0].Position != 1<<31+1 {
		t.Errorf("%+v, %v", entries, err)
	}
	ce, err := ToCloudEvent(entries[0], "urn:icecore:x")
	if err != nil || ce.Extensions()["sequence"] != "00000000002147483649" {
		t.Errorf("%v, %v", ce, err)
	}
}

// Run sequences what another instance committed, and WaitFor hears of what
// another instance sequenced.
func TestRunAndListen(t *testing.T) {
	t.Parallel()
	here := setup(t)
	there := open(t, here.db)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		if err := there.Sequencer().Run(ctx); err != nil {
			t.Error(err)
		}
	})
	group.Go(func() {
		if err := here.Listen(ctx); err != nil {
			t.Error(err)
		}
	})
	for n := range int64(5) {
		positions, err := here.WaitForReceipt(t.Context(), here.append(t, creation(testIDs.New())))
		if err != nil || positions[0] != n+1 {
			t.Errorf("%v, %v", positions, err)
		}
	}
	changed := here.Changed()
	there.append(t, creation(testIDs.New()))
	select {
	case <-changed:
	case <-time.After(10 * time.Second):
		t.Error("the notice did not come through")
	}
	cancel()
	group.Wait()
	entry, err := here.Entry(t.Context(), testIDs.New())
	if !errors.Is(err, ErrNotSequenced) {
		t.Errorf("an unknown event: %+v, %v", entry, err)
	}
}
