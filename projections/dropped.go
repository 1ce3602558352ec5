package projections

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
)

//go:embed sql/dropped.sql
var droppedSQL string

//go:embed sql/holders.sql
var holdersSQL string

// Dropped is a dropped table or view that still holds its locations.
type Dropped struct {
	Member
	PurgeRequested bool
	Expires        bool   // it can come back until a time that is not over
	Purging        bool   // the first of its files may be gone
	KeepsData      bool   // the purge that has started keeps the data files
	DropEvent      ids.ID // the drop that it is about
	// Vacant are those of the claims below which nothing lay when the object
	// claimed them: what is there is its own.
	Vacant []string
}

// Dropped returns a dropped object that still holds its locations; false when
// there is none of that id: it lives, or ended for good.
func (c Claims) Dropped(ctx context.Context, warehouse, object ids.ID) (Dropped, bool, error) {
	rows, err := c.db.Query(ctx, droppedSQL, [16]byte(warehouse), [16]byte(catalog.MainBranch), [16]byte(object))
	if err != nil {
		return Dropped{}, false, fmt.Errorf("read a dropped object: %w", err)
	}
	d, err := pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (Dropped, error) {
		var d Dropped
		var pointer pgtype.Text
		err := row.Scan((*string)(&d.Kind), (*[16]byte)(&d.ID), (*[16]byte)(&d.Namespace), &d.Levels, &d.Name, (*[16]byte)(&d.UUID),
			&d.Pointer, &d.PurgeRequested, &d.Expires, &d.Purging, &d.KeepsData, (*[16]byte)(&d.DropEvent), &d.Version, &pointer, &d.Claims, &d.Vacant)
		d.Pointer = pointer.String // the guard's, which the next commit has to name
		return d, err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return Dropped{}, false, nil
	}
	if err != nil {
		return Dropped{}, false, fmt.Errorf("read a dropped object: %w", err)
	}
	return d, true, nil
}

// Holder is an object that claims a location.
type Holder struct{ Warehouse, Object ids.ID }

// Holders returns up to limit objects that claim a location at, below or above
// one of the keys.
func (c Claims) Holders(ctx context.Context, keys []string, limit int) ([]Holder, error) {
	lower, upper := make([]string, len(keys)), make([]string, len(keys))
	for i, key := range keys {
		covers := claimRange(key)
		lower[i], upper[i] = covers.lower, covers.upper
	}
	rows, err := c.db.Query(ctx, holdersSQL, lower, upper, limit)
	if err != nil {
		return nil, fmt.Errorf("look for who claims a location: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Holder, error) {
		var h Holder
		err := row.Scan((*[16]byte)(&h.Warehouse), (*[16]byte)(&h.Object))
		return h, err
	})
	if err != nil {
		return nil, fmt.Errorf("look for who claims a location: %w", err)
	}
	return list, nil
}
