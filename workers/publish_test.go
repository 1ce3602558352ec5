package workers

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/servicetest"
)

// kicks is a relay that remembers what it was asked to look at.
type kicks struct {
	mu    sync.Mutex
	known int
	heard chan ids.ID
}

func (k *kicks) Kick(destination ids.ID) { k.heard <- destination }

func (k *kicks) Destinations() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.known
}

func (w *world) number(sql string, args ...any) (n int) {
	w.Helper()
	if err := w.Pool.QueryRow(w.Context(), sql, args...).Scan(&n); err != nil {
		w.Fatal(err)
	}
	return n
}

// The sequencer asks for a look at each destination that nobody holds, in its own
// transaction, and not at every batch.
func TestTheSequencerKicks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, servicetest.Setup{})
	now := clock.NewFake(time.UnixMilli(1_700_000_000_000))
	store, err := eventstore.New(t.Context(), eventstore.Config{Pool: w.Pool, OnBatch: NewKicker(now).OnBatch})
	if err != nil {
		t.Fatal(err)
	}
	q := store.Sequencer()
	defer q.Close()
	waiting := func() int { return w.number("SELECT count(*) FROM river.river_job WHERE kind = 'publish_outbox'") }
	round := func(name string) {
		t.Helper()
		w.Namespace(name)
		if _, err := q.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	round("without destinations")
	if n := waiting(); n != 0 {
		t.Errorf("%d kicks for nobody", n)
	}
	one, two := w.Destination("one"), w.Destination("two")
	now.Advance(kickTime)
	round("a")
	round("too soon")
	if n := waiting(); n != 2 {
		t.Errorf("%d kicks, want one for each", n)
	}
	w.Exec("UPDATE publish.destination SET lease_owner = gen_random_uuid(), lease_until = clock_timestamp() + interval '1 hour' WHERE destination_id = $1", [16]byte(one))
	now.Advance(kickTime)
	round("b")
	if n := w.number("SELECT count(*) FROM river.river_job WHERE args @> jsonb_build_object('destination', $1::uuid)", [16]byte(two)); n != 2 {
		t.Errorf("%d kicks of the one that nobody holds", n)
	}
	for _, column := range []string{"retry_after = clock_timestamp() + interval '1 hour'", "halted_at = 1"} {
		before := waiting()
		w.Exec("UPDATE publish.destination SET "+column+" WHERE destination_id = $1", [16]byte(two))
		now.Advance(kickTime)
		round(column)
		if n := waiting(); n != before {
			t.Errorf("kicked with %s", column)
		}
	}
}

// A kick reaches the relay, and the sweep makes those that are missing.
func TestKicksReachTheRelay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, servicetest.Setup{})
	id := w.Destination("d")
	w.Sequence()
	relay := &kicks{heard: make(chan ids.ID, 100), known: 1}
	if err := (&publishSweeper{pool: w.Pool}).Work(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := (&publishSweeper{pool: w.Pool}).Work(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if n := w.number("SELECT count(*) FROM river.river_job WHERE kind = 'publish_outbox'"); n != 1 {
		t.Errorf("%d kicks for one that is behind", n)
	}
	c := w.config()
	c.Relay = relay
	workers, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- workers.Run(ctx) }()
	if got := <-relay.heard; got != id {
		t.Errorf("kicked for %s", got)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	// What needs none gets none; a row that is missing is made.
	w.Exec("DELETE FROM river.river_job")
	for _, state := range []string{"position = 1000000", "halted_at = 1", "lease_owner = gen_random_uuid(), lease_until = clock_timestamp() + interval '1 hour'"} {
		w.Exec("UPDATE publish.destination SET " + state)
		if err := (&publishSweeper{pool: w.Pool}).Work(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		w.Exec("UPDATE publish.destination SET position = 0, halted_at = NULL, lease_until = NULL")
	}
	if _, err := w.Commands.PauseDestination(t.Context(), w.Call(), commands.PauseDestination{Destination: id}); err != nil {
		t.Fatal(err)
	}
	if err := (&publishSweeper{pool: w.Pool}).Work(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if n := w.number("SELECT count(*) FROM river.river_job"); n != 0 {
		t.Errorf("%d jobs for destinations that need none", n)
	}
	w.Exec("DELETE FROM publish.destination")
	if err := (&publishSweeper{pool: w.Pool}).Work(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if n := w.number("SELECT count(*) FROM publish.destination"); n != 1 {
		t.Errorf("%d rows were made", n)
	}
}

// Without a destination nothing is asked for it: no queue is polled, no sweep made.
func TestWithoutDestinationsNothingIsSwept(t *testing.T) {
	t.Parallel()
	relay := &kicks{}
	c := Config{Relay: relay}
	if _, polled := c.queues()[queuePublish]; polled {
		t.Error("the queue is polled from the beginning")
	}
	if len(periodic(&c)) != len(periodic(&Config{}))+1 {
		t.Fatal("no sweep is planned")
	}
}
