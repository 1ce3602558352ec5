package commands

import (
	"context"
	"strings"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// maxSuperseded bounds the dropped objects that one registration ends: it is
// one, or two where metadata lies apart.
const maxSuperseded = 8

// superseded are dropped objects that end with a registration at their place.
type superseded struct {
	streams []eventstore.Stream
	records []eventstore.Record
}

// join adds their ends to the commit of the registration, before its own event:
// what they held is free when the new claim comes.
func (e *superseded) join(c *eventstore.Commit) {
	c.Streams = append(c.Streams, e.streams...)
	c.Records = append(e.records, c.Records...)
}

// supersede ends the dropped objects that hold the locations which an object
// wants to register at; by is that object. A location whose holder lives, or
// whose purge has started, is left to the constraint, which refuses it when the
// commit comes; one whose holder the caller could not have dropped is refused in
// the same words (law 8).
func (s *Service) supersede(ctx context.Context, call Call, f *projections.Facts, wanted []string, by ids.ID) (*superseded, error) {
	e := &superseded{}
	if len(wanted) == 0 {
		return e, nil
	}
	holders, err := s.deps.Claims.Holders(ctx, wanted, maxSuperseded)
	if err != nil {
		return nil, unavailable(err, "The catalog is not available")
	}
	for _, h := range holders {
		if h.Object == by || h.Warehouse != f.Warehouse.ID {
			continue
		}
		d, found, err := s.deps.Claims.Dropped(ctx, h.Warehouse, h.Object)
		if err != nil {
			return nil, unavailable(err, "The catalog is not available")
		}
		if !found || d.Purging || !holds(d.Claims, wanted) {
			continue
		}
		if err := s.mayHaveDropped(ctx, call, h.Warehouse, &d); err != nil {
			return nil, err
		}
		record, err := s.record(call, d.ID, catalog.NewSuperseded(d.Kind, catalog.Superseded{
			Ended: endedOf(&d), By: by, ClaimsReleased: d.Claims,
		}), f)
		if err != nil {
			return nil, err
		}
		e.records = append(e.records, record)
		e.streams = append(e.streams, eventstore.Stream{
			ID: d.ID, Mode: eventstore.Advanced, Version: d.Version, Exclusive: true, Close: true, Dormant: true,
			Pointer: d.Pointer, NextPointer: d.Pointer,
		})
	}
	return e, nil
}

// holds reports whether a claim is at or above a location that is wanted: only
// what was the object's own is taken over from it, not a folder around it.
func holds(claims, wanted []string) bool {
	for _, claim := range claims {
		for _, w := range wanted {
			if strings.HasPrefix(w, claim) {
				return true
			}
		}
	}
	return false
}

// mayHaveDropped asks for the right to drop an object that was dropped.
func (s *Service) mayHaveDropped(ctx context.Context, call Call, warehouse ids.ID, d *projections.Dropped) error {
	facts, err := s.resolve(ctx, projections.Query{Warehouse: warehouse, Object: d.Namespace})
	if err != nil {
		return err
	}
	on, action := subject.TableOf(&facts[0], d.ID), authz.TableDrop
	if d.Kind == catalog.EntityView {
		on, action = subject.ViewOf(&facts[0], d.ID), authz.ViewDrop
	}
	decision, err := s.deps.Authorizer.Decide(ctx, call.Actor, on, action)
	if err != nil {
		return unavailable(err, "The authorizer is not available")
	}
	if !decision.Allow {
		return &refusal{locationTaken()}
	}
	return nil
}

// endedOf is how events name a dropped object.
func endedOf(d *projections.Dropped) catalog.Ended {
	return catalog.Ended{
		TableName: catalog.TableName{NamespaceID: d.Namespace, Namespace: d.Levels, Name: d.Name},
		UUID:      d.UUID, MetadataLocation: d.Pointer,
	}
}
