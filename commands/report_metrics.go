package commands

import (
	"context"
	"errors"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/documents"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/reports"
	"github.com/icecore-catalog/icecore/projections"
)

// ReportKeeper takes metrics reports over; [*reports.Keeper] is one.
type ReportKeeper interface {
	Add(r reports.Report) error
}

// ReportMetrics takes what an engine measured of a scan or commit. It changes
// nothing in the catalog and is no event; the caller needs to see the table.
// The report is written later, beside the requests. While reports are not kept
// it is let go.
func (s *Service) ReportMetrics(ctx context.Context, call Call, in ReportMetrics) error {
	query := projections.Query{Warehouse: in.Warehouse}
	if addressable(in.Table.Namespace, in.Table.Name) && in.Table.Name != "" {
		query.Namespace, query.Name = in.Table.Namespace, in.Table.Name
	}
	if hint := s.deps.Documents.Last(documents.Path(in.Warehouse, in.Table.Namespace, in.Table.Name)); hint != nil {
		query.Hint = hint.Mark // leaves the document out of the answer
	}
	facts, err := s.resolve(ctx, query)
	if err != nil {
		return err
	}
	f := &facts[0]
	if err := s.table(ctx, call, f, in.Table, authz.TableGetMetadata, ids.Nil); err != nil {
		return err
	}
	if s.deps.Reports == nil {
		return nil
	}
	err = s.deps.Reports.Add(reports.Report{
		ID: s.deps.IDs.New(), Warehouse: f.Warehouse.ID, Table: f.Table.ID, ReceivedAt: s.now(),
		Actor: call.Actor.ID, Type: in.Type, Snapshot: in.Snapshot, Body: in.Report,
	})
	if errors.Is(err, reports.ErrFull) || errors.Is(err, reports.ErrClosed) {
		return &catalog.Error{Kind: catalog.Unavailable, Message: "Too many metrics reports wait to be stored", RetryAfter: retrySoon, Cause: err}
	}
	return err
}
