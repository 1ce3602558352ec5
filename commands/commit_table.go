package commands

import (
	"context"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/documents"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// CommitTable applies updates to a table if its requirements hold; with
// assert-create it creates the table. A lost race is decided anew on the new
// base, unless the commit has no requirement. A commit that changes nothing
// writes nothing and answers the current state.
func (s *Service) CommitTable(ctx context.Context, call Call, in CommitTable) (Table, error) {
	c, err := decodeChange(in.Warehouse, &in)
	if err != nil {
		return Table{}, err
	}
	return once(ctx, s, call, func(ctx context.Context) (Table, bool, error) {
		var d *decided
		receipt, err := s.attempt(ctx, []string{c.path}, func(ctx context.Context, t *try) error {
			f, hint, err := s.resolveHinted(ctx, c.query(in.Warehouse), c.path)
			if err != nil {
				return err
			}
			if err := s.authorize(ctx, call, c, f, ids.Nil); err != nil {
				return err
			}
			if d, err = s.decide(ctx, c, f, hint); err != nil || d.next == nil {
				return err
			}
			if err := s.write(ctx, call, d, t); err != nil {
				return err
			}
			t.unconditional = d.unconditional
			t.refuse = c.refuse
			t.commit = s.newCommit(f, s.claim(call, 200, d.object, d.pointer, nil))
			t.commit.Streams = d.streams()
			t.commit.Records = []eventstore.Record{d.record}
			return nil
		})
		if err != nil {
			return Table{}, false, err
		}
		doc := d.state()
		if d.next != nil {
			s.deps.Documents.Keep(c.path, doc)
		}
		return answer(d.f, doc), len(receipt.Records) > 0, nil
	}, func(ctx context.Context, stored eventstore.Idempotency) (Table, error) {
		return s.replayTable(ctx, in.Warehouse, c.table, c.path, stored, func(f *projections.Facts) error {
			return s.authorize(ctx, call, c, f, stored.Object)
		})
	})
}

// resolveTable asks for a table's facts, with what was last seen of it as hint.
func (s *Service) resolveTable(ctx context.Context, warehouse ids.ID, t Identifier, path string) (*projections.Facts, *documents.Document, error) {
	return s.resolveHinted(ctx, queryOf(warehouse, t), path)
}

// query asks for the base of a change. Only a creation needs to know more of
// the namespace than how it is spelled; the rest takes the cheaper way.
func (c *change) query(warehouse ids.ID) projections.Query {
	q := queryOf(warehouse, c.table)
	if !c.create && q.Name != "" {
		q.Details, q.Spelling = false, true
	}
	return q
}

func (s *Service) resolveHinted(ctx context.Context, query projections.Query, path string) (*projections.Facts, *documents.Document, error) {
	hint := s.deps.Documents.Last(path)
	query.Hint = hintOf(hint)
	facts, err := s.resolve(ctx, query)
	if err != nil {
		return nil, nil, err
	}
	return &facts[0], hint, nil
}

// refuse words the constraints that a create can meet. A name that was taken
// meanwhile has the command decided anew, which words it by its requirement.
func (c *change) refuse(e *eventstore.ConstraintError) error {
	switch e.Constraint {
	case projections.LocationClaimOverlap:
		return locationTaken()
	case projections.TabularUUIDKey:
		return uuidTaken()
	}
	return nil
}

func uuidTaken() error {
	return &catalog.Error{Kind: catalog.AlreadyExists, Message: "A table with the same UUID already exists in the warehouse"}
}

// replayTable answers a repeated request that made a state of a table: with
// the table's state now, or, when the table is gone, with the state that the
// first request made. may asks for the rights again.
func (s *Service) replayTable(
	ctx context.Context, warehouse ids.ID, t Identifier, path string, stored eventstore.Idempotency, may func(*projections.Facts) error,
) (Table, error) {
	facts, err := s.resolve(ctx, queryOf(warehouse, t), projections.Query{Warehouse: warehouse, Object: stored.Object})
	if err != nil {
		return Table{}, err
	}
	f, now := &facts[0], &facts[1]
	if err := may(f); err != nil {
		return Table{}, err
	}
	if err := inWarehouse(f); err != nil {
		return Table{}, err
	}
	if !isTable(now) {
		// The table is gone; the file of that state may still be there.
		now = f
		now.Table = projections.TabularFacts{ID: stored.Object, Fresh: true, Pointer: stored.Pointer}
		store, err := s.store(ctx, now)
		if err != nil {
			return Table{}, err
		}
		m, err := s.deps.Documents.Read(ctx, store, stored.Pointer)
		if err != nil {
			return Table{}, documents.Failure(ctx, stored.Pointer, err)
		}
		return answer(now, documents.Of(stored.Object, ids.Nil, stored.Pointer, m)), nil
	}
	doc, err := s.deps.Documents.Current(ctx, "", now, nil)
	if err != nil {
		return Table{}, err
	}
	return answer(now, doc), nil
}
