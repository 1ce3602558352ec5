package commands

import (
	"context"
	"errors"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// Expiry names what a job ends: an object that was dropped softly, or a namespace
// with all that was dropped with it, for one drop of it and for no other.
type Expiry struct{ Warehouse, Object, Drop ids.ID }

// ErrExpiryOver means that there is nothing to expire: it was done, the object
// came back, or another was registered at its place.
var ErrExpiryOver = errors.New("the expiry is over")

// NotYetError means that the time to come back is not over by this server's clock.
type NotYetError struct{ Left time.Duration }

func (e *NotYetError) Error() string { return "it can come back for another " + e.Left.String() }

// Expire ends what was dropped softly, for good: its files are deleted by a job,
// or its locations are free, as its drop wanted it. It acts only if the drop is
// still the one that it was made for, and it and an undrop race on the version of
// the object, so that one of them wins. A warehouse that is not active is no
// obstacle, nor is protection.
func (s *Service) Expire(ctx context.Context, in Expiry) error {
	return s.expireFor(ctx, s.own(), in, false)
}

// expireFor is [Service.Expire] in somebody's name, and before its time if it is
// to be early.
func (s *Service) expireFor(ctx context.Context, call Call, in Expiry, early bool) error {
	_, err := s.attempt(ctx, []string{lineOfDropped(in.Object)}, func(ctx context.Context, t *try) error {
		facts, err := s.resolve(ctx, projections.Query{Warehouse: in.Warehouse})
		if err != nil {
			return err
		}
		f := &facts[0]
		if !f.Warehouse.Exists {
			return ErrExpiryOver
		}
		t.commit = s.newCommit(f, nil)
		if err := s.expire(ctx, call, &in, early, f, t.commit); err != nil {
			t.commit = nil
			return err
		}
		for i := range t.commit.Records {
			t.commit.Records[i].Causation = in.Drop
		}
		return nil
	})
	return err
}

func (s *Service) expire(ctx context.Context, call Call, in *Expiry, early bool, f *projections.Facts, c *eventstore.Commit) error {
	d, found, err := s.deps.Claims.Dropped(ctx, in.Warehouse, in.Object)
	if err != nil {
		return unavailable(err, "The catalog is not available")
	}
	if !found {
		return s.expireTree(ctx, call, in, early, f, c)
	}
	if d.DropEvent != in.Drop || !d.Expires || !d.DropRoot.IsNil() {
		return ErrExpiryOver
	}
	if err := s.due(d.ExpiresAt); err != nil && !early {
		return err
	}
	event := catalog.Expired{Ended: endedOf(&d), PurgeRequested: d.PurgeRequested}
	if !d.PurgeRequested {
		event.ClaimsReleased = d.Claims
	}
	record, err := s.record(call, d.ID, catalog.NewExpired(d.Kind, event), f)
	if err != nil {
		return err
	}
	c.Records = []eventstore.Record{record}
	c.Streams = []eventstore.Stream{{
		ID: d.ID, Mode: eventstore.Advanced, Version: d.Version, Exclusive: true, Dormant: true, NextDormant: d.PurgeRequested, Close: !d.PurgeRequested,
		Pointer: d.Pointer, NextPointer: d.Pointer,
	}}
	return nil
}

func (s *Service) expireTree(ctx context.Context, call Call, in *Expiry, early bool, f *projections.Facts, c *eventstore.Commit) error {
	tree, found, err := s.deps.Claims.DroppedTree(ctx, in.Warehouse, in.Object)
	if err != nil {
		return unavailable(err, "The catalog is not available")
	}
	if !found || tree.DropEvent != in.Drop {
		return ErrExpiryOver
	}
	if err := s.due(tree.ExpiresAt); err != nil && !early {
		return err
	}
	event := &catalog.NamespaceExpired{Namespace: tree.Namespaces[0].Levels, PurgeRequested: tree.PurgeRequested, Tabulars: []catalog.ExpiredTabular{}}
	for i := range tree.Namespaces {
		event.Namespaces = append(event.Namespaces, tree.Namespaces[i].ID)
	}
	for i := range tree.Tabulars {
		ended := catalog.ExpiredTabular{TreeTabular: tabularOf(&tree.Tabulars[i])}
		if !tree.PurgeRequested {
			ended.ClaimsReleased = tree.Tabulars[i].Claims
		}
		event.Tabulars = append(event.Tabulars, ended)
	}
	record, err := s.record(call, tree.Root, event, f)
	if err != nil {
		return err
	}
	c.Records = []eventstore.Record{record}
	c.Streams = s.shifted(tree.Namespaces, &record, eventstore.Stream{Dormant: true, Close: true})
	for i := range tree.Tabulars {
		m := &tree.Tabulars[i]
		c.Streams = append(c.Streams, eventstore.Stream{
			ID: m.ID, Mode: eventstore.Shifted, SpokenFor: record.ID, Version: m.Version, Dormant: true,
			NextDormant: tree.PurgeRequested, Close: !tree.PurgeRequested, Pointer: m.Pointer, NextPointer: m.Pointer,
		})
	}
	return nil
}

// due says whether a time is over, by the clock that also gave it.
func (s *Service) due(at time.Time) error {
	if left := at.Sub(s.now()); left > 0 {
		return &NotYetError{left}
	}
	return nil
}
