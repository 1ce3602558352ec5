package queries

import (
	"context"
	"slices"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// projectOf maps what stands for the default project.
func projectOf(project ids.ID) ids.ID {
	if project.IsNil() {
		return catalog.DefaultProject
	}
	return project
}

// Config finds a warehouse by name in a project; a Nil project means the
// default one. An unknown, an inactive and a hidden warehouse give the same
// error.
func (s *Service) Config(ctx context.Context, actor authz.Actor, project ids.ID, warehouse string) (Config, error) {
	query := projections.Query{Project: projectOf(project)}
	if catalog.Addressable(warehouse) {
		query.WarehouseName = warehouse
	}
	f, err := s.resolve(ctx, query)
	if err != nil {
		return Config{}, err
	}
	missing := &catalog.Error{Kind: catalog.NoSuchWarehouse, Message: "A warehouse '" + warehouse + "' does not exist"}
	if err := authz.Check(ctx, s.deps.Authorizer, actor, subject.Warehouse(f), authz.WarehouseGetConfig, missing); err != nil {
		return Config{}, err
	}
	if !f.Warehouse.Exists || !f.Warehouse.Active {
		return Config{}, missing
	}
	return Config{Warehouse: warehouseOf(f), Defaults: map[string]string{}, Overrides: map[string]string{}}, nil
}

// warehouseOf is what the facts tell of a warehouse.
func warehouseOf(f *projections.Facts) Warehouse {
	w := &f.Warehouse
	return Warehouse{
		ID: w.ID, Name: w.Name, Active: w.Active, Protected: w.Protected,
		StorageProfile: w.StorageProfile, DefaultFormat: w.DefaultFormat, AllowedFormats: slices.Clone(w.AllowedFormats),
		UpdatedAt: w.UpdatedAt,
	}
}

// ServerInfo tells whether and as what the server was bootstrapped.
func (s *Service) ServerInfo(ctx context.Context, actor authz.Actor) (ServerInfo, error) {
	f, err := s.resolve(ctx, projections.Query{})
	if err != nil {
		return ServerInfo{}, err
	}
	if err := authz.Check(ctx, s.deps.Authorizer, actor, subject.Server(f), authz.ServerGetInfo, nil); err != nil {
		return ServerInfo{}, err
	}
	return ServerInfo{ID: f.Server.ID, Bootstrapped: f.Server.Bootstrapped}, nil
}

// ListWarehouses lists the warehouses of a project that the caller may see,
// active or not; Nil means the default project.
func (s *Service) ListWarehouses(ctx context.Context, actor authz.Actor, project ids.ID) ([]Warehouse, error) {
	f, err := s.resolve(ctx, projections.Query{Project: projectOf(project)})
	if err != nil {
		return nil, err
	}
	missing := noSuchProject()
	on := subject.Project(f)
	if err := authz.Check(ctx, s.deps.Authorizer, actor, on, authz.ProjectListWarehouses, missing); err != nil {
		return nil, err
	}
	if !f.Project.Exists {
		return nil, missing
	}
	list, err := s.deps.Lists.warehouses(ctx, f.Project.ID)
	if err != nil {
		return nil, unavailable(err)
	}
	all := make([]ids.ID, len(list))
	for i := range list {
		all[i] = list[i].ID
	}
	seen, err := s.deps.Authorizer.Filter(ctx, actor, on, string(catalog.EntityWarehouse), all)
	if err != nil {
		return nil, &catalog.Error{Kind: catalog.Unavailable, Message: "The authorizer is not available", RetryAfter: retrySoon, Cause: err}
	}
	return slices.DeleteFunc(list, func(w Warehouse) bool { return !slices.Contains(seen, w.ID) }), nil
}

// GetWarehouse returns one warehouse by its id, active or not.
func (s *Service) GetWarehouse(ctx context.Context, actor authz.Actor, warehouse ids.ID) (Warehouse, error) {
	f, err := s.resolve(ctx, projections.Query{Warehouse: warehouse})
	if err != nil {
		return Warehouse{}, err
	}
	if err := authz.Check(ctx, s.deps.Authorizer, actor, subject.Warehouse(f), authz.WarehouseGetMetadata, noSuchWarehouse()); err != nil {
		return Warehouse{}, err
	}
	if !f.Warehouse.Exists {
		return Warehouse{}, noSuchWarehouse()
	}
	details, err := s.details.Warehouse(ctx, warehouse)
	if err != nil {
		return Warehouse{}, unavailable(err)
	}
	w := warehouseOf(f)
	w.Project, w.ExpirationSeconds, w.UndoWindowSeconds = details.Project, details.ExpirationSeconds, details.UndoWindowSeconds
	return w, nil
}
