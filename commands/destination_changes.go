package commands

import (
	"context"
	"encoding/json"
	"time"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// UpdateDestination is PATCH /management/v1/destinations/{destination}. What is
// nil stays as it is; the kind stays in any case.
type UpdateDestination struct {
	Destination ids.ID
	Name        *string
	Settings    map[string]string // nil keeps them; else they are all there is
	Filter      *catalog.DestinationFilter
	OnRefusal   *string
}

// PauseDestination is POST …/pause.
type PauseDestination struct{ Destination ids.ID }

// ResumeDestination is POST …/resume.
type ResumeDestination struct{ Destination ids.ID }

// ReplayDestination is POST …/replay.
type ReplayDestination struct {
	Destination ids.ID
	Start       DestinationStart
}

// SkipRefused is POST …/skip.
type SkipRefused struct {
	Destination ids.ID
	Position    int64 // where it halted; 0 means wherever that is
}

// RetryParked is POST …/parked/{position}/retry.
type RetryParked struct {
	Destination ids.ID
	Position    int64
}

// RemoveDestination is DELETE /management/v1/destinations/{destination}.
type RemoveDestination struct{ Destination ids.ID }

func noSuchDestination() error {
	return &catalog.Error{Kind: catalog.NoSuchDestination, Message: "Destination does not exist"}
}

// changeDestination advances a destination by the event that decide returns,
// and answers with what decide made of it; nil changes nothing. The stream of
// t.commit is decide's to adapt.
func (s *Service) changeDestination(
	ctx context.Context, call Call, id ids.ID, status int,
	decide func(ctx context.Context, d *Destination, t *try) (catalog.Event, error),
) (Destination, error) {
	return once(ctx, s, call, func(ctx context.Context) (d Destination, appended bool, err error) {
		receipt, err := s.attempt(ctx, []string{"destination " + id.String()}, func(ctx context.Context, t *try) error {
			f, err := s.server(ctx, call, authz.ServerManageDestinations)
			if err != nil {
				return err
			}
			var found bool
			if d, found, err = s.deps.Details.Destination(ctx, id); err != nil {
				return unavailable(err, "The catalog is not available")
			}
			if !found {
				return noSuchDestination()
			}
			t.commit = s.newCommit(f, s.claim(call, status, id, "", nil))
			t.commit.Streams = []eventstore.Stream{{ID: id, Mode: eventstore.Advanced, Version: d.Version}}
			event, err := decide(ctx, &d, t)
			if err != nil || event == nil {
				t.commit = nil
				return err
			}
			record, err := s.record(call, id, event, &projections.Facts{})
			t.commit.Records = []eventstore.Record{record}
			d.Version++
			return err
		})
		return d, len(receipt.Records) > 0, err
	}, func(ctx context.Context, stored eventstore.Idempotency) (Destination, error) {
		return s.destinationAgain(ctx, call, stored)
	})
}

// tryAtOnce is what a decision does to a destination that halted or waits.
func tryAtOnce(d *Destination) {
	d.Failures, d.RetryAfter, d.HaltedAt = 0, time.Time{}, 0
}

// UpdateDestination says what a destination is from now on. Its place stays.
func (s *Service) UpdateDestination(ctx context.Context, call Call, in UpdateDestination) (Destination, error) {
	return s.changeDestination(ctx, call, in.Destination, 200, func(ctx context.Context, d *Destination, t *try) (catalog.Event, error) {
		next := catalog.DestinationConfig{Name: d.Name, Filter: d.Filter, OnRefusal: d.OnRefusal}
		if in.Name != nil {
			next.Name = *in.Name
		}
		if in.OnRefusal != nil {
			next.OnRefusal = *in.OnRefusal
		}
		if in.Filter != nil {
			next.Filter = *in.Filter
		}
		settings := in.Settings
		if settings == nil {
			if err := json.Unmarshal(d.Settings, &settings); err != nil {
				return nil, err
			}
		}
		if err := s.checkDestination(ctx, d.Kind, settings, &next); err != nil {
			return nil, err
		}
		same, err := sameConfig(d, &next)
		if err != nil || same {
			return nil, err
		}
		t.refuse = refuseDestinationName(next.Name)
		event := &catalog.DestinationUpdated{From: d.Name, DestinationConfig: next}
		d.Name, d.Settings, d.Filter, d.OnRefusal = next.Name, next.Settings, next.Filter, next.OnRefusal
		tryAtOnce(d)
		return event, nil
	})
}

func sameConfig(d *Destination, next *catalog.DestinationConfig) (bool, error) {
	before, err := d.Filter.Encode()
	if err != nil {
		return false, err
	}
	after, err := next.Filter.Encode()
	return d.Name == next.Name && string(d.Settings) == string(next.Settings) && string(before) == string(after) && d.OnRefusal == next.OnRefusal, err
}

// PauseDestination has a destination publish nothing until it is resumed. A batch
// that is under way is finished.
func (s *Service) PauseDestination(ctx context.Context, call Call, in PauseDestination) (Destination, error) {
	return s.changeDestination(ctx, call, in.Destination, 200, func(_ context.Context, d *Destination, _ *try) (catalog.Event, error) {
		if d.Paused {
			return nil, nil
		}
		d.Paused = true
		return &catalog.DestinationPaused{Name: d.Name}, nil
	})
}

// ResumeDestination has a destination go on: one that was paused, or halted, or
// waits after failures, tries at once.
func (s *Service) ResumeDestination(ctx context.Context, call Call, in ResumeDestination) (Destination, error) {
	return s.changeDestination(ctx, call, in.Destination, 200, func(_ context.Context, d *Destination, _ *try) (catalog.Event, error) {
		if !d.Paused && d.HaltedAt == 0 && d.RetryAfter.IsZero() && d.Failures == 0 {
			return nil, nil
		}
		d.Paused = false
		tryAtOnce(d)
		return &catalog.DestinationResumed{Name: d.Name}, nil
	})
}

// ReplayDestination puts a destination to another place in the log, back or
// forth. No other one is touched; a paused one stays paused.
func (s *Service) ReplayDestination(ctx context.Context, call Call, in ReplayDestination) (Destination, error) {
	return s.changeDestination(ctx, call, in.Destination, 200, func(ctx context.Context, d *Destination, _ *try) (catalog.Event, error) {
		start, err := s.place(ctx, in.Start, d.Now)
		if err != nil {
			return nil, err
		}
		d.StartEpoch, d.StartAfter = start.Epoch, start.After
		d.Epoch, d.Position, d.NextSince = start.Epoch, start.After, time.Time{}
		d.LastError, d.LastErrorAt = "", time.Time{}
		tryAtOnce(d)
		return &catalog.DestinationReplayed{Name: d.Name, Start: start}, nil
	})
}

// SkipRefused lets the event pass at which a destination halted.
func (s *Service) SkipRefused(ctx context.Context, call Call, in SkipRefused) (Destination, error) {
	return s.changeDestination(ctx, call, in.Destination, 200, func(ctx context.Context, d *Destination, _ *try) (catalog.Event, error) {
		switch {
		case d.HaltedAt == 0:
			return nil, badRequest("The destination has not halted: there is nothing to skip")
		case in.Position != 0 && in.Position != d.HaltedAt:
			return nil, badRequest("The destination has halted at position %d, not at %d", d.HaltedAt, in.Position)
		}
		entry, err := s.entryAt(ctx, d.HaltedAt)
		if err != nil {
			return nil, err
		}
		refused := catalog.RefusedEvent{Name: d.Name, Position: entry.Position, Event: entry.ID}
		d.Epoch, d.Position, d.NextSince = entry.Epoch, entry.Position, time.Time{}
		d.LastError, d.LastErrorAt, d.Parked = "", time.Time{}, d.Parked+1
		tryAtOnce(d)
		return &catalog.DestinationSkipped{RefusedEvent: refused, Epoch: entry.Epoch}, nil
	})
}

// RetryParked has a parked event published again, after all that was published
// in the meantime.
func (s *Service) RetryParked(ctx context.Context, call Call, in RetryParked) (Destination, error) {
	return s.changeDestination(ctx, call, in.Destination, 200, func(ctx context.Context, d *Destination, _ *try) (catalog.Event, error) {
		if in.Position < 1 {
			return nil, badRequest("A position is a whole number from 1")
		}
		parked, err := s.deps.Details.Parked(ctx, d.ID, in.Position-1, 1)
		if err != nil {
			return nil, unavailable(err, "The catalog is not available")
		}
		if len(parked) == 0 || parked[0].Position != in.Position {
			return nil, &catalog.Error{Kind: catalog.NotFound, Message: "No event is parked at that position"}
		}
		if parked[0].Retry {
			return nil, nil
		}
		return &catalog.DestinationRetried{RefusedEvent: catalog.RefusedEvent{Name: d.Name, Position: in.Position, Event: parked[0].Event}}, nil
	})
}

// RemoveDestination ends a destination. What it published stays where it is.
func (s *Service) RemoveDestination(ctx context.Context, call Call, in RemoveDestination) error {
	_, err := s.changeDestination(ctx, call, in.Destination, 204, func(_ context.Context, d *Destination, t *try) (catalog.Event, error) {
		t.commit.Streams[0].Close = true
		return &catalog.DestinationRemoved{Name: d.Name}, nil
	})
	return err
}
