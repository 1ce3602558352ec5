package queries

import (
	"context"
	"errors"
	"fmt"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// EventReader reads the log; [*eventstore.Store] is one.
type EventReader interface {
	// Entry returns one event by its id, or [eventstore.ErrNotSequenced].
	Entry(ctx context.Context, event ids.ID) (eventstore.Entry, error)
}

// Event is an event of the log as consumers get it.
type Event struct {
	Structured []byte // the CloudEvent in structured mode
	Data       []byte // as stored
}

// Event returns an event that has its place in the log. It takes the right to read
// the whole log, for what an event names may lie anywhere.
func (s *Service) Event(ctx context.Context, actor authz.Actor, id ids.ID) (Event, error) {
	f, err := s.resolve(ctx, projections.Query{})
	if err != nil {
		return Event{}, err
	}
	if err := authz.Check(ctx, s.deps.Authorizer, actor, subject.Server(f), authz.ServerReadEvents, nil); err != nil {
		return Event{}, err
	}
	entry, err := s.deps.Events.Entry(ctx, id)
	switch {
	case errors.Is(err, eventstore.ErrNotSequenced):
		return Event{}, &catalog.Error{Kind: catalog.NotFound, Message: "Event does not exist"}
	case err != nil:
		return Event{}, unavailable(err)
	}
	event, err := eventstore.ToCloudEvent(entry, "urn:icecore:"+f.Server.ID.String())
	if err != nil {
		return Event{}, err
	}
	structured, err := event.MarshalJSON()
	if err != nil {
		return Event{}, fmt.Errorf("event %s in structured mode: %w", id, err)
	}
	return Event{Structured: structured, Data: entry.Data}, nil
}
