package queries

import (
	"context"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// ConfigOf is [Service.Config] for a warehouse that is known by its id.
func (s *Service) ConfigOf(ctx context.Context, actor authz.Actor, warehouse ids.ID) (Config, error) {
	f, err := s.resolve(ctx, projections.Query{Warehouse: warehouse})
	if err != nil {
		return Config{}, err
	}
	if err := authz.Check(ctx, s.deps.Authorizer, actor, subject.Warehouse(f), authz.WarehouseGetConfig, noSuchWarehouse()); err != nil {
		return Config{}, err
	}
	if err := inWarehouse(f); err != nil {
		return Config{}, err
	}
	return Config{Warehouse: warehouseOf(f), Defaults: map[string]string{}, Overrides: map[string]string{}}, nil
}
