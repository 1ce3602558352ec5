package queries

import (
	"context"
	"strings"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// View is the answer to a load: what LoadViewResult is spliced from.
type View struct {
	ID       ids.ID
	Mark     ids.ID // id of the event that made this state
	Pointer  string // metadata location
	Document Document
	Config   map[string]string
}

// Views is one page of views.
type Views struct {
	Identifiers []Identifier
	IDs         []ids.ID // of the same places
	Next        string   // next-page-token; empty on the last page and without paging
}

func noSuchView(v Identifier) error {
	return &catalog.Error{Kind: catalog.NoSuchView, Message: "View does not exist: " + strings.Join(append(append([]string(nil), v.Namespace...), v.Name), ".")}
}

// LoadView returns the current state of a view: one statement, shared with
// whoever waits at the same moment, and the stored bytes of its document. With
// gzip the packed form is made ready.
func (s *Service) LoadView(ctx context.Context, actor authz.Actor, warehouse ids.ID, view Identifier, gzip bool) (*View, error) {
	path := pathOf(warehouse, view)
	hint := s.deps.Documents.Last(path)
	query := tableQuery(warehouse, view)
	if hint != nil {
		query.Hint = hint.Mark
	}
	f, err := s.resolveView(ctx, actor, query, view)
	if err != nil {
		return nil, err
	}
	d, err := s.deps.Documents.Current(ctx, path, f, hint)
	if err != nil {
		return nil, err
	}
	if err := s.fileIsThere(ctx, f, d.Pointer); err != nil {
		return nil, err
	}
	answer := &View{ID: f.Table.ID, Mark: f.Table.Mark, Pointer: d.Pointer, Config: map[string]string{}}
	answer.Document, err = documentOf(d, "all", gzip)
	return answer, err
}

// resolveView finds a view that the caller may see.
func (s *Service) resolveView(ctx context.Context, actor authz.Actor, query projections.Query, view Identifier) (*projections.Facts, error) {
	f, err := s.resolve(ctx, query)
	if err != nil {
		return nil, err
	}
	is := f.Table.Exists && f.Table.Kind == string(catalog.EntityView)
	object := ids.Nil
	if is {
		object = f.Table.ID
	}
	missing := noSuchView(view)
	if err := authz.Check(ctx, s.deps.Authorizer, actor, subject.ViewOf(f, object), authz.ViewGetMetadata, missing); err != nil {
		return nil, err
	}
	if err := inWarehouse(f); err != nil {
		return nil, err
	}
	if !is {
		return nil, missing
	}
	return f, nil
}

// ViewExists returns nil if the view exists and the caller may see it, else the
// error that a load would give. No document is looked at.
func (s *Service) ViewExists(ctx context.Context, actor authz.Actor, warehouse ids.ID, view Identifier) error {
	query := tableQuery(warehouse, view)
	if hint := s.deps.Documents.Last(pathOf(warehouse, view)); hint != nil {
		query.Hint = hint.Mark // leaves the document out of the answer
	}
	_, err := s.resolveView(ctx, actor, query, view)
	return err
}

// ListViews lists the views of a namespace, by folded name; tables are not
// among them.
func (s *Service) ListViews(ctx context.Context, actor authz.Actor, warehouse ids.ID, namespace []string, page Page) (Views, error) {
	f, err := s.namespace(ctx, actor, warehouse, namespace, authz.NamespaceListViews)
	if err != nil {
		return Views{}, err
	}
	rows, next, err := s.list(ctx, listing{
		name: "views", actor: actor, parent: subject.Namespace(f), of: f.Namespace.ID, entity: catalog.EntityView,
		fetch: func(ctx context.Context, after string, limit int) ([]child, error) {
			return s.deps.Lists.tabulars(ctx, catalog.EntityView, warehouse, f.Namespace.ID, after, limit)
		},
	}, page)
	if err != nil {
		return Views{}, err
	}
	out := Views{Identifiers: make([]Identifier, len(rows)), IDs: make([]ids.ID, len(rows)), Next: next}
	for i, row := range rows {
		out.Identifiers[i] = Identifier{Namespace: f.Namespace.Levels, Name: row.name}
		out.IDs[i] = row.id
	}
	return out, nil
}
