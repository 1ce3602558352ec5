package projections

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
)

var (
	//go:embed sql/projects.sql
	projectsSQL string
	//go:embed sql/warehouse_details.sql
	warehouseDetailsSQL string
	//go:embed sql/tabular_by_uuid.sql
	tabularByUUIDSQL string
)

// Details reads what the management API asks for and Resolve leaves out, so
// that a load and a commit never pay for it.
type Details struct{ db Querier }

// NewDetails returns a reader on a pool on the primary.
func NewDetails(db Querier) Details { return Details{db} }

// ProjectDetails are about a project.
type ProjectDetails struct {
	ID        ids.ID // of its stream
	Ident     string // the id by which callers name it
	Name      string
	AuthzMark ids.ID
	Version   int64 // guard
}

// Project returns a project by the id of its stream; found is false if it does
// not exist.
func (d Details) Project(ctx context.Context, id ids.ID) (p ProjectDetails, found bool, err error) {
	return one(d.projects(ctx, uuid(id), nil))
}

// ProjectNamed returns a project by the id by which callers name it.
func (d Details) ProjectNamed(ctx context.Context, ident string) (p ProjectDetails, found bool, err error) {
	return one(d.projects(ctx, nil, ident))
}

// Projects returns all projects, by name.
func (d Details) Projects(ctx context.Context) ([]ProjectDetails, error) {
	return d.projects(ctx, nil, nil)
}

func one(list []ProjectDetails, err error) (ProjectDetails, bool, error) {
	if err != nil || len(list) == 0 {
		return ProjectDetails{}, false, err
	}
	return list[0], true, nil
}

func (d Details) projects(ctx context.Context, id, ident any) ([]ProjectDetails, error) {
	rows, err := d.db.Query(ctx, projectsSQL, id, ident)
	if err != nil {
		return nil, fmt.Errorf("read projects: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p ProjectDetails, err error) {
		err = row.Scan((*[16]byte)(&p.ID), &p.Ident, &p.Name, (*[16]byte)(&p.AuthzMark), &p.Version)
		return p, err
	})
	if err != nil {
		return nil, fmt.Errorf("read projects: %w", err)
	}
	return list, nil
}

// WarehouseDetails are about a warehouse.
type WarehouseDetails struct {
	Project string // id by which callers name its project
	// ExpirationSeconds is how long a dropped object can come back; nil where a
	// drop is for good.
	ExpirationSeconds *int64
	// UndoWindowSeconds is how long files of former states are kept; nil where the
	// server's setting holds.
	UndoWindowSeconds *int64
	// Populated says that a namespace stands in it, Claimed that objects, living
	// or dropped, hold locations, or that files are being deleted.
	Populated, Claimed bool
}

// Warehouse returns the zero value for a warehouse that does not exist.
func (d Details) Warehouse(ctx context.Context, id ids.ID) (WarehouseDetails, error) {
	rows, err := d.db.Query(ctx, warehouseDetailsSQL, [16]byte(id))
	if err != nil {
		return WarehouseDetails{}, fmt.Errorf("read a warehouse: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (w WarehouseDetails, err error) {
		err = row.Scan(&w.Project, &w.ExpirationSeconds, &w.UndoWindowSeconds, &w.Populated, &w.Claimed)
		return w, err
	})
	if err != nil {
		return WarehouseDetails{}, fmt.Errorf("read a warehouse: %w", err)
	}
	if len(list) == 0 {
		return WarehouseDetails{}, nil
	}
	return list[0], nil
}

// TabularByUUID returns the id of the table or view that lives under a
// table-uuid in a warehouse, Nil if there is none.
func (d Details) TabularByUUID(ctx context.Context, warehouse, tableUUID ids.ID) (ids.ID, error) {
	rows, err := d.db.Query(ctx, tabularByUUIDSQL, [16]byte(tableUUID), [16]byte(warehouse), [16]byte(catalog.MainBranch))
	if err != nil {
		return ids.Nil, fmt.Errorf("find a table by its uuid: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[[16]byte])
	if err != nil {
		return ids.Nil, fmt.Errorf("find a table by its uuid: %w", err)
	}
	if len(list) == 0 {
		return ids.Nil, nil
	}
	return list[0], nil
}
