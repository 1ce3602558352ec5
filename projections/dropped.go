package projections

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
)

//go:embed sql/dropped.sql
var droppedSQL string

//go:embed sql/dropped_tree.sql
var droppedTreeSQL string

//go:embed sql/holders.sql
var holdersSQL string

// Dropped is a dropped table or view that still holds its locations.
type Dropped struct {
	Member
	PurgeRequested bool
	Expires        bool // it can come back, until its expiry has been carried out
	ExpiresAt      time.Time
	DropRoot       ids.ID // the namespace that it was dropped with, Nil if by itself
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
		var expires pgtype.Timestamptz
		var root pgtype.UUID
		err := row.Scan((*string)(&d.Kind), (*[16]byte)(&d.ID), (*[16]byte)(&d.Namespace), &d.Levels, &d.Name, (*[16]byte)(&d.UUID),
			&d.Pointer, &d.PurgeRequested, &expires, &root, &d.Purging, &d.KeepsData, (*[16]byte)(&d.DropEvent), &d.Version, &pointer, &d.Claims, &d.Vacant)
		d.Pointer = pointer.String // the guard's, which the next commit has to name
		d.Expires, d.ExpiresAt, d.DropRoot = expires.Valid, expires.Time.UTC(), root.Bytes
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

// DroppedTree is a namespace that was dropped with all that stood in it.
type DroppedTree struct {
	Root           ids.ID
	PurgeRequested bool
	ExpiresAt      time.Time
	DropEvent      ids.ID
	Namespaces     []Member // parents first: the first one is the root
	Parents        []ids.ID // of these, Nil at the top
	Tabulars       []Member // what was dropped with it and has not left it since
}

// DroppedTree returns a dropped tree by its root; false when there is none.
func (c Claims) DroppedTree(ctx context.Context, warehouse, root ids.ID) (DroppedTree, bool, error) {
	rows, err := c.db.Query(ctx, droppedTreeSQL, [16]byte(warehouse), [16]byte(catalog.MainBranch), [16]byte(root))
	if err != nil {
		return DroppedTree{}, false, fmt.Errorf("read a dropped tree: %w", err)
	}
	t := DroppedTree{Root: root}
	for rows.Next() {
		var m Member
		var uuid, parent pgtype.UUID
		var pointer, properties pgtype.Text
		var purge bool
		var expires time.Time
		var event [16]byte
		var depth int
		err := rows.Scan((*string)(&m.Kind), (*[16]byte)(&m.ID), (*[16]byte)(&m.Namespace), &m.Levels, &m.Name, &uuid, &m.Version,
			(*[16]byte)(&m.Mark), &pointer, &parent, &properties, &purge, &expires, &event, &m.Claims, &depth)
		if err != nil {
			rows.Close()
			return DroppedTree{}, false, fmt.Errorf("read a dropped tree: %w", err)
		}
		m.UUID, m.Pointer = uuid.Bytes, pointer.String
		if m.Kind != catalog.EntityNamespace {
			t.Tabulars = append(t.Tabulars, m)
			continue
		}
		m.Properties = []byte(properties.String)
		t.Namespaces, t.Parents = append(t.Namespaces, m), append(t.Parents, parent.Bytes)
		t.PurgeRequested, t.ExpiresAt, t.DropEvent = purge, expires.UTC(), event
	}
	if err := rows.Err(); err != nil {
		return DroppedTree{}, false, fmt.Errorf("read a dropped tree: %w", err)
	}
	return t, len(t.Namespaces) > 0, nil
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
