package commands

import (
	"context"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// RenameTable gives a table another name, perhaps in another namespace of its
// warehouse. Its location stays. It needs the right to rename the table and
// the right to create one in the destination.
func (s *Service) RenameTable(ctx context.Context, call Call, in RenameTable) error {
	if err := catalog.ValidateName("table", in.Destination.Name); err != nil {
		return err
	}
	lines := []string{
		lineOf(in.Warehouse, in.Source.Namespace, in.Source.Name),
		lineOf(in.Warehouse, in.Destination.Namespace, in.Destination.Name),
	}
	_, err := once(ctx, s, call, func(ctx context.Context) (_ struct{}, appended bool, err error) {
		var mark ids.ID
		receipt, err := s.attempt(ctx, lines, func(ctx context.Context, t *try) error {
			mark, err = s.renameTable(ctx, call, &in, t)
			return err
		})
		for _, r := range receipt.Records {
			if doc := s.deps.Documents.Get("", r.Stream, mark); doc != nil {
				s.deps.Documents.Keep(lines[1], doc.At(r.ID))
			}
		}
		return struct{}{}, len(receipt.Records) > 0, err
	}, func(ctx context.Context, stored eventstore.Idempotency) (struct{}, error) {
		_, _, err := s.ends(ctx, call, &in, stored.Object)
		return struct{}{}, err
	})
	return err
}

// ends resolves source and destination, and asks for the rights on both.
func (s *Service) ends(ctx context.Context, call Call, in *RenameTable, was ids.ID) (from, to *projections.Facts, err error) {
	facts, err := s.resolve(ctx, queryOf(in.Warehouse, in.Source), queryOf(in.Warehouse, in.Destination))
	if err != nil {
		return nil, nil, err
	}
	from, to = &facts[0], &facts[1]
	if err := s.table(ctx, call, from, in.Source, authz.TableRename, was); err != nil {
		return nil, nil, err
	}
	if err := s.mayCreateIn(ctx, call, to, in.Destination.Namespace); err != nil {
		return nil, nil, err
	}
	return from, to, nil
}

// renameTable returns the mark that the table had before.
func (s *Service) renameTable(ctx context.Context, call Call, in *RenameTable, t *try) (ids.ID, error) {
	from, to, err := s.ends(ctx, call, in, ids.Nil)
	if err != nil {
		return ids.Nil, err
	}
	// The same table under another spelling of its own name may change its case.
	if to.Table.Exists && !isTable(to) {
		return ids.Nil, renameClash(in.Source, in.Destination, to.Table.Kind)
	}
	if to.Table.Exists && to.Table.ID != from.Table.ID {
		return ids.Nil, nameTaken(to.Table.Kind, in.Destination)
	}
	if to.Table.Exists && to.Table.Name == in.Destination.Name {
		return ids.Nil, nil // it has that name already
	}
	uuid, err := ids.Parse(from.Table.TableUUID)
	if err != nil {
		return ids.Nil, err
	}
	record, err := s.record(call, from.Table.ID, &catalog.TableRenamed{
		TableUUID: uuid, From: nameOf(from),
		To: catalog.TableName{NamespaceID: to.Namespace.ID, Namespace: to.Namespace.Levels, Name: in.Destination.Name},
	}, from)
	if err != nil {
		return ids.Nil, err
	}
	t.refuse = func(*eventstore.ConstraintError) error { return nil } // decided anew
	t.commit = s.newCommit(from, s.claim(call, 204, from.Table.ID, "", nil))
	t.commit.Streams = []eventstore.Stream{
		{ID: from.Table.ID, Mode: eventstore.Advanced, Version: from.Table.Version, Pointer: from.Table.Pointer, NextPointer: from.Table.Pointer},
		{ID: to.Namespace.ID, Mode: eventstore.Held},
	}
	t.commit.Records = []eventstore.Record{record}
	return from.Table.Mark, nil
}
