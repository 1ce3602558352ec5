package publishers

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/icecore-catalog/icecore/eventstore"
)

// maxCorrections bounds the corrections of a place with nothing published in
// between: somebody else is at work there, or the destination contradicts itself.
const maxCorrections = 3

// errForeign is a destination that holds something else.
var errForeign = errors.New("the destination's last event is not of this log: it belongs to another one, or somebody else publishes there; " +
	"empty it, or give the destination another place to write to")

// mismatch asks a destination where it stands and sets the place to it.
func (d *runner) mismatch(ctx context.Context, c *claim, cause error) turn {
	d.conn.ready = false
	if d.corrections++; d.corrections > maxCorrections {
		return d.failed(ctx, c, c.place, 0, ReasonMismatch, cause)
	}
	if err := d.patiently(ctx, d.conn, d.conn.transport.Prepare); err != nil {
		return d.failed(ctx, c, c.place, 0, reasonFor(err, ReasonConnect), fmt.Errorf("prepare: %w", err))
	}
	last, ok, err := d.last(ctx)
	if err != nil {
		return d.failed(ctx, c, c.place, 0, reasonFor(err, ReasonMismatch), err)
	}
	if ok && c.retries {
		if next, was := d.tookParked(ctx, c, last); was {
			return next
		}
	}
	to := c.place
	if !ok {
		to.Event = Place{}.Event // it was emptied: what comes is the first there
	} else if to, err = d.correct(ctx, c, last); err != nil {
		return d.failed(ctx, c, c.place, 0, ReasonMismatch, err)
	}
	if to == c.place {
		return d.failed(ctx, c, c.place, 0, ReasonMismatch, cause)
	}
	return d.put(ctx, c, to)
}

// compare asks a destination that was just connected where it stands, and follows
// it when it is ahead: what it took and could not tell, or did before a fail-over.
// One that cannot be asked is believed to stand where we do.
func (d *runner) compare(ctx context.Context, c *claim) turn {
	last, ok, err := d.last(ctx)
	switch {
	case errors.Is(err, errHangs):
		return d.failed(ctx, c, c.place, 0, ReasonHangs, err)
	case err != nil:
		d.relay.config.Logger.DebugContext(ctx, "a destination cannot be asked for its last event", "destination", c.destination.Name, "error", err)
		return goOn
	case !ok || last.Event == c.place.Event:
		return goOn
	}
	if c.retries {
		if next, was := d.tookParked(ctx, c, last); was {
			d.conn.ready = true
			return next
		}
	}
	to, err := d.correct(ctx, c, last)
	switch {
	case err != nil:
		return d.failed(ctx, c, c.place, 0, ReasonMismatch, err)
	case to == c.place, to.Position < c.place.Position:
		// Behind us: it may have let go of newer events by its own rules, and will
		// object if it has not.
		return goOn
	}
	d.conn.ready = true
	return d.put(ctx, c, to)
}

func (d *runner) last(ctx context.Context) (last Place, ok bool, err error) {
	conn := d.conn
	type answer struct {
		place Place
		ok    bool
	}
	got := make(chan answer, 1) // a call that was given up may still answer
	err = d.patiently(ctx, conn, func(ctx context.Context) error {
		place, ok, err := conn.transport.Last(ctx)
		got <- answer{place, ok}
		return err
	})
	if err != nil {
		return Place{}, false, fmt.Errorf("ask for the last event: %w", err)
	}
	a := <-got
	return a.place, a.ok, nil
}

// put sets the place to where the destination stands.
func (d *runner) put(ctx context.Context, c *claim, to Place) turn {
	d.relay.config.Logger.InfoContext(ctx, "a destination's place was set to where it stands", "destination", c.destination.Name,
		"from", c.place.Position, "to", to.Position, "event", textOf(to.Event))
	if f := d.relay.config.Observer.Corrected; f != nil {
		f(c.destination.Name, c.destination.Kind)
	}
	if next := d.move(ctx, c, end{place: to, failures: c.failures}); next != goOn {
		return next
	}
	return again
}

// tookParked finds out whether the last event is a parked one that was published
// again, of which we did not hear.
func (d *runner) tookParked(ctx context.Context, c *claim, last Place) (next turn, was bool) {
	list, err := d.parked(ctx)
	if err != nil {
		d.relay.warn(ctx, "a destination waits for the database", err)
		return rest, true
	}
	i := slices.IndexFunc(list, func(p Place) bool { return p.Event == last.Event })
	if i < 0 {
		return goOn, false
	}
	if next := d.retried(ctx, c, list[i], nil); next != goOn {
		return next, true
	}
	return again, true
}

// correct returns the place of a destination whose last event is another one than
// we published last.
func (d *runner) correct(ctx context.Context, c *claim, last Place) (Place, error) {
	log := d.relay.config.Log
	var published int64 // position of what we published last, 0 when that is not known
	if !c.place.Event.IsNil() {
		entry, err := log.Entry(ctx, c.place.Event)
		if err != nil && !errors.Is(err, eventstore.ErrNotSequenced) {
			return c.place, err
		}
		published = entry.Position
	}
	entry, err := log.Entry(ctx, last.Event)
	switch {
	case err == nil:
		return corrected(c.place, published, Place{Epoch: entry.Epoch, Position: entry.Position, Event: entry.ID}), nil
	case !errors.Is(err, eventstore.ErrNotSequenced):
		return c.place, err
	}
	end, over, err := log.EpochEnd(ctx, last.Epoch)
	switch {
	case err != nil:
		return c.place, err
	case !over || last.Position <= end:
		return c.place, errForeign
	}
	// The history that this event belongs to has ended before it, by a fail-over
	// or a restore: consumers hold what the log has lost, and the event that opens
	// the next epoch tells them. Whether all up to the end was published is not
	// known, and what was may come again.
	d.relay.config.Logger.WarnContext(ctx, "consumers of a destination hold events that the log lost", "destination", c.destination.Name,
		"epoch", last.Epoch, "lost_from", end+1, "lost_to", last.Position)
	if f := d.relay.config.Observer.Phantoms; f != nil {
		f(c.destination.Name, c.destination.Kind)
	}
	return Place{Epoch: c.place.Epoch, Position: c.place.Position, Event: last.Event}, nil
}

// corrected decides where a destination stands. place is our cursor, published
// the position of the event that we published last (0: not known), last the event
// that the destination holds as its newest. Whatever it answers, nothing is left
// out: in doubt, events come again.
func corrected(place Place, published int64, last Place) Place {
	here := Place{Epoch: place.Epoch, Position: place.Position, Event: last.Event}
	switch {
	case published == 0:
		// Nothing was published by us, as far as we know: what is there may be of
		// an earlier destination, which began elsewhere.
		return here
	case published > place.Position && last.Position >= published:
		// A replay was decreed. What stands behind the last event before it was
		// under way at that moment.
		return here
	case published > place.Position:
		// A replay went on, or the destination lost events: either way it goes on
		// behind what is there.
		return last
	case last.Position > place.Position:
		// It is ahead: the move of our place was lost, or another process was
		// faster. What it holds it got in order, so all up to there is settled.
		return last
	case last.Position >= published:
		// Between what we published last and our place lies nothing that we would
		// publish: another process did, by an older filter.
		return here
	default:
		// It lost events that it had acknowledged. They are published again.
		return last
	}
}
