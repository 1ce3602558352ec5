package publishers

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// run runs a relay and the sequencer until the function that it returns is called.
func (w *world) run(t *testing.T, relays ...*Relay) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, r := range relays {
		running.Go(func() { _ = r.Run(ctx) })
	}
	running.Go(func() { _ = w.Store.Sequencer().Run(ctx) })
	stop = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(stop)
	return stop
}

// commits adds events that the running sequencer numbers.
func (w *world) commits(n int) {
	w.Helper()
	for range n {
		w.n++
		w.Namespace("r" + string(rune('a'+w.n%26)) + w.IDs.New().String())
	}
}

// A destination that hangs, in whatever way, delays no other one and no commit,
// and the process ends all the same.
func TestADeadDestinationDelaysNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dead, mute, alive := newBroker(true), newBroker(true), newBroker(true)
	forever := make(chan struct{})
	dead.before = func(context.Context) { <-forever }        // not even for its context
	mute.before = func(ctx context.Context) { <-ctx.Done() } // but for that
	t.Cleanup(func() { close(forever) })                     // before the relay is waited for
	deadID := w.destination("dead", dead, commands.CreateDestination{})
	muteID := w.destination("mute", mute, commands.CreateDestination{})
	aliveID := w.destination("alive", alive, commands.CreateDestination{})
	reasons := make(chan Reason, 100)
	relay := w.relay(func(c *Config) {
		c.Patience = 50 * time.Millisecond
		c.Observer.Failed = func(name, _ string, reason Reason) { reasons <- Reason(name+" ") + reason }
	})
	stop := w.run(t, relay)
	dead.wait(t, func() bool { return dead.batches == 1 })
	mute.wait(t, func() bool { return mute.batches >= 1 })
	w.commits(20)
	alive.wait(t, func() bool { return len(alive.held) >= 23 })
	got := map[Reason]bool{}
	for !got["dead hangs"] || !got["mute publish"] {
		got[<-reasons] = true
	}
	for _, id := range []ids.ID{deadID, muteID} {
		r, _ := w.row(id)
		for r.failures == 0 || r.leased { // it is told before it is written down
			r, _ = w.row(id)
		}
		if r.Position != 0 {
			t.Errorf("%+v", r)
		}
	}
	stop()
	w.Sequence()
	w.try(w.relay().runner(aliveID))
	w.requireAll(aliveID, alive, 0)
}

// A destination that is removed while a batch is under way is let go of, and its
// connection with it; a paused one, and one with other settings, too.
func TestWhatAnOperatorDecreesTakesEffect(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := newBroker(true)
	id := w.destination("d", b, commands.CreateDestination{})
	var once sync.Once
	under, removed := make(chan struct{}), make(chan struct{})
	b.before = func(context.Context) {
		once.Do(func() { close(under) })
		<-removed
	}
	stop := w.run(t, w.relay())
	<-under
	if err := w.Commands.RemoveDestination(t.Context(), w.Call(), commands.RemoveDestination{Destination: id}); err != nil {
		t.Fatal(err)
	}
	close(removed)
	b.wait(t, func() bool { return b.closed == 1 })
	if _, found := w.row(id); found {
		t.Error("its row is there")
	}
	b.before = nil

	c := newBroker(true)
	id = func() ids.ID {
		w.brokers["e"] = c
		d, err := w.Commands.CreateDestination(t.Context(), w.Call(), commands.CreateDestination{Name: "e", Kind: "log", OnRefusal: "halt"})
		if err != nil {
			t.Fatal(err)
		}
		return d.ID
	}()
	w.commits(1)
	c.wait(t, func() bool { return len(c.held) > 0 })
	if _, err := w.Commands.UpdateDestination(t.Context(), w.Call(), commands.UpdateDestination{Destination: id, Settings: map[string]string{"a": "b"}}); err != nil {
		t.Fatal(err)
	}
	c.wait(t, func() bool { return c.opened == 2 && c.closed == 1 })
	if c.seen[1].Settings["a"] != "b" {
		t.Errorf("connected as %+v", c.seen[1])
	}
	if _, err := w.Commands.PauseDestination(t.Context(), w.Call(), commands.PauseDestination{Destination: id}); err != nil {
		t.Fatal(err)
	}
	c.wait(t, func() bool { return c.closed == 2 })
	w.commits(2)
	if _, err := w.Commands.ResumeDestination(t.Context(), w.Call(), commands.ResumeDestination{Destination: id}); err != nil {
		t.Fatal(err)
	}
	c.wait(t, func() bool { return c.opened == 3 })
	w.commits(1)
	stop()
	w.Sequence()
	w.try(w.relay().runner(id))
	w.requireAll(id, c, 0)
}

// Many commits, two processes, three destinations: everything arrives, in order,
// and once, and the leases are free when the processes have ended.
func TestTwoProcessesPublishEverything(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	brokers := []*broker{newBroker(true), newBroker(true), newBroker(true)}
	var list []ids.ID
	for i, name := range []string{"a", "b", "c"} {
		list = append(list, w.destination(name, brokers[i], commands.CreateDestination{}))
	}
	stop := w.run(t, w.relay(), w.relay())
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for range 15 {
				if _, err := w.Commands.CreateNamespace(t.Context(), w.Call(), commands.CreateNamespace{Warehouse: w.Warehouse, Namespace: []string{w.IDs.New().String()}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	for _, b := range brokers {
		b.wait(t, func() bool { return len(b.held) >= 60 })
	}
	stop()
	w.Sequence()
	for i, id := range list {
		if r, _ := w.row(id); r.leased {
			t.Error("a lease is held by nobody")
		}
		w.try(w.relay().runner(id))
		w.requireAll(id, brokers[i], 0)
	}
}

// A destination that failed is tried again when its time has come, without news.
func TestABrokerThatComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := newBroker(true)
	b.down = errors.New("away")
	w.destination("d", b, commands.CreateDestination{})
	failed := make(chan Reason, 100)
	w.run(t, w.relay(func(c *Config) {
		c.FirstWait, c.LongestWait = time.Millisecond, 2*time.Millisecond
		c.Observer.Failed = func(_, _ string, reason Reason) {
			select {
			case failed <- reason:
			default:
			}
		}
	}))
	for range 3 {
		if reason := <-failed; reason != ReasonConnect {
			t.Errorf("failed for %s", reason)
		}
	}
	b.mu.Lock()
	b.down = nil
	b.mu.Unlock()
	b.wait(t, func() bool { return len(b.held) > 0 })
}
