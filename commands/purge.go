package commands

import (
	"context"
	"errors"
	"slices"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/storage"
)

// Purge names what a job has to delete: the files of an object, for one drop of
// it and for no other.
type Purge struct{ Warehouse, Object, Drop ids.ID }

// Purging is what a purge stands at.
type Purging struct {
	projections.Dropped
	// Store is that of the object's warehouse, Objects what the object claims in
	// it: a purge touches nothing else (law 5).
	Store   storage.Store
	Objects storage.Objects
	// Folders are the locations of the claims, Cleared those among them below
	// which all that lies is the object's own: they were empty when it claimed them.
	Folders, Cleared []string
	// Announced is what the purge started with, or would. Everything in it says
	// that all claims are cleared; the rest, before the start, is for the job to
	// find out.
	Announced catalog.PurgeStarted

	facts *projections.Facts
}

// ErrPurgeOver means that there is nothing to purge: it was done, the object came
// back, or another was registered at its place.
var ErrPurgeOver = errors.New("the purge is over")

// ResolvePurge finds out what a purge stands at, or [ErrPurgeOver]. A warehouse
// that is not active is no obstacle.
func (s *Service) ResolvePurge(ctx context.Context, in Purge) (*Purging, error) {
	facts, err := s.resolve(ctx, projections.Query{Warehouse: in.Warehouse})
	if err != nil {
		return nil, err
	}
	p := &Purging{facts: &facts[0]}
	var found bool
	if p.Dropped, found, err = s.deps.Claims.Dropped(ctx, in.Warehouse, in.Object); err != nil {
		return nil, unavailable(err, "The catalog is not available")
	}
	if !found || p.DropEvent != in.Drop || !p.PurgeRequested || p.Expires || !p.facts.Warehouse.Exists {
		return nil, ErrPurgeOver
	}
	if p.Store, err = s.store(ctx, p.facts); err != nil {
		return nil, err
	}
	p.Objects = scope(p.Store, p.Claims)
	for _, claim := range p.Claims {
		l, err := p.Store.Folder(storage.Key(claim))
		if err != nil {
			return nil, err
		}
		p.Folders = append(p.Folders, l.String())
		if slices.Contains(p.Vacant, claim) {
			p.Cleared = append(p.Cleared, l.String())
		}
	}
	p.Announced = catalog.PurgeStarted{Everything: len(p.Cleared) == len(p.Folders), KeepsData: p.KeepsData}
	return p, nil
}

// StartPurge says that files are deleted from now on. After it nothing brings
// the object back; one of two runs of a job wins, and both may go on.
func (s *Service) StartPurge(ctx context.Context, in Purge, report catalog.PurgeStarted) error {
	return s.purge(ctx, s.own(), in, func(p *Purging) (catalog.Event, bool) {
		if p.Purging {
			return nil, false
		}
		report.Ended = endedOf(&p.Dropped)
		return catalog.NewPurgeStarted(p.Kind, report), false
	})
}

// FinishPurge says that the files are gone, and frees the locations. That it was
// said before is no error.
func (s *Service) FinishPurge(ctx context.Context, in Purge, report catalog.Purged) error {
	err := s.purge(ctx, s.own(), in, func(p *Purging) (catalog.Event, bool) {
		report.Ended, report.ClaimsReleased = endedOf(&p.Dropped), p.Claims
		return catalog.NewPurged(p.Kind, report), true
	})
	if errors.Is(err, ErrPurgeOver) {
		return nil
	}
	return err
}

// CancelPurge says that no file is deleted any more, and frees the locations: for
// whoever called the purge off. That there is nothing to call off is no error. It
// is for a run that holds the right to delete, and has given it up for ever.
func (s *Service) CancelPurge(ctx context.Context, call Call, in Purge) error {
	err := s.purge(ctx, call, in, func(p *Purging) (catalog.Event, bool) {
		return catalog.NewPurgeCancelled(p.Kind, catalog.PurgeCancelled{
			Ended: endedOf(&p.Dropped), Started: p.Purging, ClaimsReleased: p.Claims,
		}), true
	})
	if errors.Is(err, ErrPurgeOver) {
		return nil
	}
	return err
}

// own is a call of the server itself.
func (s *Service) own() Call { return Call{Actor: authz.System, RequestID: s.deps.IDs.New()} }

// purge appends the event that decide returns, if any, to the dropped object.
func (s *Service) purge(ctx context.Context, call Call, in Purge, decide func(*Purging) (event catalog.Event, ends bool)) error {
	_, err := s.attempt(ctx, []string{"purge/" + in.Object.String()}, func(ctx context.Context, t *try) error {
		p, err := s.ResolvePurge(ctx, in)
		if err != nil {
			return err
		}
		event, ends := decide(p)
		if event == nil {
			return nil
		}
		record, err := s.record(call, p.ID, event, p.facts)
		if err != nil {
			return err
		}
		record.Causation = in.Drop
		t.commit = s.newCommit(p.facts, nil)
		t.commit.Streams = []eventstore.Stream{{
			ID: p.ID, Mode: eventstore.Advanced, Version: p.Version, Exclusive: true, Dormant: true, NextDormant: !ends, Close: ends,
			Pointer: p.Pointer, NextPointer: p.Pointer,
		}}
		t.commit.Records = []eventstore.Record{record}
		return nil
	})
	return err
}
