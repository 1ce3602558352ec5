package eventstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/pgtest"
)

// inOpenTx runs a commit's statements in a transaction that stays open.
func (b *bundle) inOpenTx(t testing.TB, c *Commit) pgx.Tx {
	t.Helper()
	tx, err := b.db.Connect(t, pgtest.RoleApp).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	batch, _, err := b.prepare(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.SendBatch(t.Context(), batch).Close(); err != nil {
		t.Fatal(err)
	}
	return tx
}

// waiting waits until so many backends of the database wait for a lock.
func (b *bundle) waiting(t testing.TB, n int) {
	t.Helper()
	super := b.db.Connect(t, pgtest.RoleSuper)
	until(t, fmt.Sprintf("%d wait", n), func(ctx context.Context) (bool, error) {
		var got int
		err := super.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&got)
		return got >= n, err
	})
}

func commitTx(t testing.TB, tx pgx.Tx) {
	t.Helper()
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// child creates a stream below a held parent.
func child(parent ids.ID) *Commit {
	c := creation(testIDs.New())
	c.Streams = append(c.Streams, Stream{ID: parent, Mode: Held})
	return c
}

// A creation that waits behind a drop of its parent does not get through: not
// behind a hard one, nor behind a soft one, which leaves the parent's row.
func TestHeldParentWaitsForALifeCycleCommand(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]Stream{
		"close":     {Close: true},
		"soft drop": {NextDormant: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			parent := testIDs.New()
			b.append(t, creation(parent))
			drop := change
			drop.ID, drop.Mode, drop.Version, drop.Pointer = parent, Advanced, 1, "v1"
			tx := b.inOpenTx(t, &Commit{ID: testIDs.New(), Streams: []Stream{drop}, Records: []Record{record(parent, "dropped")}})
			done := make(chan error, 1)
			go func() {
				_, err := b.Append(t.Context(), child(parent))
				done <- err
			}()
			b.waiting(t, 1)
			commitTx(t, tx)
			var closed *ClosedError
			if err := <-done; !errors.As(err, &closed) || closed.Stream != parent {
				t.Errorf("got %v", err)
			}
		})
	}
}

// The other way round: the drop waits for the creation and then sees it.
func TestLifeCycleCommandWaitsForACreation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	parent := testIDs.New()
	b.append(t, creation(parent))
	tx := b.inOpenTx(t, child(parent))
	done := make(chan error, 1)
	go func() {
		c := change(parent, 1)
		c.Streams[0].Close = true
		_, err := b.Append(t.Context(), c)
		done <- err
	}()
	b.waiting(t, 1)
	commitTx(t, tx)
	if err := <-done; err != nil {
		t.Errorf("got %v", err)
	}
}

// A guard has sharers or one updater, never both at once: a change of a parent and
// a creation below it wait for each other, both get through, and the creation does
// not mind the new version (ADR 0021).
func TestHeldParentWaitsForAPlainChange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	parent := testIDs.New()
	b.append(t, creation(parent))
	both := func(t *testing.T, first, then *Commit) {
		t.Helper()
		tx := b.inOpenTx(t, first)
		done := make(chan error, 1)
		go func() {
			_, err := b.Append(t.Context(), then)
			done <- err
		}()
		b.waiting(t, 1)
		commitTx(t, tx)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	both(t, change(parent, 1), child(parent))
	both(t, child(parent), change(parent, 2))
}

// Creations below a parent go along with each other.
func TestHeldParentIsShared(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.LockTimeout = 200 * time.Millisecond })
	parent := testIDs.New()
	b.append(t, creation(parent))
	tx := b.inOpenTx(t, child(parent))
	b.append(t, child(parent))
	commitTx(t, tx)
}

