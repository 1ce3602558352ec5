package eventstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// EnsurePartitions makes partitions of the event table until the next number
// has one and spare more stand empty above it (design 3.7). It tries again for
// a while when maintenance of the table stands in the way. Migrate and every
// start call it with 1, the sequencer calls it with 2 at half fill.
//
// The application owns no table: the function that it calls runs with the
// owner's rights and can do nothing else.
func (s *Store) EnsurePartitions(ctx context.Context, spare int) error {
	var err error
	for attempt := range 5 {
		if attempt > 0 {
			select {
			case <-ctx.Done():
				return fmt.Errorf("make partitions: %w", errors.Join(err, ctx.Err()))
			case <-time.After(time.Duration(attempt) * 100 * time.Millisecond):
			}
		}
		if err = ensurePartitions(ctx, s.pool, s.partitionSize, spare); err == nil {
			return nil
		}
		var pgErr *pgconn.PgError
		if !errors.As(err, &pgErr) || pgErr.Code != "55P03" {
			break
		}
	}
	return err
}

func ensurePartitions(ctx context.Context, q querier, size int64, spare int) error {
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

func readPartitions(ctx context.Context, q querier) (partitions, error) {
	var p partitions
	if err := q.QueryRow(ctx, sqlPartitions).Scan(&p.spare, &p.current, &p.halfFull); err != nil {
		return p, fmt.Errorf("read the partitions: %w", err)
	}
	return p, nil
}
