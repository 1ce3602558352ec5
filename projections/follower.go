package projections

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
)

var (
	//go:embed sql/follow_tabulars.sql
	followTabularsSQL string
	//go:embed sql/follow_statistics.sql
	followStatisticsSQL string
	//go:embed sql/follow_count.sql
	followCountSQL string
	//go:embed sql/follow_index.sql
	followIndexSQL string
)

// followPage is how many events one transaction of the follower handles.
const followPage = 1000

// follower names the cursor of the read models that follow the log.
const follower = "read-models"

// Follower keeps the read models that no commit and no decision waits for: it
// reads the log by position, behind the commits, and moves its cursor in the
// transaction that writes. Any number of instances may follow; one at a time
// works.
//
// The search index is made from the inline read models, for the tables and
// views that events have touched: doing it twice does no harm. The statistics
// of warehouses are folded from the events, hour by hour of the log's own time.
type Follower struct {
	pool *pgxpool.Pool
	log  EventLog
}

// NewFollower returns a follower on a pool of the application role.
func NewFollower(pool *pgxpool.Pool, log EventLog) *Follower { return &Follower{pool: pool, log: log} }

// CatchUp follows until the head of the log, or until another instance works
// at it.
func (f *Follower) CatchUp(ctx context.Context) error {
	for {
		more, err := f.page(ctx)
		if err != nil || !more {
			return err
		}
	}
}

// Reset has everything made anew: the read models are emptied, and the next
// CatchUp begins at the first event.
func (f *Follower) Reset(ctx context.Context) error {
	err := pgx.BeginFunc(ctx, f.pool, func(tx pgx.Tx) error {
		for _, sql := range []string{
			"SELECT position FROM ops.cursor WHERE reader = $1 FOR UPDATE",
			"UPDATE ops.cursor SET position = 0 WHERE reader = $1",
		} {
			if _, err := tx.Exec(ctx, sql, follower); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, "TRUNCATE rm.tabular_search, rm.warehouse_statistics")
		return err
	})
	if err != nil {
		return fmt.Errorf("begin anew to follow the log: %w", err)
	}
	return nil
}

// page handles the next events; more is false at the head, and when another
// instance is at work.
func (f *Follower) page(ctx context.Context) (more bool, err error) {
	var behind bool
	err = f.pool.QueryRow(ctx, "SELECT c.position < h.size FROM ops.cursor c, es.log_head h WHERE c.reader = $1", follower).Scan(&behind)
	if err != nil || !behind {
		return false, followed(err)
	}
	err = pgx.BeginFunc(ctx, f.pool, func(tx pgx.Tx) error {
		var position int64
		err := tx.QueryRow(ctx, "SELECT position FROM ops.cursor WHERE reader = $1 FOR UPDATE SKIP LOCKED", follower).Scan(&position)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		entries, err := f.log.ReadAfter(ctx, position, followPage)
		if err != nil || len(entries) == 0 {
			return err
		}
		more = true
		if err := f.write(ctx, tx, entries); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE ops.cursor SET position = $2 WHERE reader = $1", follower, entries[len(entries)-1].Position)
		return err
	})
	return more, followed(err)
}

func followed(err error) error {
	if err != nil {
		return fmt.Errorf("follow the log: %w", err)
	}
	return nil
}

// changesToFollow are the changes of an event that can matter to what follows;
// a commit, which most events are, changes no name.
func changesToFollow(e *eventstore.Entry) ([]change, error) {
	if e.Erased || e.Type == catalog.TypeTableCommitted || e.Type == catalog.TypeViewCommitted || catalog.EntityOf(e.Type) == catalog.EntityLog {
		return nil, nil
	}
	event, err := catalog.Decode(e.Type, e.DataSchema, e.Data)
	if err != nil {
		return nil, err
	}
	return derive(&e.Record, event)
}

// write carries a page of events into the read models.
func (f *Follower) write(ctx context.Context, tx pgx.Tx, entries []eventstore.Entry) error {
	s, err := f.begin(ctx, tx, entries)
	if err != nil {
		return err
	}
	touched := map[ids.ID]bool{}
	for i := range entries {
		e := &entries[i]
		changes, err := changesToFollow(e)
		if err != nil {
			return fmt.Errorf("event %s at position %d, %s: %w", e.ID, e.Position, e.Type, err)
		}
		s.add(e, changes)
		if e.Erased && isTabular(e) {
			touched[e.Stream] = true
		}
		for j := range changes {
			if c := &changes[j]; c.table == tabularTable {
				touched[ids.ID(c.key[2].([16]byte))] = true
			}
		}
	}
	batch := &pgx.Batch{}
	for warehouse := range s.gone {
		batch.Queue("DELETE FROM rm.warehouse_statistics WHERE warehouse_id = $1", [16]byte(warehouse))
	}
	first := entries[0].Position
	for warehouse, rows := range s.rows {
		for _, row := range rows {
			if row.position >= first {
				batch.Queue(followCountSQL, [16]byte(warehouse), row.until, row.tables, row.views, row.updatedAt, row.position)
			}
		}
	}
	if err := f.index(ctx, tx, batch, touched); err != nil {
		return err
	}
	if batch.Len() == 0 {
		return nil
	}
	return tx.SendBatch(ctx, batch).Close()
}

// begin is what the warehouses of a page held before it.
func (f *Follower) begin(ctx context.Context, tx pgx.Tx, entries []eventstore.Entry) (*statistics, error) {
	s := newStatistics()
	seen := map[ids.ID]bool{}
	var warehouses [][16]byte
	for i := range entries {
		if w := entries[i].Warehouse; !w.IsNil() && !seen[w] {
			seen[w] = true
			warehouses = append(warehouses, w)
		}
	}
	rows, err := tx.Query(ctx, followStatisticsSQL, warehouses)
	if err != nil {
		return nil, err
	}
	var warehouse [16]byte
	var row counted
	_, err = pgx.ForEachRow(rows, []any{&warehouse, &row.until, &row.tables, &row.views, &row.updatedAt, &row.position}, func() error {
		row.until, row.updatedAt = row.until.UTC(), row.updatedAt.UTC()
		s.rows[warehouse] = []counted{row}
		return nil
	})
	return s, err
}

// index queues what makes the search index of touched tables and views that of
// the names that they have now.
func (f *Follower) index(ctx context.Context, tx pgx.Tx, batch *pgx.Batch, touched map[ids.ID]bool) error {
	if len(touched) == 0 {
		return nil
	}
	list := make([][16]byte, 0, len(touched))
	for id := range touched {
		list = append(list, id)
	}
	batch.Queue("DELETE FROM rm.tabular_search WHERE tabular_id = ANY ($1)", list)
	rows, err := tx.Query(ctx, followTabularsSQL, list)
	if err != nil {
		return err
	}
	var warehouse, branch, id [16]byte
	var levels []string
	var name string
	var version int64
	_, err = pgx.ForEachRow(rows, []any{&warehouse, &branch, &id, &levels, &name, &version}, func() error {
		batch.Queue(followIndexSQL, warehouse, branch, id, pathTrigrams(levels, name), version)
		return nil
	})
	return err
}

// Follow catches up at intervals until ctx ends; what went wrong is told and
// tried again.
func (f *Follower) Follow(ctx context.Context, interval time.Duration, failed func(error)) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if err := f.CatchUp(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
