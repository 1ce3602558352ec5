package publishers

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// runner publishes to one destination. It holds its lease while there is work,
// and then until the lease ends, so that a destination stays with one process.
type runner struct {
	relay  *Relay
	id     ids.ID
	owner  ids.ID // of leases
	wake   chan struct{}
	cancel context.CancelFunc

	held    atomic.Bool  // as far as we know
	version atomic.Int64 // of the destination at the last look or claim

	// What follows is the goroutine's own.
	until       time.Time // the lease ends, by our clock, not before
	conn        *connection
	corrections int   // of the place, since a batch was taken
	size        int64 // of the log when the place was moved last
}

// turn is what to do next.
type turn int

const (
	goOn  turn = iota // with what is at hand
	again             // with what stands in the row now
	rest              // until there are news
)

// news says that there may be something to do.
func (d *runner) news() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// run works until ctx ends, or nobody has needed it for long.
func (d *runner) run(ctx context.Context) {
	defer d.relay.leave(d, true)
	defer d.release(ctx)
	defer d.disconnect()
	timer := time.NewTimer(idleTime)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.wake:
			d.work(ctx)
		case <-timer.C:
			if d.held.Load() {
				d.work(ctx)
			} else if d.relay.leave(d, false) {
				return
			}
		}
		if d.held.Load() {
			timer.Reset(tick)
		} else {
			timer.Reset(idleTime)
		}
	}
}

// release gives up the lease, so that others need not wait for its end. It may be
// ours although there is nothing to do with it.
func (d *runner) release(ctx context.Context) {
	if d.held.Store(false); d.until.IsZero() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, _ = d.relay.config.Pool.Exec(ctx, releaseSQL, uuid(d.id), uuid(d.owner)) // it ends by itself, too
}

// work publishes what there is to publish.
func (d *runner) work(ctx context.Context) {
	if d.conn != nil && d.conn.destination.Version != d.version.Load() {
		d.disconnect()
	}
	for ctx.Err() == nil {
		c, err := d.claim(ctx)
		if err != nil {
			d.relay.warn(ctx, "a destination waits for the database", err)
			return
		}
		if c == nil || !c.behind() {
			return
		}
		next := d.connect(ctx, c)
		if next == goOn {
			if c.retries {
				next = d.retry(ctx, c)
			} else {
				next = d.drain(ctx, c)
			}
		}
		if next == rest {
			return
		}
	}
}

// claim is transaction 1. It asks for the lease only when less than half of it
// is left, or there is none, and otherwise looks whether it is still ours and the
// destination is to be published to. Without a claim there is nothing to do, or
// somebody else does it.
func (d *runner) claim(ctx context.Context) (c *claim, err error) {
	config := &d.relay.config
	now := config.Clock.Now()
	if d.held.Load() && d.until.Sub(now) > config.Lease/2 {
		if c, err = d.claims(ctx, checkSQL, uuid(d.id), uuid(d.owner)); err != nil {
			return nil, err
		}
	}
	if c == nil {
		if c, err = d.claims(ctx, takeSQL, uuid(d.id), uuid(d.owner), config.Lease.Microseconds()); err != nil {
			return nil, err
		}
		d.held.Store(c != nil)
		d.until = now.Add(config.Lease)
	}
	if c != nil {
		d.version.Store(c.destination.Version)
	}
	return c, nil
}

// drain publishes the log from the place of a claim to the size that it had.
func (d *runner) drain(ctx context.Context, c *claim) turn {
	batches, stop := d.relay.read(ctx, c, d.conn)
	defer stop()
	for b := range batches {
		if b.err != nil {
			d.relay.warn(ctx, "a destination waits for the log", b.err)
			return rest
		}
		if next := d.deliver(ctx, c, b); next != goOn {
			return next
		}
	}
	if c.place.Position >= d.size {
		return rest // who adds to the log now wakes us
	}
	return again
}

// deliver publishes a batch and moves the place of the claim behind it.
func (d *runner) deliver(ctx context.Context, c *claim, b *batch) turn {
	var err error
	if len(b.messages) > 0 {
		err = d.publish(ctx, b)
	}
	if err == nil && b.bad != nil {
		err = &BatchError{Index: len(b.messages), Permanent: true, Err: b.bad}
	}
	if err != nil {
		return d.refused(ctx, c, b, err)
	}
	return d.move(ctx, c, end{place: b.last, published: len(b.messages)})
}

// move settles what went well and looks whether to go on.
func (d *runner) move(ctx context.Context, c *claim, e end) turn {
	version, size, ours, err := d.settle(ctx, c.place, e)
	switch {
	case err != nil:
		d.relay.warn(ctx, "the place of a destination was not moved", err)
		return rest
	case !ours:
		return again // it was put elsewhere, or somebody else is at it
	}
	c.place, c.failures, d.size = e.place, e.failures, size
	if e.published > 0 {
		d.corrections = 0
	}
	if version != c.destination.Version {
		return again
	}
	return goOn
}

