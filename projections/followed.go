package projections

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
)

var (
	//go:embed sql/follow_compare.sql
	followCompareSQL string
	//go:embed sql/follow_hours.sql
	followHoursSQL string
	//go:embed sql/follow_fold.sql
	followFoldSQL string
)

// Names of the tables that follow the log, in findings.
const (
	searchTable     = "rm.tabular_search"
	statisticsTable = "rm.warehouse_statistics"
)

// followedCheck holds the read models that follow the log against what they
// should be. They are behind it by what the cursor says: the statistics are
// folded beside the replay up to the cursor that was met at its begin, into a
// table of its own, and then compared page by page, but for what the follower
// changed behind that; the search index is compared row by row with the names of
// now, but for objects that were changed behind the cursor.
type followedCheck struct {
	pool   *pgxpool.Pool
	cursor int64
	table  string      // where the folded hours stand
	folded *statistics // the last hour of each warehouse, and what is not written yet
	at     int64       // position up to which the hours are written
	next   int64       // position up to which they are folded
}

// newFollowedCheck takes the cursor and makes the table of a run.
func newFollowedCheck(ctx context.Context, pool *pgxpool.Pool, run string) (*followedCheck, error) {
	c := &followedCheck{pool: pool, table: rebuildSchema + ".warehouse_statistics_" + run, folded: newStatistics()}
	if err := pool.QueryRow(ctx, "SELECT position FROM ops.cursor WHERE reader = $1", follower).Scan(&c.cursor); err != nil {
		return nil, fmt.Errorf("read what follows the log: %w", err)
	}
	if _, err := pool.Exec(ctx, "CREATE UNLOGGED TABLE "+c.table+" (LIKE rm.warehouse_statistics, PRIMARY KEY (warehouse_id, until))"); err != nil {
		return nil, fmt.Errorf("make the table to fold %s: %w", statisticsTable, err)
	}
	return c, nil
}

// drop removes the table. What stays costs only room.
func (c *followedCheck) drop(ctx context.Context) {
	_, _ = c.pool.Exec(ctx, "DROP TABLE IF EXISTS "+c.table)
}

// fold hears of each event of the replay.
func (c *followedCheck) fold(e *eventstore.Entry, changes []change) {
	if e.Position <= c.cursor {
		c.folded.add(e, changes)
		c.next = e.Position
	}
}

// flush writes what was folded and keeps the last hour of each warehouse.
func (c *followedCheck) flush(ctx context.Context, tx pgx.Tx) error {
	if c.next == c.at {
		return nil
	}
	if len(c.folded.gone) > 0 {
		gone := make([][16]byte, 0, len(c.folded.gone))
		for w := range c.folded.gone {
			gone = append(gone, w)
		}
		if _, err := tx.Exec(ctx, "DELETE FROM "+c.table+" WHERE warehouse_id = ANY ($1)", gone); err != nil {
			return err
		}
		clear(c.folded.gone)
	}
	var warehouses [][16]byte
	var untils, updates []time.Time
	var tables, views, positions []int64
	for w, rows := range c.folded.rows {
		for _, row := range rows {
			if row.position > c.at {
				warehouses, untils, updates = append(warehouses, w), append(untils, row.until), append(updates, row.updatedAt)
				tables, views, positions = append(tables, row.tables), append(views, row.views), append(positions, row.position)
			}
		}
		if n := len(rows); n > 1 {
			c.folded.rows[w] = slices.Clone(rows[n-1:])
		}
	}
	c.at = c.next
	if len(warehouses) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, strings.ReplaceAll(followFoldSQL, "@folded@", c.table), warehouses, untils, tables, views, updates, positions)
	return err
}

// report adds what is wrong, after the replay.
func (c *followedCheck) report(ctx context.Context, r *Report, limit, pageSize int) error {
	var warehouse ids.ID
	var until time.Time
	for {
		n, err := c.hoursPage(ctx, r, &warehouse, &until, limit, pageSize)
		if err != nil {
			return fmt.Errorf("compare %s: %w", statisticsTable, err)
		}
		if n < pageSize {
			break
		}
	}
	var last ids.ID
	for {
		n, next, err := c.searchPage(ctx, r, last, limit, pageSize)
		if err != nil {
			return fmt.Errorf("compare %s: %w", searchTable, err)
		}
		if n < pageSize {
			return nil
		}
		last = next
	}
}

