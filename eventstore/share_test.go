package eventstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/icecore-catalog/icecore/internal/faultproxy"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/pgtest"
)

// answer is what Append said of one commit.
type answer struct {
	receipt Receipt
	err     error
}

// queued has one commit fly, held by the proxy, so that all others wait for
// each other; it returns when they do. land lets them go and collects their
// answers.
func queued(t *testing.T, b *bundle, proxy *faultproxy.Proxy, commits ...*Commit) (land func() []answer) {
	t.Helper()
	first := testIDs.New()
	b.append(t, creation(first))
	onAppend(proxy, faultproxy.HoldSync)
	answers := make([]answer, len(commits)+1)
	var all sync.WaitGroup
	send := func(i int, c *Commit) {
		all.Go(func() { answers[i].receipt, answers[i].err = b.Append(t.Context(), c) })
	}
	send(0, change(first, 1))
	if fate := <-proxy.Hits(); fate != faultproxy.HoldSync {
		t.Fatalf("the proxy did %s", fate)
	}
	for i, c := range commits {
		send(i+1, c)
		// One after another, so that they board in this order.
		until(t, "the commit waits", func(context.Context) (bool, error) {
			b.sharing.mu.Lock()
			defer b.sharing.mu.Unlock()
			return len(b.sharing.waiting) == i+1, nil
		})
	}
	return func() []answer {
		proxy.Release()
		all.Wait()
		if answers[0].err != nil {
			t.Fatalf("the commit that flew ahead: %v", answers[0].err)
		}
		return answers[1:]
	}
}

// oneFlight is a store behind a proxy where commits queue behind one flight.
func oneFlight(t *testing.T, options ...func(*Config)) (*bundle, *faultproxy.Proxy, *[]int) {
	t.Helper()
	var mu sync.Mutex
	var sizes []int
	b, proxy := behindProxy(t, append([]func(*Config){func(c *Config) {
		c.SharedFlights, c.AppendTimeout = 1, 10*time.Second
		c.Observer.Shared = func(n int) {
			mu.Lock()
			defer mu.Unlock()
			sizes = append(sizes, n)
		}
	}}, options...)...)
	return b, proxy, &sizes
}

func newStreams(t *testing.T, b *bundle, n int) []ids.ID {
	t.Helper()
	streams := make([]ids.ID, n)
	for i := range streams {
		streams[i] = testIDs.New()
		b.append(t, creation(streams[i]))
	}
	return streams
}

func TestWaitingCommitsShareATransaction(t *testing.T) {
	t.Parallel()
	b, proxy, sizes := oneFlight(t)
	streams := newStreams(t, b, 5)
	commits := make([]*Commit, len(streams))
	for i, s := range streams {
		commits[i] = change(s, 1)
	}
	land := queued(t, b, proxy, commits...)
	before := proxy.Flights()
	numbers := map[int64]bool{}
	for i, a := range land() {
		if a.err != nil || a.receipt.CommitID != commits[i].ID || a.receipt.Records[0].Version != 2 {
			t.Fatalf("commit %d: %+v, %v", i, a.receipt, a.err)
		}
		numbers[a.receipt.AppendSeq] = true
	}
	if len(numbers) != len(streams) {
		t.Errorf("%d numbers for %d commits", len(numbers), len(streams))
	}
	if n := proxy.Flights() - before; n != 1 {
		t.Errorf("they took %d flights", n)
	}
	if !slices.Equal(*sizes, []int{1, 5}) {
		t.Errorf("shared by %v", *sizes)
	}
	if n := value[int](t, b.db, "SELECT count(DISTINCT xmin::text) FROM es.event WHERE append_seq > 0 AND stream_id = ANY ($1) AND version = 2", uuids(streams)); n != 1 {
		t.Errorf("%d transactions", n)
	}
	for i, c := range commits {
		if got, err := b.Outcome(t.Context(), c.ID); err != nil || got != Committed {
			t.Errorf("outcome of %d: %q, %v", i, got, err)
		}
		if v := value[string](t, b.db, "SELECT version || ' ' || pointer || ' ' || mark FROM es.stream WHERE stream_id = $1", pgID(streams[i])); v != fmt.Sprintf("2 v2 %s", c.Records[0].ID) {
			t.Errorf("guard of %d: %s", i, v)
		}
	}
	b.settle(t)
	report, err := b.VerifyLog(t.Context(), nil)
	if err != nil || !report.OK() {
		t.Errorf("verify: %v, %v", report.Problems, err)
	}
	if log := b.all(t); len(log) != 12 {
		t.Errorf("%d events in the log", len(log))
	}
}

