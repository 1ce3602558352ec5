package queries

import (
	"context"
	"strconv"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// Destination is a destination as its operator decreed it, and how it is doing.
type Destination = projections.Destination

// ParkedEvent is an event that a destination refused for good.
type ParkedEvent = projections.ParkedEvent

// DestinationBackingOff is the status of a destination that failed, and waits.
const DestinationBackingOff = projections.DestinationBackingOff

// unknownDestination stands for a destination that callers name and nobody made.
// It is asked for like any other, so that missing and forbidden look alike.
var unknownDestination = ids.MustParse("00000000-0000-7000-8000-0000000000de")

// DestinationID returns the destination of that id or name. A name that nobody
// gave is no error here: what is then asked of the destination says that it is
// missing, to whom may know.
func (s *Service) DestinationID(ctx context.Context, text string) (ids.ID, error) {
	if id, err := ids.Parse(text); err == nil && !id.IsNil() {
		return id, nil
	}
	if !catalog.Addressable(text) {
		return unknownDestination, nil
	}
	d, found, err := s.details.DestinationNamed(ctx, text)
	switch {
	case err != nil:
		return ids.Nil, unavailable(err)
	case found:
		return d.ID, nil
	}
	return unknownDestination, nil
}

// mayListDestinations asks for the right to see where the log is published to.
func (s *Service) mayListDestinations(ctx context.Context, actor authz.Actor) error {
	f, err := s.resolve(ctx, projections.Query{})
	if err != nil {
		return err
	}
	return authz.Check(ctx, s.deps.Authorizer, actor, subject.Server(f), authz.ServerListDestinations, nil)
}

// ListDestinations lists all destinations, by name.
func (s *Service) ListDestinations(ctx context.Context, actor authz.Actor) ([]Destination, error) {
	if err := s.mayListDestinations(ctx, actor); err != nil {
		return nil, err
	}
	list, err := s.details.Destinations(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	return list, nil
}

// GetDestination returns a destination and how it is doing.
func (s *Service) GetDestination(ctx context.Context, actor authz.Actor, id ids.ID) (Destination, error) {
	if err := s.mayListDestinations(ctx, actor); err != nil {
		return Destination{}, err
	}
	d, found, err := s.details.Destination(ctx, id)
	switch {
	case err != nil:
		return d, unavailable(err)
	case !found:
		return d, &catalog.Error{Kind: catalog.NoSuchDestination, Message: "Destination does not exist"}
	}
	return d, nil
}

// ParkedEvents lists what a destination refused for good, by position. It pages
// always.
func (s *Service) ParkedEvents(ctx context.Context, actor authz.Actor, id ids.ID, page Page) (list []ParkedEvent, next string, err error) {
	d, err := s.GetDestination(ctx, actor, id)
	if err != nil {
		return nil, "", err
	}
	l := listing{name: "parked-events", actor: actor, of: d.ID}
	size, text, err := s.opened(l, page)
	if err != nil {
		return nil, "", err
	}
	var after int64
	if text != "" {
		if after, err = strconv.ParseInt(text, 10, 64); err != nil {
			return nil, "", &catalog.Error{Kind: catalog.BadRequest, Message: "Invalid page token", Cause: err}
		}
	}
	if list, err = s.details.Parked(ctx, d.ID, after, size+1); err != nil {
		return nil, "", unavailable(err)
	}
	if len(list) > size {
		list = list[:size]
		next = s.tokens.seal(strconv.FormatInt(list[size-1].Position, 10), bind(actor, l.name, d.ID))
	}
	return list, next, nil
}
