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

//go:embed sql/taken_over.sql
var takenOverSQL string

//go:embed sql/purges.sql
var purgesSQL string

// Dropped is a dropped table or view that still holds its locations.
type Dropped struct {
	Member
	PurgeRequested bool
	Expires        bool   // it can come back until a time that is not over
	Purging        bool   // the first of its files may be gone
	DropEvent      ids.ID // the drop that it is about
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
			&d.Pointer, &d.PurgeRequested, &d.Expires, &d.Purging, (*[16]byte)(&d.DropEvent), &d.Version, &pointer, &d.Claims)
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

// TakenOver reports whether an object's state ever came from elsewhere, by
// registration: then files below its claims may be somebody's.
func (c Claims) TakenOver(ctx context.Context, object ids.ID) (bool, error) {
	rows, err := c.db.Query(ctx, takenOverSQL, [16]byte(object))
	if err != nil {
		return false, fmt.Errorf("ask where an object came from: %w", err)
	}
	taken, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[bool])
	if err != nil {
		return false, fmt.Errorf("ask where an object came from: %w", err)
	}
	return taken, nil
}

// Purge is a dropped object whose files wait to be deleted.
type Purge struct{ Warehouse, Object, Drop ids.ID }

// Purges returns up to limit objects whose files wait to be purged, in order of
// their ids, from behind one of them.
func (c Claims) Purges(ctx context.Context, after ids.ID, limit int) ([]Purge, error) {
	rows, err := c.db.Query(ctx, purgesSQL, [16]byte(after), limit)
	if err != nil {
		return nil, fmt.Errorf("read what waits to be purged: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Purge, error) {
		var p Purge
		err := row.Scan((*[16]byte)(&p.Warehouse), (*[16]byte)(&p.Object), (*[16]byte)(&p.Drop))
		return p, err
	})
	if err != nil {
		return nil, fmt.Errorf("read what waits to be purged: %w", err)
	}
	return list, nil
}