// String shows all columns behind the key.
func (c counted) String() string {
	return fmt.Sprintf("%d tables and %d views at %s, position %d", c.tables, c.views, c.updatedAt.UTC().Format(time.RFC3339Nano), c.position)
}

// hoursPage compares the hours behind a warehouse and hour, and moves these on.
func (c *followedCheck) hoursPage(ctx context.Context, r *Report, warehouse *ids.ID, until *time.Time, limit, pageSize int) (n int, err error) {
	rows, err := c.pool.Query(ctx, strings.ReplaceAll(followHoursSQL, "@folded@", c.table), [16]byte(*warehouse), *until, pageSize, c.cursor, follower)
	if err != nil {
		return 0, err
	}
	type columns struct {
		tables, views, position pgtype.Int8
		updatedAt               pgtype.Timestamptz
	}
	var live, folded columns
	var settled bool
	fields := []any{
		(*[16]byte)(warehouse), until, &live.tables, &live.views, &live.updatedAt, &live.position,
		&folded.tables, &folded.views, &folded.updatedAt, &folded.position, &settled,
	}
	text := func(v columns) string {
		return counted{tables: v.tables.Int64, views: v.views.Int64, updatedAt: v.updatedAt.Time, position: v.position.Int64}.String()
	}
	_, err = pgx.ForEachRow(rows, fields, func() error {
		n++
		if !settled {
			return nil
		}
		r.Rows++
		key := warehouse.String() + "/" + until.UTC().Format(time.RFC3339)
		switch {
		case !folded.position.Valid:
			r.add(limit, Finding{Kind: RowUnexplained, Table: statisticsTable, Key: key, Live: text(live)})
		case !live.position.Valid:
			r.add(limit, Finding{Kind: RowMissing, Table: statisticsTable, Key: key, Rebuilt: text(folded)})
		case text(live) != text(folded):
			r.add(limit, Finding{Kind: RowDiffers, Table: statisticsTable, Key: key, Live: text(live), Rebuilt: text(folded)})
		}
		return nil
	})
	return n, err
}

// searchPage compares the rows behind an id.
func (c *followedCheck) searchPage(ctx context.Context, r *Report, last ids.ID, limit, pageSize int) (n int, next ids.ID, err error) {
	rows, err := c.pool.Query(ctx, followCompareSQL, [16]byte(last), pageSize, follower)
	if err != nil {
		return 0, next, err
	}
	var id [16]byte
	var want, got struct {
		warehouse, branch pgtype.UUID
		version           pgtype.Int8
	}
	var levels, trigrams []string
	var name pgtype.Text
	var settled bool
	fields := []any{&id, &want.warehouse, &want.branch, &levels, &name, &want.version, &got.warehouse, &got.branch, &trigrams, &got.version, &settled}
	_, err = pgx.ForEachRow(rows, fields, func() error {
		n, next = n+1, id
		if !settled {
			return nil
		}
		r.Rows++
		key := ids.ID(id).String()
		expected := pathTrigrams(levels, name.String)
		switch {
		case !want.warehouse.Valid:
			r.add(limit, Finding{Kind: RowUnexplained, Table: searchTable, Key: key, Live: trigramText(trigrams)})
		case !got.warehouse.Valid:
			r.add(limit, Finding{Kind: RowMissing, Table: searchTable, Key: key, Rebuilt: trigramText(expected)})
		case got != want || !slices.Equal(trigrams, expected):
			r.add(limit, Finding{Kind: RowDiffers, Table: searchTable, Key: key, Live: trigramText(trigrams), Rebuilt: trigramText(expected)})
		}
		return nil
	})
	return n, next, err
}

func trigramText(list []string) string {
	text, err := json.Marshal(strings.Join(list, "|"))
	if err != nil {
		return ""
	}
	return string(text)
}