func uuids(list []ids.ID) [][16]byte {
	out := make([][16]byte, len(list))
	for i, id := range list {
		out[i] = id
	}
	return out
}

// Every way to lose, in one transaction with commits that must not notice.
func TestALoserNeverFailsItsNeighbours(t *testing.T) {
	t.Parallel()
	b, proxy, sizes := oneFlight(t, func(c *Config) { c.LockTimeout = 100 * time.Millisecond })
	s := newStreams(t, b, 9)
	moved := change(s[0], 1)
	b.append(t, change(s[0], 1))
	wrongPointer := change(s[1], 1)
	wrongPointer.Streams[0].Pointer = "elsewhere"
	burned := change(s[2], 1)
	if _, err := b.Burn(t.Context(), burned.ID); err != nil {
		t.Fatal(err)
	}
	closed := change(s[3], 2)
	ending := change(s[3], 1)
	ending.Streams[0].Close = true
	b.append(t, ending)
	late := change(s[4], 1)
	late.ResolvedAt = time.Now().Add(-MaxCommitAge - time.Second)
	missing := change(testIDs.New(), 1)
	held := change(s[5], 1)
	holder := b.db.Connect(t, pgtest.RoleSuper)
	tx, err := holder.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT FROM es.stream WHERE stream_id = $1 FOR SHARE", pgID(s[5])); err != nil {
		t.Fatal(err)
	}
	winners := []*Commit{change(s[6], 1), change(s[7], 1), change(s[8], 1)}

	var (
		conflict *ConflictError
		shut     *ClosedError
		stale    *StaleError
		busy     *BusyError
	)
	land := queued(t, b, proxy, winners[0], moved, wrongPointer, burned, winners[1], closed, late, missing, held, winners[2])
	answers := land()
	for i, ok := range []bool{
		answers[0].err == nil,
		errors.As(answers[1].err, &conflict) && conflict.Stream == s[0],
		errors.As(answers[2].err, &conflict) && conflict.Stream == s[1],
		errors.Is(answers[3].err, ErrBurned),
		answers[4].err == nil,
		errors.As(answers[5].err, &shut) && shut.Stream == s[3],
		errors.As(answers[6].err, &stale),
		errors.As(answers[7].err, &shut),
		errors.As(answers[8].err, &busy) && !errors.Is(answers[8].err, ErrBurned),
		answers[9].err == nil,
	} {
		if !ok {
			t.Errorf("commit %d: %v", i, answers[i].err)
		}
	}
	if !slices.Contains(*sizes, 10) {
		t.Errorf("shared by %v", *sizes)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, c := range []*Commit{moved, wrongPointer, closed, late, missing, held} {
		if got, err := b.Outcome(t.Context(), c.ID); err != nil || got != Absent {
			t.Errorf("outcome of loser %d: %q, %v", i, got, err)
		}
	}
	b.append(t, held) // once the stranger has gone
}

// One commit that the server can't even read refuses the statement of all;
// then each goes alone.
func TestARefusedFlightIsFlownAlone(t *testing.T) {
	t.Parallel()
	b, proxy, _ := oneFlight(t)
	s := newStreams(t, b, 3)
	bad := change(s[1], 1)
	bad.Records[0].TraceParent = "\x00"
	answers := queued(t, b, proxy, change(s[0], 1), bad, change(s[2], 1))()
	if answers[0].err != nil || answers[2].err != nil {
		t.Errorf("the neighbours: %v, %v", answers[0].err, answers[2].err)
	}
	if answers[1].err == nil {
		t.Error("the bad commit happened")
	}
	if n := value[int](t, b.db, "SELECT count(*) FROM es.event WHERE append_seq > 0 AND version = 2 AND stream_id = ANY ($1)", uuids(s)); n != 2 {
		t.Errorf("%d events", n)
	}
}

