package commands

import (
	"context"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// Deps are what commands need from the outside. All fields are required.
type Deps struct {
	Log        eventstore.Log
	Resolver   projections.Resolver
	Authorizer authz.Authorizer
	Clock      clock.Clock
	IDs        ids.Source
}

// Service carries out the mutations of the catalog. It is safe for concurrent
// use.
type Service struct{ deps Deps }

// New returns a service on the given dependencies.
func New(deps Deps) *Service { return &Service{deps: deps} }

var errNotYet = &catalog.Error{Kind: catalog.Unavailable, Message: "Not available yet"}

// CreateNamespace creates a namespace below an existing parent.
func (s *Service) CreateNamespace(ctx context.Context, call Call, in CreateNamespace) (Namespace, error) {
	return Namespace{}, errNotYet
}

// UpdateNamespaceProperties sets and removes properties of a namespace.
func (s *Service) UpdateNamespaceProperties(ctx context.Context, call Call, in UpdateNamespaceProperties) (PropertiesChanged, error) {
	return PropertiesChanged{}, errNotYet
}

// DropNamespace removes an empty namespace.
func (s *Service) DropNamespace(ctx context.Context, call Call, in DropNamespace) error {
	return errNotYet
}

// CreateTable creates a table, or computes a staged one: see [Table.Staged].
func (s *Service) CreateTable(ctx context.Context, call Call, in CreateTable) (Table, error) {
	return Table{}, errNotYet
}

// CommitTable applies updates to a table if its requirements hold.
func (s *Service) CommitTable(ctx context.Context, call Call, in CommitTable) (Table, error) {
	return Table{}, errNotYet
}

// CommitTransaction applies the changes of several tables, all or none.
func (s *Service) CommitTransaction(ctx context.Context, call Call, in CommitTransaction) error {
	return errNotYet
}

// RenameTable moves a table to another name or namespace of its warehouse.
func (s *Service) RenameTable(ctx context.Context, call Call, in RenameTable) error {
	return errNotYet
}

// RegisterTable adopts an existing metadata file as a table.
func (s *Service) RegisterTable(ctx context.Context, call Call, in RegisterTable) (Table, error) {
	return Table{}, errNotYet
}

// DropTable ends a table's life; no file is deleted here.
func (s *Service) DropTable(ctx context.Context, call Call, in DropTable) error {
	return errNotYet
}

// Bootstrap creates the server and its default project, once.
func (s *Service) Bootstrap(ctx context.Context, call Call, in Bootstrap) error {
	return errNotYet
}

// CreateWarehouse validates a storage profile and creates a warehouse on it.
func (s *Service) CreateWarehouse(ctx context.Context, call Call, in CreateWarehouse) (Warehouse, error) {
	return Warehouse{}, errNotYet
}
