package commands

import (
	"context"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/iceberg"
	"github.com/icecore-catalog/icecore/internal/documents"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// CommitView applies updates to a view if its requirements hold: a replace, or
// a change of properties or location. A lost race is decided anew on the new
// base, which gives the new version another id, unless the commit has no
// requirement. A commit that changes nothing writes nothing and answers the
// current state.
func (s *Service) CommitView(ctx context.Context, call Call, in CommitView) (View, error) {
	requirements, err := iceberg.DecodeRequirements(in.Requirements)
	if err != nil {
		return View{}, fromIceberg(err)
	}
	updates, err := iceberg.DecodeViewUpdates(in.Updates)
	if err != nil {
		return View{}, fromIceberg(err)
	}
	path := lineOf(in.Warehouse, in.View.Namespace, in.View.Name)
	c := &viewChange{view: in.View, path: path, requirements: requirements, updates: updates}
	return once(ctx, s, call, func(ctx context.Context) (View, bool, error) {
		var state *documents.Document
		receipt, err := s.attempt(ctx, []string{path}, func(ctx context.Context, t *try) error {
			f, hint, err := s.resolveHinted(ctx, c.query(in.Warehouse), path)
			if err != nil {
				return err
			}
			if err := s.view(ctx, call, f, in.View, authz.ViewCommit, ids.Nil); err != nil {
				return err
			}
			state, err = s.commitView(ctx, call, c, f, hint, t)
			return err
		})
		if err != nil {
			return View{}, false, err
		}
		if len(receipt.Records) > 0 {
			s.deps.Documents.Keep(path, state)
		}
		return viewAnswer(state), len(receipt.Records) > 0, nil
	}, func(ctx context.Context, stored eventstore.Idempotency) (View, error) {
		return s.replayView(ctx, in.Warehouse, in.View, stored, func(f *projections.Facts) error {
			return s.view(ctx, call, f, in.View, authz.ViewCommit, stored.Object)
		})
	})
}

// viewChange is one CommitView over its tries.
type viewChange struct {
	view         Identifier
	path         string
	requirements []iceberg.Requirement
	updates      []iceberg.ViewUpdate
}

// query asks for the base; the event needs no more of the namespace than how
// it is spelled.
func (c *viewChange) query(warehouse ids.ID) projections.Query {
	q := queryOf(warehouse, c.view)
	if q.Name != "" {
		q.Details, q.Spelling = false, true
	}
	return q
}

// commitView decides and writes one try. It returns the state of the view
// after it.
func (s *Service) commitView(ctx context.Context, call Call, c *viewChange, f *projections.Facts, hint *documents.Document, t *try) (*documents.Document, error) {
	base, err := s.deps.Documents.Current(ctx, c.path, f, hint)
	if err != nil {
		return nil, err
	}
	current, err := iceberg.ParseView(base.Plain())
	if err != nil {
		return nil, fromIceberg(err)
	}
	if err := iceberg.CheckViewRequirements(current, c.requirements); err != nil {
		return nil, fromIceberg(err)
	}
	if len(c.updates) == 0 {
		return base, nil
	}
	store, err := s.store(ctx, f)
	if err != nil {
		return nil, err
	}
	updates, err := canonicalLocations(ctx, store, c.updates, iceberg.DecodeViewUpdates)
	if err != nil {
		return nil, err
	}
	now := s.deps.Clock.Now().UnixMilli()
	next, changed, err := iceberg.ApplyView(current, updates, iceberg.BuildContext{NowMS: now})
	if err != nil {
		return nil, fromIceberg(err)
	}
	if !changed {
		return base, nil
	}
	had, err := s.claims(ctx, f, base)
	if err != nil {
		return nil, err
	}
	v := &viewState{id: f.Table.ID, meta: next, claims: had}
	if movesClaims(current, next) {
		if v.claims, err = claimsOf(ctx, store, next); err != nil {
			return nil, err
		}
	}
	added, removed := catalog.ClaimsDiff(had, v.claims)
	var vacant []string
	if len(added) > 0 {
		if err := s.mustBeFree(ctx, added, v.id); err != nil {
			return nil, err
		}
		if vacant, err = s.vacant(ctx, store, added); err != nil {
			return nil, err
		}
	}
	if err := s.putView(ctx, t, store, v, base.Pointer); err != nil {
		return nil, err
	}
	event := &catalog.ViewCommitted{
		ViewName: nameOf(f), Previous: base.Pointer, ViewFile: v.file(), NowMS: now, ClaimsAdded: added, ClaimsRemoved: removed, Vacant: vacant,
	}
	if event.ViewUUID, err = v.uuid(); err != nil {
		return nil, err
	}
	if event.Requirements, err = joinRaw(c.requirements); err != nil {
		return nil, err
	}
	if event.Updates, err = joinRaw(updates); err != nil {
		return nil, err
	}
	record, err := s.record(call, v.id, event, f)
	if err != nil {
		return nil, err
	}
	t.unconditional = len(c.requirements) == 0
	t.refuse = refuseView
	t.commit = s.newCommit(f, s.claim(call, 200, v.id, v.pointer, nil))
	t.commit.Streams = []eventstore.Stream{{
		ID: v.id, Mode: eventstore.Advanced, Version: f.Table.Version, Pointer: base.Pointer, NextPointer: v.pointer,
	}}
	t.commit.Records = []eventstore.Record{record}
	return v.document(record.ID), nil
}
