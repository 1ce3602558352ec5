package queries

import (
	"context"
	"strings"
	"time"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/documents"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// Deps are what queries need from the outside. All fields are required that do not
// say otherwise.
type Deps struct {
	Resolver   projections.Resolver
	Lists      Lists
	Documents  *documents.Library
	Authorizer authz.Authorizer
	Reports    ReportLister
	// Tasks is what waits to be done, is done now and was done; nil for those that
	// ask for no task.
	Tasks TaskLister
	// Events reads the log; nil for those that ask for no event.
	Events EventReader
	// TokenSecret seals page tokens. All instances of a server share it; another
	// secret makes old tokens invalid.
	TokenSecret []byte
}

// Service answers the reads of the catalog. It is safe for concurrent use.
type Service struct {
	deps    Deps
	tokens  tokens
	details projections.Details
}

// New returns a service on the given dependencies.
func New(deps Deps) *Service {
	return &Service{
		deps: deps, tokens: newTokens(deps.TokenSecret), details: projections.NewDetails(deps.Lists.db),
	}
}

// retrySoon is what Retry-After says when a part of the server does not answer.
const retrySoon = time.Second

func unavailable(cause error) error {
	return &catalog.Error{Kind: catalog.Unavailable, Message: "The catalog is not available", RetryAfter: retrySoon, Cause: cause}
}

func noSuchWarehouse() error {
	return &catalog.Error{Kind: catalog.NoSuchWarehouse, Message: "Warehouse does not exist"}
}

func noSuchNamespace(levels []string) error {
	return &catalog.Error{Kind: catalog.NoSuchNamespace, Message: "Namespace does not exist: " + strings.Join(levels, ".")}
}

func noSuchTable(t Identifier) error {
	return &catalog.Error{Kind: catalog.NoSuchTable, Message: "Table does not exist: " + strings.Join(append(append([]string(nil), t.Namespace...), t.Name), ".")}
}

func (s *Service) resolve(ctx context.Context, q projections.Query) (*projections.Facts, error) {
	facts, err := s.deps.Resolver.Resolve(ctx, q)
	if err != nil {
		return nil, unavailable(err)
	}
	return &facts[0], nil
}

// inWarehouse refuses when the warehouse of a request is not there or not
// active, which look alike.
func inWarehouse(f *projections.Facts) error {
	if !f.Warehouse.Exists || !f.Warehouse.Active {
		return noSuchWarehouse()
	}
	return nil
}

// namespace resolves a namespace and asks for a right on it. Levels that
// cannot exist are not asked for: others share the statement.
func (s *Service) namespace(ctx context.Context, actor authz.Actor, warehouse ids.ID, levels []string, action authz.Action) (*projections.Facts, error) {
	query := projections.Query{Warehouse: warehouse}
	if catalog.Namespace(levels).Validate() == nil {
		query.Namespace = levels
	}
	f, err := s.resolve(ctx, query)
	if err != nil {
		return nil, err
	}
	missing := noSuchNamespace(levels)
	if err := authz.Check(ctx, s.deps.Authorizer, actor, subject.Namespace(f), action, missing); err != nil {
		return nil, err
	}
	if err := inWarehouse(f); err != nil {
		return nil, err
	}
	if !f.Namespace.Exists {
		return nil, missing
	}
	return f, nil
}