// refused settles a batch that was not taken, or not as a whole.
func (d *runner) refused(ctx context.Context, c *claim, b *batch, err error) turn {
	if ctx.Err() != nil {
		return rest // we stop: what was taken is found out by whoever goes on
	}
	index, permanent, _ := b.refusal(err)
	upto := c.place
	if index > 0 {
		upto = b.places[index-1]
	}
	switch {
	case errors.Is(err, ErrMismatch):
		if index > 0 {
			if next := d.move(ctx, c, end{place: upto, published: index}); next != goOn {
				return next
			}
		}
		return d.mismatch(ctx, c, err)
	case !permanent:
		return d.failed(ctx, c, upto, index, reasonFor(err, ReasonPublish), err)
	}
	d.conn.ready = false // only a failure, but the transport may want to hear of it
	at, config := b.places[index], &d.relay.config
	text := "an event was refused for good"
	if c.destination.Park {
		config.Logger.WarnContext(ctx, text+" and is parked", "destination", c.destination.Name, "position", at.Position, "event", at.Event.String(), "error", err)
		if f := config.Observer.Parked; f != nil {
			f(c.destination.Name, c.destination.Kind)
		}
		next := d.move(ctx, c, end{place: Place{Epoch: at.Epoch, Position: at.Position, Event: upto.Event}, published: index, err: reasonWithin(err), parked: at})
		if next == goOn {
			next = again
		}
		return next
	}
	config.Logger.ErrorContext(ctx, text+": the destination has halted", "destination", c.destination.Name, "position", at.Position, "event", at.Event.String(), "error", err)
	if f := config.Observer.Halted; f != nil {
		f(c.destination.Name, c.destination.Kind)
	}
	d.move(ctx, c, end{place: upto, published: index, failures: 1, err: reasonWithin(err), halted: at.Position})
	return rest
}

// reasonWithin leaves out the place in a batch, which says nothing to a reader.
func reasonWithin(err error) error {
	var refused *BatchError
	if errors.As(err, &refused) && refused.Err != nil {
		return refused.Err
	}
	return err
}

// failed settles a failure that passes: what was taken stays so, and the next try
// is later, by this process or another.
func (d *runner) failed(ctx context.Context, c *claim, upto Place, taken int, reason Reason, err error) turn {
	if ctx.Err() != nil {
		return rest
	}
	if d.conn != nil {
		d.conn.ready = false
		if d.conn.hangs || errors.Is(err, ErrFenced) {
			d.disconnect()
		}
	}
	failures := c.failures + 1
	if taken > 0 {
		failures = 1
	}
	wait := d.relay.wait(failures)
	d.relay.config.Logger.WarnContext(ctx, "a destination failed and will be tried again", "destination", c.destination.Name, "kind", c.destination.Kind,
		"reason", string(reason), "failures", failures, "wait", wait.String(), "error", err)
	if f := d.relay.config.Observer.Failed; f != nil {
		f(c.destination.Name, c.destination.Kind, reason)
	}
	if _, _, _, err := d.settle(ctx, c.place, end{place: upto, published: taken, failures: failures, wait: &wait, err: reasonWithin(err)}); err != nil {
		d.relay.warn(ctx, "the failure of a destination was not written down", err)
	}
	d.relay.lookAgain() // which finds out when it is time
	return rest
}

// wait is the pause after so many failures in a row: it doubles, and jitter
// spreads those that failed together.
func (r *Relay) wait(failures int) time.Duration {
	pause := r.config.LongestWait
	if doublings := failures - 1; doublings < 20 {
		pause = min(pause, r.config.FirstWait<<doublings)
	}
	return pause/2 + time.Duration(float64(pause/2)*r.config.Random())
}

// retryPage bounds the parked events that are taken up at once.
const retryPage = 100

// retry publishes parked events again, each by itself, behind what was published
// last.
func (d *runner) retry(ctx context.Context, c *claim) turn {
	list, err := d.parked(ctx)
	if err != nil {
		d.relay.warn(ctx, "a destination waits for the database", err)
		return rest
	}
	for _, at := range list {
		entry, err := d.relay.config.Log.Entry(ctx, at.Event)
		if err != nil {
			d.relay.warn(ctx, "a parked event cannot be read", err)
			return rest
		}
		at.Epoch = entry.Epoch
		b := &batch{ctx: &late{ctx}, places: []Place{at}}
		var refusal error
		if event, err := d.relay.encode(&entry, d.conn); err != nil {
			refusal = err
		} else {
			b.messages = []*message.Message{FromEvent(b.ctx, event, textOf(c.place.Event))}
			err := d.publish(ctx, b)
			_, permanent, _ := b.refusal(err)
			switch {
			case err == nil:
			case errors.Is(err, ErrMismatch):
				return d.mismatch(ctx, c, err)
			case !permanent:
				return d.failed(ctx, c, c.place, 0, reasonFor(err, ReasonPublish), err)
			default:
				refusal, d.conn.ready = reasonWithin(err), false
			}
		}
		if next := d.retried(ctx, c, at, refusal); next != goOn {
			return next
		}
	}
	return again
}

// parked returns parked events that are to be published again.
func (d *runner) parked(ctx context.Context) ([]Place, error) {
	rows, err := d.relay.config.Pool.Query(ctx, retriesSQL, uuid(d.id), retryPage)
	if err != nil {
		return nil, fmt.Errorf("read parked events: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (p Place, err error) {
		var event pgtype.UUID
		err = row.Scan(&p.Position, &event)
		p.Event = event.Bytes
		return p, err
	})
}

// retried settles a parked event that was taken, or refused again.
func (d *runner) retried(ctx context.Context, c *claim, at Place, refusal error) turn {
	var reason *string
	if refusal != nil {
		text := reasonOf(refusal)
		reason = &text
	}
	var id pgtype.UUID
	err := d.relay.config.Pool.QueryRow(ctx, retriedSQL, uuid(d.id), uuid(d.owner), c.place.Position, at.Position, uuid(at.Event),
		reason, d.relay.config.Lease.Microseconds()).Scan(&id)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		d.held.Store(false)
		return again
	case err != nil:
		d.relay.warn(ctx, "a parked event was not settled", err)
		return rest
	case refusal != nil:
		return again // the transport has to be prepared
	}
	c.place.Event, d.corrections = at.Event, 0
	return goOn
}