// Sharers that keep coming do not starve who moves their parent, and none of them
// meets a deadlock.
func TestAHeldStreamCanBeMoved(t *testing.T) {
	t.Parallel()
	const creators, moves = 8, 50
	b := setup(t)
	parent := testIDs.New()
	b.append(t, creation(parent))
	moved := make(chan struct{})
	var creating sync.WaitGroup
	for range creators {
		creating.Go(func() {
			for {
				select {
				case <-moved:
					return
				default:
				}
				if _, err := b.Append(t.Context(), child(parent)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range moves {
		move := change(parent, int64(i+1))
		move.Streams[0].Exclusive = true
		if _, err := b.Append(t.Context(), move); err != nil {
			t.Errorf("move %d: %v", i, err)
			break
		}
	}
	close(moved)
	creating.Wait()
}

// An asserted stream cannot change before the commit that asserts it.
func TestAssertedStreamStaysAsItIs(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.LockTimeout = 200 * time.Millisecond })
	asserted, other := testIDs.New(), testIDs.New()
	b.append(t, creation(asserted))
	b.append(t, creation(other))
	c := change(other, 1)
	c.Streams = append(c.Streams, Stream{ID: asserted, Mode: Asserted, Version: 1})
	tx := b.inOpenTx(t, c)
	var busy *BusyError
	if _, err := b.Append(t.Context(), change(asserted, 1)); !errors.As(err, &busy) {
		t.Errorf("changed under an assertion: %v", err)
	}
	commitTx(t, tx)
	b.append(t, change(asserted, 1))
	c = change(other, 2)
	c.Streams = append(c.Streams, Stream{ID: asserted, Mode: Asserted, Version: 1})
	var conflict *ConflictError
	if _, err := b.Append(t.Context(), c); !errors.As(err, &conflict) || conflict.Stream != asserted {
		t.Errorf("got %v", err)
	}
}

// A dormant stream is for those who expect it.
func TestDormantStreamRefusesPlainCommits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stream := testIDs.New()
	b.append(t, creation(stream))
	drop := change(stream, 1)
	drop.Streams[0].NextDormant = true
	b.append(t, drop)
	var closed *ClosedError
	if _, err := b.Append(t.Context(), change(stream, 2)); !errors.As(err, &closed) {
		t.Errorf("a plain commit: %v", err)
	}
	undrop, expiry := change(stream, 2), change(stream, 2)
	undrop.Streams[0].Dormant = true
	expiry.Streams[0].Dormant, expiry.Streams[0].NextDormant, expiry.Streams[0].Close = true, true, true
	b.append(t, undrop)
	var conflict *ConflictError
	if _, err := b.Append(t.Context(), expiry); !errors.As(err, &conflict) {
		t.Errorf("expiry after undrop: %v", err)
	}
	b.append(t, change(stream, 3))
}

func TestClosedAndMissingStreams(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stream := testIDs.New()
	b.append(t, creation(stream))
	last := change(stream, 1)
	last.Streams[0].Close = true
	b.append(t, last)
	for name, c := range map[string]*Commit{
		"advance": change(stream, 2), "hold": child(stream), "missing parent": child(testIDs.New()), "missing stream": change(testIDs.New(), 1),
	} {
		var closed *ClosedError
		if _, err := b.Append(t.Context(), c); !errors.As(err, &closed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var conflict *ConflictError
	if _, err := b.Append(t.Context(), creation(stream)); !errors.As(err, &conflict) {
		t.Errorf("create again: %v", err)
	}
}

// A guard that is held for long makes the caller reload, not wait for ever.
func TestLockTimeout(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.LockTimeout = 100 * time.Millisecond })
	stream := testIDs.New()
	b.append(t, creation(stream))
	tx := b.inOpenTx(t, change(stream, 1))
	var busy *BusyError
	if _, err := b.Append(t.Context(), change(stream, 1)); !errors.As(err, &busy) || errors.Is(err, ErrBurned) {
		t.Errorf("got %v", err)
	}
	_ = tx.Rollback(t.Context())
	b.append(t, change(stream, 1))
}

func TestReadModelsRefuse(t *testing.T) {
	t.Parallel()
	b := withNames(t)
	first := testIDs.New()
	b.append(t, nameCreation(first, "a"))
	var constraint *ConstraintError
	if _, err := b.Append(t.Context(), nameCreation(testIDs.New(), "a")); !errors.As(err, &constraint) ||
		constraint.Constraint != "name_taken" || constraint.Code != "23505" {
		t.Errorf("a taken name: %v", err)
	}
	orphan := creation(testIDs.New())
	orphan.Records = []Record{namedRecord(orphan.Streams[0].ID, "created", named{Name: "b", Parent: testIDs.New()})}
	if _, err := b.Append(t.Context(), orphan); !errors.As(err, &constraint) ||
		constraint.Constraint != "parent_missing" || constraint.Code != "23503" {
		t.Errorf("a missing parent: %v", err)
	}
	// The row count is checked inside the transaction: nothing stays.
	var conflict *ConflictError
	if _, err := b.Append(t.Context(), nameDrop(first, 1, "z")); !errors.As(err, &conflict) {
		t.Errorf("a row that is not there: %v", err)
	}
	if version := value[int64](t, b.db, "SELECT version FROM es.stream WHERE stream_id = $1", pgID(first)); version != 1 {
		t.Errorf("version %d after refused commits", version)
	}
	b.append(t, nameDrop(first, 1, "a"))
}

func TestWritesThatCountRowsAreChecked(t *testing.T) {
	t.Parallel()
	for _, sql := range []string{"SELECT 1", "DELETE FROM t RETURNING 1", "MERGE INTO t USING u ON true WHEN MATCHED THEN DELETE", ""} {
		if _, err := guarded(sql, 1); !errors.Is(err, ErrInvalidCommit) {
			t.Errorf("%q: %v", sql, err)
		}
	}
	for _, sql := range []string{"-- why\ndelete from t where returningx = 1;", "WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x -- end"} {
		if _, err := guarded(sql, 0); err != nil {
			t.Errorf("%q: %v", sql, err)
		}
	}
}

func TestInvalidCommits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stream := testIDs.New()
	for name, spoil := range map[string]func(*Commit){
		"no id":                func(c *Commit) { c.ID = ids.Nil },
		"no record":            func(c *Commit) { c.Records = nil },
		"too many records":     func(c *Commit) { c.Records = make([]Record, MaxRecords+1) },
		"stream twice":         func(c *Commit) { c.Streams = append(c.Streams, Stream{ID: stream, Mode: Held}) },
		"record without guard": func(c *Commit) { c.Records[0].Stream = testIDs.New() },
		"record of a parent":   func(c *Commit) { c.Streams[0].Mode = Held },
		"guard without record": func(c *Commit) { c.Streams = append(c.Streams, Stream{ID: testIDs.New(), Mode: Advanced, Version: 1}) },
		"no version":           func(c *Commit) { c.Streams[0].Mode = Advanced },
		"no type":              func(c *Commit) { c.Streams[0].Type = "" },
		"no data":              func(c *Commit) { c.Records[0].Data = nil },
		"no event type":        func(c *Commit) { c.Records[0].Type = "" },
		"unknown mode":         func(c *Commit) { c.Streams[0].Mode = 9 },
	} {
		c := creation(stream)
		spoil(c)
		if _, err := b.Append(t.Context(), c); !errors.Is(err, ErrInvalidCommit) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// together runs n clients at once and returns their errors.
func together(n int, work func(i int) error) []error {
	errs := make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { errs[i] = work(i) })
	}
	group.Wait()
	return errs
}

// Twenty commits create the same four names, each in another order: one wins,
// nobody deadlocks.
func TestLockOrderOfNames(t *testing.T) {
	t.Parallel()
	b := withNames(t)
	for round := range 5 {
		errs := together(20, func(int) error {
			c := &Commit{ID: testIDs.New()}
			for _, i := range rand.Perm(4) {
				one := nameCreation(testIDs.New(), fmt.Sprintf("%d-%d", round, i))
				c.Streams = append(c.Streams, one.Streams...)
				c.Records = append(c.Records, one.Records...)
			}
			_, err := b.Append(t.Context(), c)
			return err
		})
		won := 0
		for _, err := range errs {
			var constraint *ConstraintError
			switch {
			case err == nil:
				won++
			case !errors.As(err, &constraint):
				t.Errorf("got %v", err)
			}
		}
		if won != 1 {
			t.Errorf("%d commits won", won)
		}
	}
}

// Moves that cross (each exclusive on its own row and holding the other's),
// assertions and changes in any mix: one order by id, so no deadlock. Locking
// exclusive rows ahead of the others would be one.
func TestLockOrderOfStreams(t *testing.T) {
	t.Parallel()
	b := setup(t)
	streams := make([]ids.ID, 6)
	for i := range streams {
		streams[i] = testIDs.New()
		b.append(t, creation(streams[i]))
	}
	errs := together(16, func(int) error {
		for range 40 {
			p := rand.Perm(len(streams))
			moved := streams[p[0]]
			var version int64
			var pointer string
			if err := b.db.App.QueryRow(t.Context(), "SELECT version, pointer FROM es.stream WHERE stream_id = $1", pgID(moved)).Scan(&version, &pointer); err != nil {
				return err
			}
			c := change(moved, version)
			c.Streams[0].Exclusive = rand.IntN(2) == 0
			for _, i := range p[1:3] {
				switch rand.IntN(3) {
				case 0:
					c.Streams = append(c.Streams, Stream{ID: streams[i], Mode: Held})
				case 1:
					c.Streams = append(c.Streams, Stream{ID: streams[i], Mode: Asserted, Version: 1})
				case 2:
					c.Streams = append(c.Streams, Stream{ID: streams[i], Mode: Held, Exclusive: true})
				}
			}
			if _, err := b.Append(t.Context(), c); err != nil && !lost(err) {
				return err
			}
		}
		return nil
	})
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
}

// The control of the test above: with exclusive rows first two crossing moves
// do deadlock, so the order matters.
func TestLockOrderWithExclusiveRowsFirstDeadlocks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	x, y := testIDs.New(), testIDs.New()
	b.append(t, creation(x))
	b.append(t, creation(y))
	step := func(tx pgx.Tx, stream ids.ID, exclusive bool) error {
		_, err := tx.Exec(t.Context(), sqlHold, pgID(stream), exclusive, false)
		return err
	}
	one, two := b.begin(t), b.begin(t)
	if err := errors.Join(step(one, x, true), step(two, y, true)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- step(one, y, false) }()
	b.waiting(t, 1)
	err := errors.Join(step(two, x, false), <-done)
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || pgErr.Code != "40P01" {
		t.Errorf("got %v, want a deadlock", err)
	}
}

func (b *bundle) begin(t testing.TB) pgx.Tx {
	t.Helper()
	tx, err := b.db.Connect(t, pgtest.RoleApp).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tx
}
