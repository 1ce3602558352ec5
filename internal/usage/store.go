package usage

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
)

var (
	//go:embed sql/add.sql
	addSQL string
	//go:embed sql/expire.sql
	expireSQL string
)

// Retention is how long an hour is kept.
const Retention = 90 * 24 * time.Hour

// flushPage bounds one statement.
const flushPage = 1000

// Store adds counters up in the database.
type Store struct {
	pool  *pgxpool.Pool
	clock clock.Clock
}

// NewStore returns a store on a pool of the application role.
func NewStore(pool *pgxpool.Pool, now clock.Clock) Store { return Store{pool, now} }

// Flush adds what was counted since the last time to the present hour. What
// could not be stored is counted again.
func (s Store) Flush(ctx context.Context, c *Counter) error {
	taken := c.take()
	for len(taken) > 0 {
		page := make(map[call]int64, min(len(taken), flushPage))
		for k, v := range taken {
			if len(page) == flushPage {
				break
			}
			page[k] = v
		}
		if err := s.add(ctx, page); err != nil {
			c.give(taken)
			return fmt.Errorf("store the counts of requests: %w", err)
		}
		for k := range page {
			delete(taken, k)
		}
	}
	return nil
}

func (s Store) add(ctx context.Context, counts map[call]int64) error {
	now := s.clock.Now().UTC()
	n := len(counts)
	warehouses, projects, routes := make([][16]byte, 0, n), make([]string, 0, n), make([]string, 0, n)
	statuses, requests := make([]int16, 0, n), make([]int64, 0, n)
	for k, v := range counts {
		if k.project == "" {
			k.project = ids.Nil.String() // the default project
		}
		warehouses, projects = append(warehouses, k.warehouse), append(projects, k.project)
		routes, statuses, requests = append(routes, k.method+" "+k.route), append(statuses, int16(k.status)), append(requests, v)
	}
	_, err := s.pool.Exec(ctx, addSQL, now.Truncate(time.Hour).Add(time.Hour), now, warehouses, projects, routes, statuses, requests)
	return err
}

// Expire removes up to limit rows of hours that ended before a time, and
// returns how many.
func (s Store) Expire(ctx context.Context, before time.Time, limit int) (int64, error) {
	tag, err := s.pool.Exec(ctx, expireSQL, before, limit)
	if err != nil {
		return 0, fmt.Errorf("expire counts of requests: %w", err)
	}
	return tag.RowsAffected(), nil
}