// Two commits of one stream never fly together: the second would be lost
// without having been tried on what the first left.
func TestCommitsOfOneStreamFlyOneAfterTheOther(t *testing.T) {
	t.Parallel()
	b, proxy, sizes := oneFlight(t)
	s := newStreams(t, b, 2)
	answers := queued(t, b, proxy, change(s[0], 1), change(s[0], 2), change(s[1], 1))()
	for i, a := range answers {
		if a.err != nil {
			t.Errorf("commit %d: %v", i, a.err)
		}
	}
	if !slices.Equal(*sizes, []int{1, 2, 1}) {
		t.Errorf("shared by %v", *sizes)
	}
	// The statement itself knows how to defend itself.
	crew := []*passenger{{commit: change(s[1], 2)}, {commit: change(s[1], 2)}}
	for _, p := range crew {
		if _, _, err := b.complete(p.commit); err != nil {
			t.Fatal(err)
		}
	}
	_, err := b.sharing.send(t.Context(), crew)
	if pgErr, definite := refused(err); !definite || pgErr.Code != "IC004" {
		t.Errorf("two commits of a stream in one statement: %v", err)
	}
}

// Law 3 for each commit of a flight whose answer is lost.
func TestLostAnswerOfAFlightIsSettledForEach(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fate     faultproxy.Fate
		happened bool
	}{
		{faultproxy.CutBefore, false},
		{faultproxy.CutAfter, true},
		{faultproxy.HoldAnswer, true},
		{faultproxy.HoldFlight, false},
	} {
		t.Run(test.fate.String(), func(t *testing.T) {
			t.Parallel()
			b, proxy, _ := oneFlight(t, func(c *Config) { c.AppendTimeout = 500 * time.Millisecond })
			s := newStreams(t, b, 3)
			commits := []*Commit{change(s[0], 1), change(s[1], 1), change(s[2], 1)}
			land := queued(t, b, proxy, commits...)
			onAppend(proxy, test.fate) // for the flight that follows
			answers := land()
			proxy.Release()
			for i, a := range answers {
				if test.happened != (a.err == nil) || a.err != nil && !errors.Is(a.err, ErrBurned) {
					t.Errorf("commit %d: %v", i, a.err)
				}
				again, err := b.Append(t.Context(), commits[i])
				if test.happened && (err != nil || again.AppendSeq != a.receipt.AppendSeq) || !test.happened && !errors.Is(err, ErrBurned) {
					t.Errorf("commit %d again: %+v, %v", i, again, err)
				}
			}
			want := 0
			if test.happened {
				want = len(commits)
			}
			if n := value[int](t, b.db, "SELECT count(*) FROM es.event WHERE append_seq > 0 AND commit_id = ANY ($1)",
				uuids([]ids.ID{commits[0].ID, commits[1].ID, commits[2].ID})); n != want {
				t.Errorf("%d events, want %d", n, want)
			}
		})
	}
}

// A commit that lost, on a flight whose answer got lost: it did not happen,
// and its id says so.
func TestLoserOfALostFlightDidNotHappen(t *testing.T) {
	t.Parallel()
	b, proxy, _ := oneFlight(t)
	s := newStreams(t, b, 2)
	b.append(t, change(s[1], 1))
	winner, loser := change(s[0], 1), change(s[1], 1)
	land := queued(t, b, proxy, winner, loser)
	onAppend(proxy, faultproxy.CutAfter)
	answers := land()
	if answers[0].err != nil {
		t.Errorf("the winner: %v", answers[0].err)
	}
	if !errors.Is(answers[1].err, ErrBurned) {
		t.Errorf("the loser: %v", answers[1].err)
	}
	if got, err := b.Outcome(t.Context(), loser.ID); err != nil || got != Aborted {
		t.Errorf("outcome %q, %v", got, err)
	}
}

