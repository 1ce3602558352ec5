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

const (
	// followPage is how many events one transaction of the follower handles.
	followPage = 1000
	// followBytes bounds the data that it holds meanwhile, beyond a single event.
	followBytes = 8 << 20
)

// unfollowed are the types of event that change no name and no count: the
// commits, which most events are, and the largest. The log's own are few.
var unfollowed = []string{catalog.TypeTableCommitted, catalog.TypeViewCommitted}

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
	log  FollowedLog
}

// FollowedLog is the log as a follower needs it.
type FollowedLog interface {
	// ReadWithout returns, of up to limit entries behind a position, those that
	// are not of the types given, with up to maxBytes bytes of data or a single
	// one, and the position up to which it looked: position itself at the end.
	ReadWithout(ctx context.Context, position int64, limit, maxBytes int, without []string) ([]eventstore.Entry, int64, error)
}

// NewFollower returns a follower on a pool of the application role.
func NewFollower(pool *pgxpool.Pool, log FollowedLog) *Follower {
	return &Follower{pool: pool, log: log}
}

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
// instance is at work. The events are read and understood before the
// transaction begins, which is over when they were not the next ones after all.
func (f *Follower) page(ctx context.Context) (more bool, err error) {
	var position int64
	var behind bool
	err = f.pool.QueryRow(ctx, "SELECT c.position, c.position < h.size FROM ops.cursor c, es.log_head h WHERE c.reader = $1", follower).Scan(&position, &behind)
	if err != nil || !behind {
		return false, followed(err)
	}
	entries, last, err := f.log.ReadWithout(ctx, position, followPage, followBytes, unfollowed)
	if err != nil || last == position {
		return false, followed(err)
	}
	changes := make([][]change, len(entries))
	for i := range entries {
		e := &entries[i]
		if changes[i], err = changesToFollow(e); err != nil {
			return false, followed(fmt.Errorf("event %s at position %d, %s: %w", e.ID, e.Position, e.Type, err))
		}
	}
	err = pgx.BeginFunc(ctx, f.pool, func(tx pgx.Tx) error {
		var now int64
		err := tx.QueryRow(ctx, "SELECT position FROM ops.cursor WHERE reader = $1 FOR UPDATE SKIP LOCKED", follower).Scan(&now)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		more = true
		if now != position {
			return nil // another instance was here
		}
		if err := f.write(ctx, tx, position, entries, changes); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE ops.cursor SET position = $2 WHERE reader = $1", follower, last)
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

// changesToFollow are the changes of an event that can matter to what follows.
func changesToFollow(e *eventstore.Entry) ([]change, error) {
	if e.Erased || catalog.EntityOf(e.Type) == catalog.EntityLog {
		return nil, nil
	}
	event, err := catalog.Decode(e.Type, e.DataSchema, e.Data)
	if err != nil {
		return nil, err
	}
	return derive(&e.Record, event)
}

// write carries a page of events behind a position into the read models.
func (f *Follower) write(ctx context.Context, tx pgx.Tx, behind int64, entries []eventstore.Entry, changes [][]change) error {
	s, err := f.fold(ctx, tx, entries, changes)
	if err != nil {
		return err
	}
	touched := map[ids.ID]bool{}
	for i := range entries {
		e := &entries[i]
		if e.Erased && isTabular(e) {
			touched[e.Stream] = true
		}
		for j := range changes[i] {
			if c := &changes[i][j]; c.table == tabularTable {
				touched[ids.ID(c.key[2].([16]byte))] = true
			}
		}
	}
	batch := &pgx.Batch{}
	for warehouse := range s.gone {
		batch.Queue("DELETE FROM rm.warehouse_statistics WHERE warehouse_id = $1", [16]byte(warehouse))
	}
	for warehouse, rows := range s.rows {
		for _, row := range rows {
			if row.position > behind {
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

// fold adds a page of events to what the warehouses held before it. Only those
// are asked for whose counts the page changes.
func (f *Follower) fold(ctx context.Context, tx pgx.Tx, entries []eventstore.Entry, changes [][]change) (*statistics, error) {
	changed, s := newStatistics(), newStatistics()
	for i := range entries {
		changed.add(&entries[i], changes[i])
	}
	if len(changed.rows) == 0 {
		return changed, nil // but for warehouses that are gone
	}
	warehouses := make([][16]byte, 0, len(changed.rows))
	for w := range changed.rows {
		warehouses = append(warehouses, w)
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
	if err != nil {
		return nil, err
	}
	for i := range entries {
		s.add(&entries[i], changes[i])
	}
	return s, nil
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
