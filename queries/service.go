package queries

import (
	"context"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// Deps are what queries need from the outside. All fields are required.
type Deps struct {
	Resolver   projections.Resolver
	Authorizer authz.Authorizer
}

// Service answers the reads of the catalog. It is safe for concurrent use.
type Service struct{ deps Deps }

// New returns a service on the given dependencies.
func New(deps Deps) *Service { return &Service{deps: deps} }

var errNotYet = &catalog.Error{Kind: catalog.Unavailable, Message: "Not available yet"}

// Config finds a warehouse by name in a project; a Nil project means the
// default one. An unknown and a hidden warehouse give the same error.
func (s *Service) Config(ctx context.Context, actor authz.Actor, project ids.ID, warehouse string) (Config, error) {
	return Config{}, errNotYet
}

// LoadTable returns the current state of a table.
func (s *Service) LoadTable(ctx context.Context, actor authz.Actor, warehouse ids.ID, table Identifier, options LoadOptions) (*Table, error) {
	return nil, errNotYet
}

// TableExists returns nil if the table exists and the caller may see it, else
// the error that a load would give.
func (s *Service) TableExists(ctx context.Context, actor authz.Actor, warehouse ids.ID, table Identifier) error {
	return errNotYet
}

// ListTables lists the tables of a namespace, by folded name.
func (s *Service) ListTables(ctx context.Context, actor authz.Actor, warehouse ids.ID, namespace []string, page Page) (Tables, error) {
	return Tables{}, errNotYet
}

// LoadNamespace returns a namespace with its properties.
func (s *Service) LoadNamespace(ctx context.Context, actor authz.Actor, warehouse ids.ID, namespace []string) (Namespace, error) {
	return Namespace{}, errNotYet
}

// NamespaceExists returns nil if the namespace exists and the caller may see
// it, else the error that a load would give.
func (s *Service) NamespaceExists(ctx context.Context, actor authz.Actor, warehouse ids.ID, namespace []string) error {
	return errNotYet
}

// ListNamespaces lists the direct children of parent, or of the warehouse's
// root when parent is empty.
func (s *Service) ListNamespaces(ctx context.Context, actor authz.Actor, warehouse ids.ID, parent []string, page Page) (Namespaces, error) {
	return Namespaces{}, errNotYet
}

// ServerInfo tells whether and as what the server was bootstrapped.
func (s *Service) ServerInfo(ctx context.Context, actor authz.Actor) (ServerInfo, error) {
	return ServerInfo{}, errNotYet
}

// ListWarehouses lists the warehouses of a project; Nil means the default one.
func (s *Service) ListWarehouses(ctx context.Context, actor authz.Actor, project ids.ID) ([]Warehouse, error) {
	return nil, errNotYet
}

// GetWarehouse returns one warehouse by its id.
func (s *Service) GetWarehouse(ctx context.Context, actor authz.Actor, warehouse ids.ID) (Warehouse, error) {
	return Warehouse{}, errNotYet
}
