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
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
)

var (
	//go:embed sql/clean_up_object.sql
	cleanUpObjectSQL string
	//go:embed sql/clean_ups.sql
	cleanUpsSQL string
)

// CleanUps reads what clean-ups of metadata files rest on.
type CleanUps struct{ db Querier }

// NewCleanUps returns a reader on a pool on the primary.
func NewCleanUps(db Querier) CleanUps { return CleanUps{db} }

// Cleanable is a living table or view, as a clean-up sees it.
type Cleanable struct {
	Now     time.Time // the database's clock
	Kind    catalog.Entity
	Name    catalog.TableName
	Version int64 // guard
	Mark    ids.ID
	Pointer string
	// UndoWindow is that of the warehouse; nil where the server's setting holds.
	UndoWindow *time.Duration
	// Restored is when the database was last found to have another history than
	// the log, by a restore or a fail-over; zero if never.
	Restored time.Time
	Claims   []HeldClaim
}

// HeldClaim is a location key and since when the object has held it without a
// break, zero where that has no position yet.
type HeldClaim struct {
	Location string
	Since    time.Time
}

// Object returns a living table or view, false if there is none of that id.
func (c CleanUps) Object(ctx context.Context, warehouse, object ids.ID) (Cleanable, bool, error) {
	rows, err := c.db.Query(ctx, cleanUpObjectSQL, [16]byte(warehouse), [16]byte(catalog.MainBranch), [16]byte(object))
	if err != nil {
		return Cleanable{}, false, fmt.Errorf("read what is cleaned up: %w", err)
	}
	o, err := pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (o Cleanable, err error) {
		var window *int64
		var restored pgtype.Timestamptz
		var locations []string
		var since []pgtype.Timestamptz
		err = row.Scan(&o.Now, (*string)(&o.Kind), (*[16]byte)(&o.Name.NamespaceID), (*[]string)(&o.Name.Namespace), &o.Name.Name,
			&o.Version, (*[16]byte)(&o.Mark), &o.Pointer, &window, &restored, &locations, &since)
		if window != nil {
			d := time.Duration(*window) * time.Second
			o.UndoWindow = &d
		}
		o.Restored = restored.Time
		for i, l := range locations {
			o.Claims = append(o.Claims, HeldClaim{Location: l, Since: since[i].Time})
		}
		return o, err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return Cleanable{}, false, nil
	}
	if err != nil {
		return Cleanable{}, false, fmt.Errorf("read what is cleaned up: %w", err)
	}
	return o, true, nil
}

// StartedCleanUp is a clean-up that has started and not finished.
type StartedCleanUp struct {
	ID, Object ids.ID
	Files      int
}

// Started returns up to limit clean-ups of a warehouse behind an id.
func (c CleanUps) Started(ctx context.Context, warehouse, after ids.ID, limit int) ([]StartedCleanUp, error) {
	rows, err := c.db.Query(ctx, cleanUpsSQL, [16]byte(warehouse), [16]byte(catalog.MainBranch), [16]byte(after), limit)
	if err != nil {
		return nil, fmt.Errorf("read clean-ups: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (s StartedCleanUp, err error) {
		err = row.Scan((*[16]byte)(&s.ID), (*[16]byte)(&s.Object), &s.Files)
		return s, err
	})
	if err != nil {
		return nil, fmt.Errorf("read clean-ups: %w", err)
	}
	return list, nil
}

// CleanUpFile is the constraint by which a commit is refused that registers a file
// which is being deleted.
const CleanUpFile = "clean_up_file"

// deriveCleanUp says what an event of a clean-up does: the ids of its files stand
// in a row from its start to its end.
func deriveCleanUp(r *eventstore.Record, at place, event catalog.Event) (changes []change, ok bool) {
	switch e := event.(type) {
	case *catalog.CleanUpStarted:
		files := make([]ids.ID, 0, len(e.Files))
		for i := range e.Files {
			if id, ok := catalog.FileIDIn(e.Files[i].Location); ok {
				files = append(files, id)
			}
		}
		return []change{{
			table: cleanUpTable, key: at.key(r.Stream), order: at.order(string(r.Stream[:])),
			values: []any{uuid(e.Object), uuids(files), r.Version},
		}}, true
	case *catalog.CleanUpFinished:
		return []change{{table: cleanUpTable, action: deleteRow, key: at.key(r.Stream), order: at.order(string(r.Stream[:]))}}, true
	}
	return nil, false
}

// mustStay has each commit that registers a metadata file look whether the file is
// being deleted. It changes no row: replay leaves it out.
type mustStay struct{}

const mustStaySQL = "SELECT rm.must_stay($1)"

// Project implements [eventstore.Projector].
func (mustStay) Project(c *eventstore.Commit, w *eventstore.Writes) error {
	for i := range c.Records {
		record := &c.Records[i]
		if record.Type != catalog.TypeTableRegistered && record.Type != catalog.TypeViewRegistered {
			continue
		}
		event, err := catalog.Decode(record.Type, record.DataSchema, record.Data)
		if err != nil {
			return fmt.Errorf("project record %d: %w", i, err)
		}
		if id, named := catalog.FileIDIn(fileOf(event).MetadataLocation); named {
			w.Add(eventstore.Write{Rank: rankCleanUps, Key: string(id[:]), SQL: mustStaySQL, Args: []any{uuid(id)}, Rows: -1})
		}
	}
	return nil
}

// rankCleanUps comes after the guards, the names and the locations, which all
// commits that could meet lock before.
const rankCleanUps = eventstore.RankModels + 3
