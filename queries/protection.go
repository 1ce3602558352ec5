package queries

import (
	"context"
	"time"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// Protection says whether dropping an object needs force.
type Protection struct {
	Protected bool
	UpdatedAt time.Time // when the object was last changed
}

var metadataActions = map[catalog.Entity]authz.Action{
	catalog.EntityNamespace: authz.NamespaceGetMetadata,
	catalog.EntityTable:     authz.TableGetMetadata,
	catalog.EntityView:      authz.ViewGetMetadata,
}

func noSuchObject(kind catalog.Entity, id ids.ID) error {
	switch kind {
	case catalog.EntityNamespace:
		return &catalog.Error{Kind: catalog.NoSuchNamespace, Message: "Namespace does not exist: " + id.String()}
	case catalog.EntityView:
		return &catalog.Error{Kind: catalog.NoSuchView, Message: "View does not exist: " + id.String()}
	default:
		return &catalog.Error{Kind: catalog.NoSuchTable, Message: "Table does not exist: " + id.String()}
	}
}

// GetProtection tells of a namespace, a table or a view by its id whether it is
// protected. A table-uuid is as good as the id.
func (s *Service) GetProtection(ctx context.Context, actor authz.Actor, warehouse ids.ID, kind catalog.Entity, id ids.ID) (Protection, error) {
	f, err := s.resolve(ctx, projections.Query{Warehouse: warehouse, Object: id, Details: true})
	if err != nil {
		return Protection{}, err
	}
	on, found := subject.Object(f, kind, id)
	if !found && kind != catalog.EntityNamespace {
		object, err := s.details.TabularByUUID(ctx, warehouse, id)
		if err != nil {
			return Protection{}, unavailable(err)
		}
		if !object.IsNil() {
			if f, err = s.resolve(ctx, projections.Query{Warehouse: warehouse, Object: object, Details: true}); err != nil {
				return Protection{}, err
			}
			on, found = subject.Object(f, kind, object)
		}
	}
	missing := noSuchObject(kind, id)
	if err := authz.Check(ctx, s.deps.Authorizer, actor, on, metadataActions[kind], missing); err != nil {
		return Protection{}, err
	}
	if err := inWarehouse(f); err != nil {
		return Protection{}, err
	}
	if !found {
		return Protection{}, missing
	}
	p, mark := Protection{Protected: f.Table.Protected}, f.Table.Mark
	if kind == catalog.EntityNamespace {
		p.Protected, mark = f.Namespace.Protected, f.Namespace.Mark
	}
	p.UpdatedAt, _ = mark.Time()
	return p, nil
}
