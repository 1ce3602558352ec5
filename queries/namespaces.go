package queries

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/storage"
)

// LoadNamespace returns a namespace with its properties.
func (s *Service) LoadNamespace(ctx context.Context, actor authz.Actor, warehouse ids.ID, namespace []string) (Namespace, error) {
	f, err := s.namespace(ctx, actor, warehouse, namespace, authz.NamespaceGetMetadata)
	if err != nil {
		return Namespace{}, err
	}
	n := &f.Namespace
	location, err := derivedLocation(f)
	if err != nil {
		return Namespace{}, err
	}
	return Namespace{ID: n.ID, Levels: n.Levels, Properties: n.Properties, Location: location, Protected: n.Protected}, nil
}

// derivedLocation is the base of new tables' locations in a namespace whose
// properties do not name one; empty if they do.
func derivedLocation(f *projections.Facts) (string, error) {
	var properties struct {
		Location string `json:"location"`
	}
	if err := json.Unmarshal(f.Namespace.Properties, &properties); err != nil {
		return "", fmt.Errorf("namespace %s: %w", f.Namespace.ID, err)
	}
	if properties.Location != "" {
		return "", nil
	}
	profile, err := storage.ParseProfile(f.Warehouse.StorageProfile)
	if err != nil {
		return "", fmt.Errorf("warehouse %s: %w", f.Warehouse.ID, err)
	}
	return profile.DefaultNamespaceLocation(f.Namespace.Levels), nil
}

// NamespaceExists returns nil if the namespace exists and the caller may see
// it, else the error that a load would give.
func (s *Service) NamespaceExists(ctx context.Context, actor authz.Actor, warehouse ids.ID, namespace []string) error {
	_, err := s.namespace(ctx, actor, warehouse, namespace, authz.NamespaceGetMetadata)
	return err
}

// ListNamespaces lists the direct children of parent, or of the warehouse's
// root when parent is empty, by folded name.
func (s *Service) ListNamespaces(ctx context.Context, actor authz.Actor, warehouse ids.ID, parent []string, page Page) (Namespaces, error) {
	f, err := s.parent(ctx, actor, warehouse, parent)
	if err != nil {
		return Namespaces{}, err
	}
	l := listing{
		name: "namespaces", actor: actor, parent: subject.Warehouse(f), of: f.Warehouse.ID, entity: catalog.EntityNamespace,
		fetch: func(ctx context.Context, after string, limit int) ([]child, error) {
			return s.deps.Lists.namespaces(ctx, warehouse, f.Namespace.ID, after, limit)
		},
	}
	if len(parent) > 0 {
		l.parent, l.of = subject.Namespace(f), f.Namespace.ID
	}
	rows, next, err := s.list(ctx, l, page)
	if err != nil {
		return Namespaces{}, err
	}
	out := Namespaces{Namespaces: make([][]string, len(rows)), IDs: make([]ids.ID, len(rows)), Next: next}
	for i, row := range rows {
		out.Namespaces[i], out.IDs[i] = row.levels, row.id
	}
	return out, nil
}

// parent resolves whose children are listed.
func (s *Service) parent(ctx context.Context, actor authz.Actor, warehouse ids.ID, parent []string) (*projections.Facts, error) {
	if len(parent) > 0 {
		return s.namespace(ctx, actor, warehouse, parent, authz.NamespaceListNamespaces)
	}
	f, err := s.resolve(ctx, projections.Query{Warehouse: warehouse})
	if err != nil {
		return nil, err
	}
	if err := authz.Check(ctx, s.deps.Authorizer, actor, subject.Warehouse(f), authz.WarehouseListNamespaces, noSuchWarehouse()); err != nil {
		return nil, err
	}
	return f, inWarehouse(f)
}

// ListTables lists the tables of a namespace, by folded name; views are not
// among them.
func (s *Service) ListTables(ctx context.Context, actor authz.Actor, warehouse ids.ID, namespace []string, page Page) (Tables, error) {
	f, err := s.namespace(ctx, actor, warehouse, namespace, authz.NamespaceListTables)
	if err != nil {
		return Tables{}, err
	}
	rows, next, err := s.list(ctx, listing{
		name: "tables", actor: actor, parent: subject.Namespace(f), of: f.Namespace.ID, entity: catalog.EntityTable,
		fetch: func(ctx context.Context, after string, limit int) ([]child, error) {
			return s.deps.Lists.tabulars(ctx, catalog.EntityTable, warehouse, f.Namespace.ID, after, limit)
		},
	}, page)
	if err != nil {
		return Tables{}, err
	}
	out := Tables{Identifiers: make([]Identifier, len(rows)), IDs: make([]ids.ID, len(rows)), Next: next}
	for i, row := range rows {
		out.Identifiers[i] = Identifier{Namespace: f.Namespace.Levels, Name: row.name}
		out.IDs[i] = row.id
	}
	return out, nil
}
