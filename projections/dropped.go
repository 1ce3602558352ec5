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

//go:embed sql/purge_started.sql
var purgeStartedSQL string

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

// PurgeStarted returns what was announced when the purge of an object started:
// its metadata may be gone by now. A payload that was erased announces nothing,
// and that the data stays.
func (c Claims) PurgeStarted(ctx context.Context, object ids.ID) (catalog.PurgeStarted, error) {
	rows, err := c.db.Query(ctx, purgeStartedSQL, [16]byte(object))
	if err != nil {
		return catalog.PurgeStarted{}, fmt.Errorf("read the start of a purge: %w", err)
	}
	announced := catalog.PurgeStarted{KeepsData: true}
	var typ, schema string
	var data []byte
	_, err = pgx.ForEachRow(rows, []any{&typ, &schema, &data}, func() error {
		if data == nil {
			return nil
		}
		event, err := catalog.Decode(typ, schema, data)
		if err != nil {
			return err
		}
		switch e := event.(type) {
		case *catalog.TablePurgeStarted:
			announced = e.PurgeStarted
		case *catalog.ViewPurgeStarted:
			announced = e.PurgeStarted
		}
		return nil
	})
	if err != nil {
		return catalog.PurgeStarted{}, fmt.Errorf("read the start of a purge: %w", err)
	}
	return announced, nil
}
