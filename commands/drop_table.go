package commands

import (
	"context"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/documents"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// DropTable ends a table's life. No file is deleted here, and the document is
// not read: a table whose metadata file is gone can be dropped. Without purge
// its locations are free at once; with purge they stay claimed until a job has
// deleted the files (design 4).
func (s *Service) DropTable(ctx context.Context, call Call, in DropTable) error {
	line := lineOf(in.Warehouse, in.Table.Namespace, in.Table.Name)
	_, err := once(ctx, s, call, func(ctx context.Context) (_ struct{}, appended bool, err error) {
		receipt, err := s.attempt(ctx, []string{line}, func(ctx context.Context, t *try) error {
			return s.dropTable(ctx, call, &in, t)
		})
		return struct{}{}, len(receipt.Records) > 0, err
	}, func(ctx context.Context, stored eventstore.Idempotency) (struct{}, error) {
		_, err := s.droppable(ctx, call, &in, stored.Object)
		return struct{}{}, err
	})
	return err
}

func (s *Service) droppable(ctx context.Context, call Call, in *DropTable, was ids.ID) (*projections.Facts, error) {
	facts, err := s.resolve(ctx, queryOf(in.Warehouse, in.Table))
	if err != nil {
		return nil, err
	}
	f := &facts[0]
	return f, s.table(ctx, call, f, in.Table, authz.TableDrop, was)
}

func (s *Service) dropTable(ctx context.Context, call Call, in *DropTable, t *try) error {
	f, err := s.droppable(ctx, call, in, ids.Nil)
	if err != nil {
		return err
	}
	if f.Table.Protected {
		return isProtected("table")
	}
	uuid, err := ids.Parse(f.Table.TableUUID)
	if err != nil {
		return err
	}
	event := &catalog.TableDropped{
		TableName: nameOf(f), TableUUID: uuid, MetadataLocation: f.Table.Pointer, PurgeRequested: in.PurgeRequested,
	}
	if !in.PurgeRequested {
		if event.ClaimsReleased, err = s.claims(ctx, f, documents.New(f.Table.ID, f.Table.Mark, f.Table.Pointer, nil)); err != nil {
			return err
		}
	}
	record, err := s.record(call, f.Table.ID, event, f)
	if err != nil {
		return err
	}
	t.commit = s.newCommit(f, s.claim(call, 204, f.Table.ID, f.Table.Pointer, nil))
	t.commit.Streams = []eventstore.Stream{{
		ID: f.Table.ID, Mode: eventstore.Advanced, Version: f.Table.Version, Exclusive: true, Close: true,
		Pointer: f.Table.Pointer, NextPointer: f.Table.Pointer,
	}}
	t.commit.Records = []eventstore.Record{record}
	return nil
}
