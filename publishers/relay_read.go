package publishers

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"
	cloudevents "github.com/cloudevents/sdk-go/v2/event"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// attributesSize is more than all attributes of an event take, in any encoding.
const attributesSize = 4 << 10

// extDataRef is where the data can be had of an event that is published without
// (CloudEvents' extension of that name).
const extDataRef = "dataref"

// batch is what is handed to a transport in one call, and what of the log it
// settles.
type batch struct {
	ctx      *late
	messages []*message.Message
	places   []Place // of the messages, and of bad
	last     Place   // when all of it is settled
	bad      error   // what stands behind the messages is no event that can be published
	err      error   // the log could not be read
}

// late is the context of messages that are made before the call that publishes
// them, which sets it.
type late struct{ context.Context } //nolint:containedctx // see there

// read reads the log after a place, up to its size when the place was claimed,
// and encodes it; the next batch while the last one is published. The channel
// ends with the log, with what cannot be read, or when stop is called.
func (r *Relay) read(ctx context.Context, c *claim, conn *connection) (batches <-chan *batch, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	out := make(chan *batch, 1)
	place, size := c.place, c.size
	go func() {
		defer close(out)
		for place.Position < size {
			b := r.readBatch(ctx, place, conn)
			if b == nil {
				return
			}
			select {
			case out <- b:
			case <-ctx.Done():
				return
			}
			if b.err != nil || b.bad != nil {
				return
			}
			place = b.last
		}
	}()
	return out, func() {
		cancel()
		for range out { // what was read ahead is forgotten, and the reader has ended
		}
	}
}

// readBatch returns nil at the end of the log.
func (r *Relay) readBatch(ctx context.Context, after Place, conn *connection) *batch {
	page, err := r.config.Log.ReadSelected(ctx, after.Position, batchEvents, batchBytes, conn.destination.Selection)
	if err != nil {
		return &batch{err: err}
	}
	if page.Last == after.Position {
		return nil
	}
	b := &batch{
		ctx: &late{ctx}, messages: make([]*message.Message, 0, len(page.Entries)), places: make([]Place, 0, len(page.Entries)),
		last: Place{Epoch: page.Epoch, Position: page.Last, Event: after.Event},
	}
	for i := range page.Entries {
		e := &page.Entries[i]
		b.places = append(b.places, Place{Epoch: e.Epoch, Position: e.Position, Event: e.ID})
		event, err := r.encode(e, conn)
		if err != nil {
			b.bad = err
			return b
		}
		b.messages = append(b.messages, FromEvent(b.ctx, event, textOf(b.last.Event)))
		b.last.Event = e.ID
	}
	return b
}

// textOf is an id as messages carry it: none is empty.
func textOf(id ids.ID) string {
	if id.IsNil() {
		return ""
	}
	return id.String()
}

// encode makes the event that is published: without its data, if the destination
// would not take it with them.
func (r *Relay) encode(e *eventstore.Entry, conn *connection) (*cloudevents.Event, error) {
	event, err := eventstore.ToCloudEvent(*e, conn.destination.Source)
	if err != nil {
		return nil, fmt.Errorf("position %d as a CloudEvent: %w", e.Position, err)
	}
	if limit := conn.limit; limit > 0 && len(e.Data) > limit-attributesSize && r.config.Reference != nil {
		event.DataEncoded = nil
		event.SetExtension(extDataRef, r.config.Reference(e.ID))
	}
	return &event, nil
}
