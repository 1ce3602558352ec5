package commands

import (
	"context"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
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
	return s.rename(ctx, call, &renaming{
		warehouse: in.Warehouse, source: in.Source, destination: in.Destination,
		mayMove: func(ctx context.Context, f *projections.Facts, was ids.ID) error {
			return s.table(ctx, call, f, in.Source, authz.TableRename, was)
		},
		mayAdd: func(ctx context.Context, f *projections.Facts) error {
			return s.mayCreateIn(ctx, call, f, in.Destination.Namespace)
		},
		event: func(uuid ids.ID, from, to catalog.TableName) catalog.Event {
			return &catalog.TableRenamed{TableUUID: uuid, From: from, To: to}
		},
	})
}
