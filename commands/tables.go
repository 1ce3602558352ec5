package commands

import (
	"context"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/iceberg"
	"github.com/icecore-catalog/icecore/internal/documents"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// queryOf asks for a table by its path. A path that cannot exist asks for the
// warehouse alone: it must not reach a statement that others share.
func queryOf(warehouse ids.ID, t Identifier) projections.Query {
	if !addressable(t.Namespace, t.Name) || t.Name == "" {
		return projections.Query{Warehouse: warehouse}
	}
	return projections.Query{Warehouse: warehouse, Namespace: t.Namespace, Name: t.Name, Details: true}
}

// isTable reports whether a table stands at the path: a view is none.
func isTable(f *projections.Facts) bool {
	return f.Table.Exists && f.Table.Kind == string(catalog.EntityTable)
}

// table asks for a right on the table of resolved facts, and that it exists.
// With was, the right is asked on that object instead and nothing need exist.
func (s *Service) table(ctx context.Context, call Call, f *projections.Facts, t Identifier, action authz.Action, was ids.ID) error {
	return s.tabular(ctx, call, f, subject.TableOf, isTable(f), action, noSuchTable(t), was)
}

// tabular asks for a right on a table or view; is says that one of that kind
// stands there, and on makes the question.
func (s *Service) tabular(
	ctx context.Context, call Call, f *projections.Facts, on func(*projections.Facts, ids.ID) authz.Facts,
	is bool, action authz.Action, missing error, was ids.ID,
) error {
	object := was
	if was.IsNil() && is {
		object = f.Table.ID
	}
	if err := s.may(ctx, call, on(f, object), action, missing); err != nil {
		return err
	}
	if err := inWarehouse(f); err != nil {
		return err
	}
	if was.IsNil() && !is {
		return missing
	}
	return nil
}

// nameOf is how events name the table or view of resolved facts.
func nameOf(f *projections.Facts) catalog.TableName {
	return catalog.TableName{NamespaceID: f.Namespace.ID, Namespace: f.Namespace.Levels, Name: f.Table.Name}
}

// hintOf is the mark of a document, for a query.
func hintOf(d *documents.Document) ids.ID {
	if d == nil {
		return ids.Nil
	}
	return d.Mark
}

// base returns the parsed document that a commit starts from.
func base(d *documents.Document) (*iceberg.Metadata, error) {
	m, err := d.Metadata()
	if err != nil {
		return nil, fromIceberg(err)
	}
	return m, nil
}

// claims returns what an object claims now. They are read, not derived: a
// link that was moved since must not turn one claim into another (law 5).
func (s *Service) claims(ctx context.Context, f *projections.Facts, d *documents.Document) ([]string, error) {
	if claims, ok := d.Claims(); ok {
		return claims, nil
	}
	mark, claims, err := s.deps.Claims.Claims(ctx, f.Warehouse.ID, f.Table.ID)
	if err != nil {
		return nil, unavailable(err, "The catalog is not available")
	}
	if mark != d.Mark {
		return nil, errMoved
	}
	d.SetClaims(claims)
	return claims, nil
}
