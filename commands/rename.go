package commands

import (
	"context"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// renaming is the rename of a table or view: what is the same for both, and
// what tells them apart.
type renaming struct {
	warehouse           ids.ID
	source, destination Identifier
	// mayMove asks for the right to rename what stands, or with was stood, at the
	// source, and that it is there; mayAdd for the right to put it into the
	// destination's namespace.
	mayMove func(ctx context.Context, f *projections.Facts, was ids.ID) error
	mayAdd  func(ctx context.Context, f *projections.Facts) error
	event   func(uuid ids.ID, from, to catalog.TableName) catalog.Event
}

// rename gives a table or view another name, perhaps in another namespace of
// its warehouse. Its location stays, and so does its document, which is
// remembered under the new name.
func (s *Service) rename(ctx context.Context, call Call, r *renaming) error {
	lines := []string{
		lineOf(r.warehouse, r.source.Namespace, r.source.Name),
		lineOf(r.warehouse, r.destination.Namespace, r.destination.Name),
	}
	_, err := once(ctx, s, call, func(ctx context.Context) (_ struct{}, appended bool, err error) {
		var mark ids.ID // of the state before
		receipt, err := s.attempt(ctx, lines, func(ctx context.Context, t *try) error {
			mark, err = s.tryRename(ctx, call, r, t)
			return err
		})
		for _, record := range receipt.Records {
			if doc := s.deps.Documents.Get("", record.Stream, mark); doc != nil {
				s.deps.Documents.Keep(lines[1], doc.At(record.ID))
			}
		}
		return struct{}{}, len(receipt.Records) > 0, err
	}, func(ctx context.Context, stored eventstore.Idempotency) (struct{}, error) {
		_, _, err := s.ends(ctx, r, stored.Object)
		return struct{}{}, err
	})
	return err
}

// ends resolves source and destination, and asks for the rights on both.
func (s *Service) ends(ctx context.Context, r *renaming, was ids.ID) (from, to *projections.Facts, err error) {
	facts, err := s.resolve(ctx, queryOf(r.warehouse, r.source), queryOf(r.warehouse, r.destination))
	if err != nil {
		return nil, nil, err
	}
	from, to = &facts[0], &facts[1]
	if err := r.mayMove(ctx, from, was); err != nil {
		return nil, nil, err
	}
	return from, to, r.mayAdd(ctx, to)
}

func (s *Service) tryRename(ctx context.Context, call Call, r *renaming, t *try) (before ids.ID, err error) {
	from, to, err := s.ends(ctx, r, ids.Nil)
	if err != nil {
		return ids.Nil, err
	}
	// The same object under another spelling of its own name may change its case.
	if to.Table.Exists && to.Table.ID != from.Table.ID {
		return ids.Nil, renameClash(r.source, r.destination, to.Table.Kind)
	}
	if to.Table.Exists && to.Table.Name == r.destination.Name {
		return ids.Nil, nil // it has that name already
	}
	uuid, err := ids.Parse(from.Table.TableUUID)
	if err != nil {
		return ids.Nil, err
	}
	record, err := s.record(call, from.Table.ID, r.event(uuid, nameOf(from), catalog.TableName{
		NamespaceID: to.Namespace.ID, Namespace: to.Namespace.Levels, Name: r.destination.Name,
	}), from)
	if err != nil {
		return ids.Nil, err
	}
	// A constraint that refuses the name has the command decided anew.
	t.commit = s.newCommit(from, s.claim(call, 204, from.Table.ID, "", nil))
	t.commit.Streams = []eventstore.Stream{
		{ID: from.Table.ID, Mode: eventstore.Advanced, Version: from.Table.Version, Pointer: from.Table.Pointer, NextPointer: from.Table.Pointer},
		{ID: to.Namespace.ID, Mode: eventstore.Held},
	}
	t.commit.Records = []eventstore.Record{record}
	return from.Table.Mark, nil
}

// renameClash says what stands at the name that a table or view is to have.
func renameClash(from, to Identifier, kind string) error {
	what := "Table"
	if kind == string(catalog.EntityView) {
		what = "View"
	}
	return &catalog.Error{Kind: catalog.AlreadyExists, Message: "Cannot rename " + dotted(from.Namespace, from.Name) + " to " +
		dotted(to.Namespace, to.Name) + ". " + what + " already exists"}
}