// Who hangs up while waiting leaves without a trace.
func TestLeavingTheQueueSendsNothing(t *testing.T) {
	t.Parallel()
	b, proxy, sizes := oneFlight(t)
	s := newStreams(t, b, 2)
	land := queued(t, b, proxy, change(s[0], 1))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	gone := change(s[1], 1)
	go func() {
		_, err := b.Append(ctx, gone)
		done <- err
	}()
	until(t, "it waits", func(context.Context) (bool, error) {
		b.sharing.mu.Lock()
		defer b.sharing.mu.Unlock()
		return len(b.sharing.waiting) == 2, nil
	})
	cancel()
	var busy *BusyError
	if err := <-done; !errors.As(err, &busy) {
		t.Errorf("got %v", err)
	}
	if a := land(); a[0].err != nil {
		t.Error(a[0].err)
	}
	if !slices.Equal(*sizes, []int{1, 1}) {
		t.Errorf("shared by %v", *sizes)
	}
	if got, err := b.Outcome(t.Context(), gone.ID); err != nil || got != Absent {
		t.Errorf("outcome %q, %v", got, err)
	}
}

// Its statements look up keys however small the tables were when they were
// planned.
func TestSharedAppendReadsNoTable(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 50 {
		b.append(t, creation(testIDs.New()))
	}
	stream := testIDs.New()
	b.append(t, creation(stream))
	if _, err := b.db.Owner.Exec(t.Context(), "ANALYZE es.stream, es.commit, es.event"); err != nil {
		t.Fatal(err)
	}
	scans := func(ctx context.Context) (n string, _ error) {
		err := pgx.BeginFunc(ctx, b.db.App, func(tx pgx.Tx) error {
			for version := int64(1); version < 9; version++ {
				c := change(stream, version)
				if _, _, err := b.complete(c); err != nil {
					return err
				}
				if _, err := tx.Exec(ctx, sqlAppendShared, b.sharedArgs([]*passenger{{commit: c}})...); err != nil {
					return err
				}
			}
			return tx.QueryRow(ctx, `SELECT coalesce(string_agg(relname || ' ' || seq_scan, ', '), '') FROM pg_stat_xact_user_tables WHERE schemaname = 'es' AND relname IN ('stream', 'commit') AND seq_scan > 0`).Scan(&n)
		})
		return n, err
	}
	if n, err := scans(t.Context()); err != nil || n != "" {
		t.Errorf("sequential scans of %q, %v", n, err)
	}
}

// A flight whose connection is dead does not keep the others on the ground.
func TestAnOverdueFlightLosesItsSlot(t *testing.T) {
	t.Parallel()
	b, proxy, _ := oneFlight(t)
	s := newStreams(t, b, 3)
	land := queued(t, b, proxy, change(s[0], 1), change(s[1], 1))
	// The first is held at the server for as long as the proxy likes; these go on.
	until(t, "the waiting commits happened", func(context.Context) (bool, error) {
		n := value[int](t, b.db, "SELECT count(*) FROM es.event WHERE append_seq > 0 AND version = 2 AND stream_id = ANY ($1)", uuids(s))
		return n == 2, nil
	})
	b.append(t, change(s[2], 1))
	for i, a := range land() {
		if a.err != nil {
			t.Errorf("commit %d: %v", i, a.err)
		}
	}
	until(t, "every slot is free", func(context.Context) (bool, error) {
		b.sharing.mu.Lock()
		defer b.sharing.mu.Unlock()
		if b.sharing.running < 0 {
			return false, fmt.Errorf("%d flights are running", b.sharing.running)
		}
		return b.sharing.running == 0, nil
	})
}

// The ids of a flight are burned by one statement: each tells its own fate.
func TestBurnOfManyTellsEachFate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := newStreams(t, b, 1)
	happened := change(s[0], 1)
	b.append(t, happened)
	burned := testIDs.New()
	if _, err := b.Burn(t.Context(), burned); err != nil {
		t.Fatal(err)
	}
	commits := []ids.ID{happened.ID, burned}
	for range 60 {
		commits = append(commits, testIDs.New())
	}
	for range 2 { // the second time finds what the first one did
		outcomes, err := b.burnAll(t.Context(), commits)
		if err != nil {
			t.Fatal(err)
		}
		for i, id := range commits {
			want := Aborted
			if i == 0 {
				want = Committed
			}
			if outcomes[id] != want {
				t.Errorf("commit %d: %q", i, outcomes[id])
			}
		}
	}
}
