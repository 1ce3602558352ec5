package commands

import (
	"context"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// DropView ends a view's life. Without purge its metadata files stay, and may be
// registered again; with purge a job deletes them. The document is not read: a
// view whose metadata file is gone can be dropped.
func (s *Service) DropView(ctx context.Context, call Call, in DropView) error {
	return s.drop(ctx, call, &dropping{
		warehouse: in.Warehouse, at: in.View, purge: in.PurgeRequested, force: in.Force,
		may: func(ctx context.Context, f *projections.Facts, was ids.ID) error {
			return s.view(ctx, call, f, in.View, authz.ViewDrop, was)
		},
	})
}
