package commands

import (
	"context"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/documents"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// UnregisterTable forgets a table and returns its last state. It is a drop
// without purge that nothing defers: all files stay, the locations are free at
// once, and the table may be registered here or elsewhere. The answer holds every
// commit that ever succeeded, for the drop rests on the version that it shows.
func (s *Service) UnregisterTable(ctx context.Context, call Call, in UnregisterTable) (Table, error) {
	path := lineOf(in.Warehouse, in.Table.Namespace, in.Table.Name)
	return once(ctx, s, call, func(ctx context.Context) (Table, bool, error) {
		var f *projections.Facts
		var doc *documents.Document
		receipt, err := s.attempt(ctx, []string{path}, func(ctx context.Context, t *try) (err error) {
			f, doc, err = s.unregisterTable(ctx, call, &in, path, t)
			return err
		})
		if err != nil {
			return Table{}, false, err
		}
		return answer(f, doc), len(receipt.Records) > 0, nil
	}, func(ctx context.Context, stored eventstore.Idempotency) (Table, error) {
		return s.replayTable(ctx, in.Warehouse, in.Table, path, stored, func(f *projections.Facts) error {
			return s.table(ctx, call, f, in.Table, authz.TableDrop, stored.Object)
		})
	})
}

func (s *Service) unregisterTable(ctx context.Context, call Call, in *UnregisterTable, path string, t *try) (*projections.Facts, *documents.Document, error) {
	f, hint, err := s.resolveTable(ctx, in.Warehouse, in.Table, path)
	if err != nil {
		return nil, nil, err
	}
	if err := s.table(ctx, call, f, in.Table, authz.TableDrop, ids.Nil); err != nil {
		return nil, nil, err
	}
	if f.Table.Protected && !in.Force {
		return nil, nil, tabularProtected(in.Table)
	}
	doc, err := s.deps.Documents.Current(ctx, path, f, hint)
	if err != nil {
		return nil, nil, err
	}
	f.Table.Pointer = doc.Pointer // left out by Resolve where the hint still holds
	record, stream, err := s.endingOf(ctx, call, f, ending{})
	if err != nil {
		return nil, nil, err
	}
	t.commit = s.newCommit(f, s.claim(call, 200, f.Table.ID, doc.Pointer, nil))
	t.commit.Streams = []eventstore.Stream{stream}
	t.commit.Records = []eventstore.Record{record}
	return f, doc, nil
}
