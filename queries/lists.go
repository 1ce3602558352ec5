package queries

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

var (
	//go:embed sql/list_tabulars.sql
	listTabularsSQL string
	//go:embed sql/list_namespaces.sql
	listNamespacesSQL string
	//go:embed sql/list_root_namespaces.sql
	listRootNamespacesSQL string
	//go:embed sql/list_warehouses.sql
	listWarehousesSQL string
)

// Lists reads the children of an object from the read models, in the order of
// their folded names, behind the one given.
type Lists struct{ db projections.Querier }

// NewLists returns lists on a pool on the primary (law 4).
func NewLists(db projections.Querier) Lists { return Lists{db} }

// child is a row of a list.
type child struct {
	id     ids.ID
	name   string   // of a table or view
	levels []string // of a namespace
	fold   string
}

// tabulars reads the tables or the views of a namespace.
func (l Lists) tabulars(ctx context.Context, kind catalog.Entity, warehouse, namespace ids.ID, after string, limit int) ([]child, error) {
	rows, err := l.db.Query(ctx, listTabularsSQL, [16]byte(warehouse), [16]byte(catalog.MainBranch), [16]byte(namespace),
		string(kind), after, limit)
	return collect(rows, err, func(row pgx.CollectableRow) (c child, err error) {
		err = row.Scan((*[16]byte)(&c.id), &c.name, &c.fold)
		return c, err
	})
}

func (l Lists) namespaces(ctx context.Context, warehouse, parent ids.ID, after string, limit int) ([]child, error) {
	var rows pgx.Rows
	var err error
	if parent.IsNil() {
		rows, err = l.db.Query(ctx, listRootNamespacesSQL, [16]byte(warehouse), [16]byte(catalog.MainBranch), after, limit)
	} else {
		rows, err = l.db.Query(ctx, listNamespacesSQL, [16]byte(warehouse), [16]byte(catalog.MainBranch), [16]byte(parent), after, limit)
	}
	return collect(rows, err, func(row pgx.CollectableRow) (c child, err error) {
		err = row.Scan((*[16]byte)(&c.id), &c.levels, &c.fold)
		return c, err
	})
}

func (l Lists) warehouses(ctx context.Context, project ids.ID) ([]Warehouse, error) {
	rows, err := l.db.Query(ctx, listWarehousesSQL, [16]byte(project))
	return collect(rows, err, func(row pgx.CollectableRow) (w Warehouse, err error) {
		var profile string
		var format int16
		var formats []int16
		err = row.Scan((*[16]byte)(&w.ID), &w.Project, &w.Name, &w.Active, &w.Protected, &profile, &format, &formats, &w.UpdatedAt, &w.ExpirationSeconds, &w.UndoWindowSeconds)
		w.StorageProfile, w.DefaultFormat = json.RawMessage(profile), int(format)
		for _, f := range formats {
			w.AllowedFormats = append(w.AllowedFormats, int(f))
		}
		w.UpdatedAt = w.UpdatedAt.UTC()
		return w, err
	})
}

func collect[T any](rows pgx.Rows, err error, scan pgx.RowToFunc[T]) ([]T, error) {
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	list, err := pgx.CollectRows(rows, scan)
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	return list, nil
}
