package commands

import (
	"context"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// SetUndoWindow is POST /management/v1/warehouse/{warehouse_id}/undo-window.
type SetUndoWindow struct {
	Warehouse ids.ID
	Seconds   *int64 // nil: the server's setting holds
}

// SetUndoWindow says how long the metadata files of former states are kept in a
// warehouse. A longer window begins to hold at once and brings back nothing that
// is gone.
func (s *Service) SetUndoWindow(ctx context.Context, call Call, in SetUndoWindow) (Warehouse, error) {
	return s.changeWarehouse(ctx, call, in.Warehouse, authz.WarehouseModifySoftDeletion, func(c *warehouseChange) (catalog.Event, error) {
		if in.Seconds != nil && (*in.Seconds < 0 || *in.Seconds > catalog.MaxUndoWindowSeconds) {
			return nil, badRequest("undo-window-seconds must be between 0 and %d", int64(catalog.MaxUndoWindowSeconds))
		}
		if was := c.UndoWindowSeconds; was == nil && in.Seconds == nil || was != nil && in.Seconds != nil && *was == *in.Seconds {
			return nil, nil
		}
		c.UndoWindowSeconds = in.Seconds
		return &catalog.WarehouseUndoWindowUpdated{Name: c.Name, UndoWindowSeconds: in.Seconds}, nil
	})
}
