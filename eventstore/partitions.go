package eventstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// DefaultPartitionSize is how many numbers one partition of es.event holds.
const DefaultPartitionSize = 5_000_000

// EnsurePartitions is [MakePartitions] in this store's size. Every start calls
// it with 1, the sequencer keeps 2 from half fill on.
func (s *Store) EnsurePartitions(ctx context.Context, spare int) error {
	return MakePartitions(ctx, s.pool, s.partitionSize, spare)
}

// Querier is a connection, a transaction or a pool.
type Querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// MakePartitions makes partitions of the event table, of size numbers each (0:
// [DefaultPartitionSize]), until the next number has one and spare more stand
// empty above it (design 3.7). It tries again for a while when maintenance of
// the table stands in the way. It is for migrate, which has no store.
//
// The application owns no table: the function that it calls runs with the
// owner's rights and can do nothing else.
func MakePartitions(ctx context.Context, q Querier, size int64, spare int) error {
	if size == 0 {
		size = DefaultPartitionSize
	}
	var err error
	for attempt := range 5 {
		if attempt > 0 {
			select {
			case <-ctx.Done():
				return fmt.Errorf("make partitions: %w", errors.Join(err, ctx.Err()))
			case <-time.After(time.Duration(attempt) * 100 * time.Millisecond):
			}
		}
		if err = ensurePartitions(ctx, q, size, spare); err == nil {
			return nil
		}
		var pgErr *pgconn.PgError
		if !errors.As(err, &pgErr) || pgErr.Code != "55P03" {
			break
		}
	}
	return err
}

func ensurePartitions(ctx context.Context, q Querier, size int64, spare int) error {
	var made int
	if err := q.QueryRow(ctx, sqlEnsurePartitions, size, spare).Scan(&made); err != nil {
		return fmt.Errorf("make partitions: %w", err)
	}
	return nil
}

// partitions tells how much room the event table has.
type partitions struct {
	spare    int
	current  bool // the next number has a partition
	halfFull bool
}

func readPartitions(ctx context.Context, q Querier) (partitions, error) {
	var p partitions
	if err := q.QueryRow(ctx, sqlPartitions).Scan(&p.spare, &p.current, &p.halfFull); err != nil {
		return p, fmt.Errorf("read the partitions: %w", err)
	}
	return p, nil
}
