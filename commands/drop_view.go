package commands

import (
	"context"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// DropView ends a view's life. Without purge its metadata files stay, and may be
// registered again; with purge a job deletes them. The document is not read: a view whose
// metadata file is gone can be dropped.
func (s *Service) DropView(ctx context.Context, call Call, in DropView) error {
	line := lineOf(in.Warehouse, in.View.Namespace, in.View.Name)
	_, err := once(ctx, s, call, func(ctx context.Context) (_ struct{}, appended bool, err error) {
		receipt, err := s.attempt(ctx, []string{line}, func(ctx context.Context, t *try) error {
			return s.dropView(ctx, call, &in, t)
		})
		return struct{}{}, len(receipt.Records) > 0, err
	}, func(ctx context.Context, stored eventstore.Idempotency) (struct{}, error) {
		_, err := s.droppableView(ctx, call, &in, stored.Object)
		return struct{}{}, err
	})
	return err
}

func (s *Service) droppableView(ctx context.Context, call Call, in *DropView, was ids.ID) (*projections.Facts, error) {
	facts, err := s.resolve(ctx, queryOf(in.Warehouse, in.View))
	if err != nil {
		return nil, err
	}
	f := &facts[0]
	return f, s.view(ctx, call, f, in.View, authz.ViewDrop, was)
}

func (s *Service) dropView(ctx context.Context, call Call, in *DropView, t *try) error {
	f, err := s.droppableView(ctx, call, in, ids.Nil)
	if err != nil {
		return err
	}
	if f.Table.Protected && !in.Force {
		return tabularProtected(in.View)
	}
	record, stream, err := s.endingOf(ctx, call, f, in.PurgeRequested)
	if err != nil {
		return err
	}
	t.commit = s.newCommit(f, s.claim(call, 204, f.Table.ID, f.Table.Pointer, nil))
	t.commit.Streams = []eventstore.Stream{stream}
	t.commit.Records = []eventstore.Record{record}
	return nil
}
