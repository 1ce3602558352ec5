package publishers

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"
	cloudevents "github.com/cloudevents/sdk-go/v2/event"

	"github.com/icecore-catalog/icecore/eventstore"
)

type carriedKey struct{}

// carried is the context of a message: one value for all that it carries, since
// there is one of it for each event.
type carried struct {
	context.Context //nolint:containedctx // a context that adds to its parent, as WithValue does
	event           *cloudevents.Event
	previous        string
}

// Value implements [context.Context].
func (c *carried) Value(key any) any {
	if _, ours := key.(carriedKey); ours {
		return c
	}
	return c.Context.Value(key)
}

// NewMessage returns the entry as the message that transports publish: its UUID
// is the event's id, its payload the data as stored, its context carries the
// CloudEvent (see [EventOf]) and the id of the event published there before it
// (see [PreviousOf]), which is empty for the first ever. source is the log's
// CloudEvents source.
func NewMessage(ctx context.Context, e eventstore.Entry, source, previous string) (*message.Message, error) {
	event, err := eventstore.ToCloudEvent(e, source)
	if err != nil {
		return nil, fmt.Errorf("position %d as a CloudEvent: %w", e.Position, err)
	}
	return FromEvent(ctx, &event, previous), nil
}

// FromEvent is [NewMessage] of an event that is one already.
func FromEvent(ctx context.Context, event *cloudevents.Event, previous string) *message.Message {
	m := message.NewMessage(event.ID(), event.Data())
	m.SetContext(&carried{ctx, event, previous})
	return m
}

// EventOf returns the CloudEvent of a message that [NewMessage] made, or nil. It
// is shared: nobody changes it.
func EventOf(m *message.Message) *cloudevents.Event {
	if c, ok := m.Context().Value(carriedKey{}).(*carried); ok {
		return c.event
	}
	return nil
}

// PreviousOf returns the id of the event that was published to the same
// destination before this one; empty for the first.
func PreviousOf(m *message.Message) string {
	if c, ok := m.Context().Value(carriedKey{}).(*carried); ok {
		return c.previous
	}
	return ""
}
