package queries

import (
	"context"
	_ "embed"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

var (
	//go:embed sql/list_deleted.sql
	listDeletedSQL string
	//go:embed sql/list_deleted_namespaces.sql
	listDeletedNamespacesSQL string
)

// Deleted is what was dropped and can come back.
type Deleted struct {
	ID             ids.ID
	Kind           catalog.Entity // table, view or namespace
	Namespace      []string       // where it stood; of a namespace its own levels
	Name           string         // of a table or view
	DropRoot       ids.ID         // the namespace that it was dropped with; Nil if by itself
	CreatedAt      time.Time
	DeletedAt      time.Time
	ExpiresAt      time.Time
	PurgeRequested bool
	// Namespaces, Tables and Views are how many were dropped with a namespace, itself
	// included, and have not left it since.
	Namespaces, Tables, Views int64

	parent projections.NamespaceFacts
}

// ListDeletedTabulars lists the tables and views of a warehouse that can come
// back, oldest first, or those that stood in one namespace. Rows that the caller may
// not see are left out.
func (s *Service) ListDeletedTabulars(ctx context.Context, actor authz.Actor, warehouse, namespace ids.ID, page Page) ([]Deleted, string, error) {
	list := "deleted-tabulars"
	if !namespace.IsNil() {
		list += " " + namespace.String()
	}
	return s.deleted(ctx, actor, warehouse, list, page, func(ctx context.Context, after ids.ID, limit int) ([]Deleted, error) {
		return s.deps.Lists.deletedTabulars(ctx, warehouse, namespace, after, limit)
	})
}

// ListDeletedNamespaces lists the namespaces of a warehouse that were dropped with
// all that stood in them and can come back, oldest first.
func (s *Service) ListDeletedNamespaces(ctx context.Context, actor authz.Actor, warehouse ids.ID, page Page) ([]Deleted, string, error) {
	return s.deleted(ctx, actor, warehouse, "deleted-namespaces", page, func(ctx context.Context, after ids.ID, limit int) ([]Deleted, error) {
		return s.deps.Lists.deletedNamespaces(ctx, warehouse, after, limit)
	})
}

// deleted reads a page, always one.
func (s *Service) deleted(
	ctx context.Context, actor authz.Actor, warehouse ids.ID, list string, page Page, fetch func(ctx context.Context, after ids.ID, limit int) ([]Deleted, error),
) (rows []Deleted, next string, err error) {
	f, err := s.resolve(ctx, projections.Query{Warehouse: warehouse})
	if err != nil {
		return nil, "", err
	}
	for _, action := range []authz.Action{authz.WarehouseUse, authz.WarehouseListDeletedTabulars} {
		if err := authz.Check(ctx, s.deps.Authorizer, actor, subject.Warehouse(f), action, noSuchWarehouse()); err != nil {
			return nil, "", err
		}
	}
	if err := inWarehouse(f); err != nil {
		return nil, "", err
	}
	size, text, err := s.opened(listing{name: list, actor: actor, of: warehouse}, page)
	if err != nil {
		return nil, "", err
	}
	var after ids.ID
	if text != "" {
		if after, err = ids.Parse(text); err != nil {
			return nil, "", &catalog.Error{Kind: catalog.BadRequest, Message: "Invalid page token", Cause: err}
		}
	}
	for fetches := 1; ; fetches++ {
		limit := size - len(rows) + 1 // one more tells whether there is more
		batch, err := fetch(ctx, after, limit)
		if err != nil {
			return nil, "", unavailable(err)
		}
		visible, err := s.visibleDeleted(ctx, actor, f, batch)
		if err != nil {
			return nil, "", err
		}
		rows = append(rows, visible...)
		switch {
		case len(rows) > size:
			rows = rows[:size]
			return rows, s.tokens.seal(rows[size-1].ID.String(), bind(actor, list, warehouse)), nil
		case len(batch) < limit:
			return rows, "", nil
		}
		after = batch[len(batch)-1].ID
		if fetches == maxFetches {
			return rows, s.tokens.seal(after.String(), bind(actor, list, warehouse)), nil
		}
	}
}

// visibleDeleted keeps what the caller may see, in one question for each parent
// and kind.
func (s *Service) visibleDeleted(ctx context.Context, actor authz.Actor, f *projections.Facts, batch []Deleted) ([]Deleted, error) {
	type group struct {
		parent ids.ID
		kind   catalog.Entity
	}
	groups := map[group][]ids.ID{}
	parents := map[group]authz.Facts{}
	for i := range batch {
		d := &batch[i]
		g := group{d.parent.ID, d.Kind}
		groups[g] = append(groups[g], d.ID)
		at := *f
		at.Namespace = d.parent
		parents[g] = subject.Namespace(&at)
		if !d.parent.Exists { // it stood at the top, or its parent is gone
			parents[g] = subject.Warehouse(f)
		}
	}
	seen := make(map[ids.ID]bool, len(batch))
	for g, all := range groups {
		visible, err := s.deps.Authorizer.Filter(ctx, actor, parents[g], string(g.kind), all)
		if err != nil {
			return nil, &catalog.Error{Kind: catalog.Unavailable, Message: "The authorizer is not available", RetryAfter: retrySoon, Cause: err}
		}
		for _, id := range visible {
			seen[id] = true
		}
	}
	kept := make([]Deleted, 0, len(batch))
	for i := range batch {
		if seen[batch[i].ID] {
			kept = append(kept, batch[i])
		}
	}
	return kept, nil
}

// standing is a parent that may stand or not.
func standing(id pgtype.UUID, exists bool, ancestors [][16]byte) projections.NamespaceFacts {
	n := projections.NamespaceFacts{Exists: exists, ID: id.Bytes}
	for _, a := range ancestors {
		n.Ancestors = append(n.Ancestors, a)
	}
	return n
}

func (d *Deleted) settle() {
	d.CreatedAt, _ = d.ID.Time()
	d.CreatedAt, d.DeletedAt, d.ExpiresAt = d.CreatedAt.UTC(), d.DeletedAt.UTC(), d.ExpiresAt.UTC()
}

func (l Lists) deletedTabulars(ctx context.Context, warehouse, namespace, after ids.ID, limit int) ([]Deleted, error) {
	var of any
	if !namespace.IsNil() {
		of = [16]byte(namespace)
	}
	rows, err := l.db.Query(ctx, listDeletedSQL, [16]byte(warehouse), [16]byte(catalog.MainBranch), [16]byte(after), of, limit)
	return collect(rows, err, func(row pgx.CollectableRow) (d Deleted, err error) {
		var parent, root pgtype.UUID
		var exists bool
		var ancestors [][16]byte
		err = row.Scan((*[16]byte)(&d.ID), (*string)(&d.Kind), &d.Namespace, &d.Name, &parent, &exists, &ancestors,
			&d.DeletedAt, &d.ExpiresAt, &d.PurgeRequested, &root)
		d.parent, d.DropRoot = standing(parent, exists, ancestors), root.Bytes
		d.settle()
		return d, err
	})
}

func (l Lists) deletedNamespaces(ctx context.Context, warehouse, after ids.ID, limit int) ([]Deleted, error) {
	rows, err := l.db.Query(ctx, listDeletedNamespacesSQL, [16]byte(warehouse), [16]byte(catalog.MainBranch), [16]byte(after), limit)
	return collect(rows, err, func(row pgx.CollectableRow) (d Deleted, err error) {
		d.Kind = catalog.EntityNamespace
		var parent pgtype.UUID
		var exists bool
		var ancestors [][16]byte
		err = row.Scan((*[16]byte)(&d.ID), &d.Namespace, &parent, &exists, &ancestors, &d.DeletedAt, &d.ExpiresAt, &d.PurgeRequested,
			&d.Namespaces, &d.Tables, &d.Views)
		d.parent = standing(parent, exists, ancestors)
		d.settle()
		return d, err
	})
}
