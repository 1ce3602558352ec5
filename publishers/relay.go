package publishers

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// Config is what a relay needs. Zero values of what stands below Connect are
// replaced by what their comments say.
type Config struct {
	Pool    *pgxpool.Pool // as the application role; used for moments
	Log     *eventstore.Store
	Connect Connector
	// Source tells the CloudEvents source of the log.
	Source func(ctx context.Context) (string, error)

	// Reference returns where the data of an event can be had that is too large
	// for a destination: a path of this server.
	Reference func(event ids.ID) string
	// Decorate returns what is put around the publisher of a destination, the
	// innermost first: none.
	Decorate func(d *Destination) []message.PublisherDecorator
	Observer Observer
	Clock    clock.Clock    // clock.System
	IDs      ids.Source     // ids.NewV7(Clock)
	Random   func() float64 // from 0 to below 1: math/rand
	Logger   *slog.Logger   // discards

	// Lease is how long a destination is ours without a sign of life: 15 s. It is
	// longer than a batch may take.
	Lease time.Duration
	// Patience bounds each call of a transport: 10 s.
	Patience time.Duration
	// FirstWait and LongestWait bound the pauses after failures, which double:
	// 250 ms and 30 s.
	FirstWait, LongestWait time.Duration
	// Pace is the least time between two looks at all destinations: 100 ms. Those
	// that this process holds do not wait for a look.
	Pace time.Duration
}

const (
	batchEvents = 500
	batchBytes  = 4 << 20
	// grace is how much longer than its context a call may take before its
	// transport is given up.
	grace = 2 * time.Second
	// tick is how often a destination that we hold is looked at without news,
	// until its lease ends: behind a pooler no news come.
	tick = time.Second
	// idleTime is how long a connection is kept that nobody needs.
	idleTime = 10 * time.Minute
	// lookTime is the time between two looks without news; with no destination
	// there is little to find.
	lookTime, emptyLookTime = 5 * time.Second, 30 * time.Second
)

func (c *Config) defaults() {
	if c.Clock == nil {
		c.Clock = clock.System{}
	}
	if c.IDs == nil {
		c.IDs = ids.NewV7(c.Clock)
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Decorate == nil {
		c.Decorate = func(*Destination) []message.PublisherDecorator { return nil }
	}
	for value, otherwise := range map[*time.Duration]time.Duration{
		&c.Lease: 15 * time.Second, &c.Patience: 10 * time.Second,
		&c.FirstWait: 250 * time.Millisecond, &c.LongestWait: 30 * time.Second, &c.Pace: 100 * time.Millisecond,
	} {
		if *value == 0 {
			*value = otherwise
		}
	}
}

// Relay publishes the log to all destinations, each by a goroutine of its own,
// for as long as this process has its lease.
type Relay struct {
	config Config
	kicked chan struct{}
	known  atomic.Int64

	mu      sync.Mutex
	runners map[ids.ID]*runner
	running sync.WaitGroup
}

// NewRelay returns a relay that does nothing until [Relay.Run].
func NewRelay(c Config) *Relay {
	c.defaults()
	return &Relay{config: c, kicked: make(chan struct{}, 1), runners: map[ids.ID]*runner{}}
}

// Destinations is how many destinations there were at the last look.
func (r *Relay) Destinations() int { return int(r.known.Load()) }

// Kick says that there may be something to do for a destination.
func (r *Relay) Kick(destination ids.ID) {
	r.mu.Lock()
	if d := r.runners[destination]; d != nil {
		d.news()
	}
	r.mu.Unlock()
	r.lookAgain()
}

// lookAgain has the next look come at once, but for the pace.
func (r *Relay) lookAgain() {
	select {
	case r.kicked <- struct{}{}:
	default:
	}
}

// Run publishes until ctx ends. It returns when all batches have ended, or are
// given up, and the leases are released.
//
// News of the log wake the destinations that this process holds at once, and are
// the reason for a look at all of them. What is missed, a later look finds.
func (r *Relay) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer r.running.Wait()
	defer cancel()
	healed := false
	for ctx.Err() == nil {
		changed := r.config.Log.Changed()
		r.wake()
		if !healed {
			if _, err := r.config.Pool.Exec(ctx, healSQL); err != nil {
				r.warn(ctx, "destinations without a place were not looked for", err)
			}
		}
		pause, err := r.look(ctx)
		if err != nil {
			r.warn(ctx, "the destinations cannot be looked at", err)
		}
		healed = r.rest(ctx, changed, pause)
	}
	return nil
}

func (r *Relay) warn(ctx context.Context, text string, err error) {
	if ctx.Err() == nil && !errors.Is(err, context.Canceled) {
		r.config.Logger.WarnContext(ctx, text, "error", err)
	}
}

// rest waits until the next look: pause, or less with news, but never less than
// the pace. It reports whether there were news.
func (r *Relay) rest(ctx context.Context, changed <-chan struct{}, pause time.Duration) bool {
	end, pace := time.NewTimer(max(pause, r.config.Pace)), time.NewTimer(r.config.Pace)
	defer end.Stop()
	defer pace.Stop()
	news, paced := false, false
	for {
		select {
		case <-ctx.Done():
			return true
		case <-end.C:
			return news
		case <-pace.C:
			paced = true
		case <-r.kicked:
			news = true
		case <-changed:
			changed = r.config.Log.Changed()
			r.wake()
			news = true
		}
		if news && paced {
			return true
		}
	}
}

// wake tells the runners that hold a lease.
func (r *Relay) wake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.runners {
		if d.held.Load() {
			d.news()
		}
	}
}

// look finds out for which destinations there is something to do, and sees to
// it. It returns when the next look is due without news.
func (r *Relay) look(ctx context.Context) (time.Duration, error) {
	list, err := r.standings(ctx)
	if err != nil {
		return time.Second, err
	}
	r.known.Store(int64(len(list)))
	next := lookTime
	if len(list) == 0 {
		next = emptyLookTime
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	there := make(map[ids.ID]bool, len(list))
	for _, s := range list {
		d := r.runners[s.id]
		switch {
		case s.still:
			continue // a runner that it has is ended below
		case d != nil && d.version.Swap(s.version) != s.version:
			d.news() // to let go of its connection
		}
		there[s.id] = true
		wait := s.retry
		if !s.owner.IsNil() && (d == nil || s.owner != d.owner) {
			wait = max(wait, s.lease)
		}
		switch {
		case !s.behind:
		case wait > 0:
			next = min(next, wait+time.Millisecond)
		case d != nil:
			d.news()
		default:
			r.start(ctx, s.id)
		}
	}
	for id, d := range r.runners {
		if !there[id] {
			d.cancel()
		}
	}
	return next, nil
}

// start runs a destination. The lock is held.
func (r *Relay) start(ctx context.Context, id ids.ID) {
	ctx, cancel := context.WithCancel(ctx)
	d := &runner{relay: r, id: id, owner: r.config.IDs.New(), wake: make(chan struct{}, 1), cancel: cancel}
	d.news()
	r.runners[id] = d
	r.running.Go(func() {
		defer cancel()
		d.run(ctx)
	})
}

// leave takes a runner out, unless it has news.
func (r *Relay) leave(d *runner, always bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !always && len(d.wake) > 0 {
		return false
	}
	if r.runners[d.id] == d {
		delete(r.runners, d.id)
		r.lookAgain() // somebody may have wanted it in the meantime
	}
	return true
}
