package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/storage"
)

// CleanUpReader reads what clean-ups rest on; [projections.CleanUps] is one.
type CleanUpReader interface {
	// Object returns a living table or view.
	Object(ctx context.Context, warehouse, object ids.ID) (projections.Cleanable, bool, error)
}

// HistoryReader reads the events of an object.
type HistoryReader interface {
	// ReadStream returns up to limit entries of a stream from a version on.
	ReadStream(ctx context.Context, stream ids.ID, fromVersion int64, limit int) ([]eventstore.Entry, error)
	// WaitFor waits until events have positions.
	WaitFor(ctx context.Context, events ...ids.ID) ([]int64, error)
}

// OrphanAge is how old a metadata file must be, by the store's clock, before it can
// be deleted. A commit rests on facts of at most [eventstore.MaxCommitAge]: by then
// no commit can still come that names the file.
const OrphanAge = 24 * time.Hour

// CleanUp asks for the metadata files of a living table or view that are of no use.
type CleanUp struct {
	Warehouse, Object ids.ID
	// UndoWindow holds where the warehouse has none of its own.
	UndoWindow time.Duration
	// After is the file behind which to begin, empty at first; see [CleanUpPlan].
	After string
	// KnownUntil lets out files written before: they were former states, which stay
	// while the table keeps those.
	KnownUntil time.Time
}

// CleanUpPlan is what a look at the files of an object found.
type CleanUpPlan struct {
	catalog.CleanUpStarted
	// Next is where to go on, empty at the end.
	Next string
	// Waiting says that there are files which may go later.
	Waiting bool
	// Unproved says why nothing can be deleted, empty where it can.
	Unproved string
	// Kept are the server's own files that stay, by reason.
	Kept map[string]int
	// KnownUntil is a time before which all files are former states, as far as was
	// looked at. Keeps says that the table keeps those.
	KnownUntil time.Time
	Keeps      bool
}

// CleaningUp is a clean-up that has started.
type CleaningUp struct {
	ID ids.ID // of its stream
	catalog.CleanUpStarted
	// Objects are the files below what the object claims now, Store all of its
	// warehouse. Ended says that the object lives no more, so that nothing is to be
	// deleted.
	Objects storage.Objects
	Store   storage.Store
	Ended   bool
}

// ErrCleanUpOver means that there is nothing to clean up: the object does not live,
// or the clean-up has finished.
var ErrCleanUpOver = errors.New("the clean-up is over")

// PlanCleanUp looks for files that can be deleted and changes nothing.
func (s *Service) PlanCleanUp(ctx context.Context, in CleanUp) (CleanUpPlan, error) {
	proof, err := s.beginProof(ctx, in)
	if err != nil {
		return CleanUpPlan{}, err
	}
	_, err = proof.prove(ctx)
	return proof.plan, err
}

// StartCleanUp looks for files that can be deleted, and announces up to
// [catalog.MaxCleaned] of them: from then on no registration can name one. Nothing
// was deleted yet. Without such files the clean-up is nil.
func (s *Service) StartCleanUp(ctx context.Context, in CleanUp) (CleanUpPlan, *CleaningUp, error) {
	proof, err := s.beginProof(ctx, in)
	if err != nil {
		return CleanUpPlan{}, nil, err
	}
	call := Call{Actor: authz.System, RequestID: s.deps.IDs.New()}
	id := s.deps.IDs.New()
	receipt, err := s.attempt(ctx, []string{"cleanup/" + in.Object.String()}, func(ctx context.Context, t *try) error {
		facts, err := proof.prove(ctx)
		if err != nil || len(proof.plan.Files) == 0 {
			return err
		}
		started := proof.plan.CleanUpStarted
		record, err := s.record(call, id, &started, facts)
		if err != nil {
			return err
		}
		t.commit = s.newCommit(facts, nil)
		t.commit.Streams = []eventstore.Stream{
			{ID: id, Type: string(catalog.EntityCleanUp), Mode: eventstore.Created},
			{ID: in.Object, Mode: eventstore.Asserted, Version: started.ObjectVersion},
		}
		t.commit.Records = []eventstore.Record{record}
		return nil
	})
	if err != nil || len(receipt.Records) == 0 {
		return proof.plan, nil, err
	}
	return proof.plan, &CleaningUp{ID: id, CleanUpStarted: proof.plan.CleanUpStarted, Objects: proof.objects, Store: proof.store}, nil
}

// ResumeCleanUp returns a clean-up that has started, as its object stands now.
func (s *Service) ResumeCleanUp(ctx context.Context, warehouse, id ids.ID) (*CleaningUp, error) {
	facts, err := s.resolve(ctx, projections.Query{Warehouse: warehouse})
	if err != nil {
		return nil, err
	}
	entries, err := s.deps.History.ReadStream(ctx, id, 1, 2)
	if err != nil {
		return nil, unavailable(err, "The catalog is not available")
	}
	if len(entries) != 1 || entries[0].Erased || !facts[0].Warehouse.Exists {
		return nil, ErrCleanUpOver
	}
	event, err := catalog.Decode(entries[0].Type, entries[0].DataSchema, entries[0].Data)
	if err != nil {
		return nil, err
	}
	started, ok := event.(*catalog.CleanUpStarted)
	if !ok {
		return nil, fmt.Errorf("stream %s is no clean-up", id)
	}
	c := &CleaningUp{ID: id, CleanUpStarted: *started}
	if c.Store, err = s.store(ctx, &facts[0]); err != nil {
		return nil, err
	}
	o, found, err := s.deps.CleanUps.Object(ctx, warehouse, c.Object)
	if err != nil {
		return nil, unavailable(err, "The catalog is not available")
	}
	c.Ended = !found
	c.Objects = scope(c.Store, claimsHeld(&o))
	return c, nil
}

// FinishCleanUp says what became of the files. That it was said before is no error.
func (s *Service) FinishCleanUp(ctx context.Context, warehouse ids.ID, c *CleaningUp, deleted int64, kept []string) error {
	call := Call{Actor: authz.System, RequestID: s.deps.IDs.New()}
	if kept == nil {
		kept = []string{}
	}
	_, err := s.attempt(ctx, []string{"cleanup/" + c.ID.String()}, func(ctx context.Context, t *try) error {
		facts, err := s.resolve(ctx, projections.Query{Warehouse: warehouse})
		if err != nil {
			return err
		}
		record, err := s.record(call, c.ID, &catalog.CleanUpFinished{CleanUp: c.CleanUp, Deleted: deleted, Kept: kept}, &facts[0])
		if err != nil {
			return err
		}
		t.commit = s.newCommit(&facts[0], nil)
		t.commit.Streams = []eventstore.Stream{{ID: c.ID, Mode: eventstore.Advanced, Version: 1, Close: true}}
		t.commit.Records = []eventstore.Record{record}
		// A twin that came first has closed the stream: its word stands.
		t.unconditional = true
		return nil
	})
	if catalog.KindOf(err) == catalog.CommitFailed {
		return nil
	}
	return err
}

func claimsHeld(o *projections.Cleanable) []string {
	claims := make([]string, len(o.Claims))
	for i, c := range o.Claims {
		claims[i] = c.Location
	}
	return claims
}

// beingDeleted refuses the registration of a file that a clean-up has announced.
func beingDeleted(location string) error {
	return &catalog.Error{Kind: catalog.Unavailable, Message: "The file is being deleted: " + location, RetryAfter: 5 * time.Second}
}
