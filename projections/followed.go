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

//go:embed sql/follow_compare.sql
var followCompareSQL string

// Names of the tables that follow the log, in findings.
const (
	searchTable     = "rm.tabular_search"
	statisticsTable = "rm.warehouse_statistics"
)

// followedCheck holds the read models that follow the log against what they
// should be. They are behind it by what the cursor says: the statistics are
// taken with their cursor before the replay begins, and folded beside it up to
// there; the search index is compared row by row with the names of now, but for
// objects that were changed behind the cursor.
type followedCheck struct {
	pool   *pgxpool.Pool
	cursor int64
	stored map[string]counted // by warehouse and hour
	folded *statistics
}

func statisticsKey(warehouse ids.ID, until time.Time) string {
	return warehouse.String() + "/" + until.UTC().Format(time.RFC3339)
}

// newFollowedCheck takes the statistics and the cursor in one snapshot.
func newFollowedCheck(ctx context.Context, pool *pgxpool.Pool) (*followedCheck, error) {
	c := &followedCheck{pool: pool, stored: map[string]counted{}, folded: newStatistics()}
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, pool, options, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, "SELECT position FROM ops.cursor WHERE reader = $1", follower).Scan(&c.cursor); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, "SELECT warehouse_id, until, tables, views, updated_at, position FROM rm.warehouse_statistics")
		if err != nil {
			return err
		}
		var warehouse [16]byte
		var row counted
		_, err = pgx.ForEachRow(rows, []any{&warehouse, &row.until, &row.tables, &row.views, &row.updatedAt, &row.position}, func() error {
			c.stored[statisticsKey(warehouse, row.until)] = row
			return nil
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read what follows the log: %w", err)
	}
	return c, nil
}

// fold hears of each event of the replay.
func (c *followedCheck) fold(e *eventstore.Entry, changes []change) {
	if e.Position <= c.cursor {
		c.folded.add(e, changes)
	}
}

// report adds what is wrong, after the replay.
func (c *followedCheck) report(ctx context.Context, r *Report, limit, pageSize int) error {
	for warehouse, rows := range c.folded.rows {
		for _, want := range rows {
			key := statisticsKey(warehouse, want.until)
			row, found := c.stored[key]
			delete(c.stored, key)
			switch {
			case !found:
				r.add(limit, Finding{Kind: RowMissing, Table: statisticsTable, Key: key, Rebuilt: want.String()})
			case row.String() != want.String():
				r.add(limit, Finding{Kind: RowDiffers, Table: statisticsTable, Key: key, Live: row.String(), Rebuilt: want.String()})
			}
			r.Rows++
		}
	}
	for key, row := range c.stored {
		r.add(limit, Finding{Kind: RowUnexplained, Table: statisticsTable, Key: key, Live: row.String()})
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
