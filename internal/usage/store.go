package usage

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
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

// ErrRefused says that the database refuses a count for what it holds.
var ErrRefused = errors.New("the database refuses a count")

// dataException is the class of SQLSTATEs about values.
const dataException = "22"

// Flush adds what was counted since the last time to the present hour. What
// could not be stored is counted again. What can never be stored is let go and
// told by [ErrRefused]; it keeps nothing else back.
func (s Store) Flush(ctx context.Context, c *Counter) error {
	taken := c.take()
	var refused error
	for page := range slices.Chunk(slices.Collect(maps.Keys(taken)), flushPage) {
		no, err := s.store(ctx, taken, page)
		if err != nil {
			c.give(taken)
			return fmt.Errorf("store the counts of requests: %w", err)
		}
		refused = errors.Join(refused, no)
	}
	return refused
}

// store adds a page and takes it out of what was taken. Where the database
// refuses a value, the page is halved until that stands alone.
func (s Store) store(ctx context.Context, taken map[call]int64, page []call) (refused, err error) {
	err = s.add(ctx, taken, page)
	var state *pgconn.PgError
	switch {
	case err == nil:
	case !errors.As(err, &state) || !strings.HasPrefix(state.Code, dataException):
		return nil, err
	case len(page) > 1:
		half := len(page) / 2
		first, err := s.store(ctx, taken, page[:half])
		if err != nil {
			return first, err
		}
		second, err := s.store(ctx, taken, page[half:])
		return errors.Join(first, second), err
	default:
		refused = fmt.Errorf("%w: %d requests of %q with status %d: %w", ErrRefused, taken[page[0]], page[0].method+" "+page[0].route, page[0].status, err)
	}
	for _, k := range page {
		delete(taken, k)
	}
	return refused, nil
}

func (s Store) add(ctx context.Context, taken map[call]int64, page []call) error {
	now := s.clock.Now().UTC()
	n := len(page)
	warehouses, projects, routes := make([][16]byte, 0, n), make([]string, 0, n), make([]string, 0, n)
	statuses, requests := make([]int16, 0, n), make([]int64, 0, n)
	for _, k := range page {
		project := k.project
		if project == "" {
			project = ids.Nil.String() // the default project
		}
		warehouses, projects = append(warehouses, k.warehouse), append(projects, project)
		routes, statuses, requests = append(routes, k.method+" "+k.route), append(statuses, int16(k.status)), append(requests, taken[k])
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
