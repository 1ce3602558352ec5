package commands

import (
	"context"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// RenameView gives a view another name, perhaps in another namespace of its
// warehouse. Its location stays. It needs the right to rename the view and the
// right to create one in the destination.
func (s *Service) RenameView(ctx context.Context, call Call, in RenameView) error {
	if err := catalog.ValidateName("view", in.Destination.Name); err != nil {
		return err
	}
	return s.rename(ctx, call, &renaming{
		warehouse: in.Warehouse, source: in.Source, destination: in.Destination,
		mayMove: func(ctx context.Context, f *projections.Facts, was ids.ID) error {
			return s.view(ctx, call, f, in.Source, authz.ViewRename, was)
		},
		mayAdd: func(ctx context.Context, f *projections.Facts) error {
			return s.mayCreateViewIn(ctx, call, f, in.Destination.Namespace)
		},
		event: func(uuid ids.ID, from, to catalog.ViewName) catalog.Event {
			return &catalog.ViewRenamed{ViewUUID: uuid, From: from, To: to}
		},
	})
}
