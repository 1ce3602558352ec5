package publishers

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"
	cloudevents "github.com/cloudevents/sdk-go/v2/event"

	"github.com/icecore-catalog/icecore/eventstore"
)

type eventKey struct{}
type previousKey struct{}

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
	ctx = context.WithValue(ctx, eventKey{}, event)
	m.SetContext(context.WithValue(ctx, previousKey{}, previous))
	return m
}

// EventOf returns the CloudEvent of a message that [NewMessage] made, or nil. It
// is shared: nobody changes it.
func EventOf(m *message.Message) *cloudevents.Event {
	event, _ := m.Context().Value(eventKey{}).(*cloudevents.Event)
	return event
}

// PreviousOf returns the id of the event that was published to the same
// destination before this one; empty for the first.
func PreviousOf(m *message.Message) string {
	id, _ := m.Context().Value(previousKey{}).(string)
	return id
}
