package app

import (
	"context"
	"time"

	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/projections/document"
	"github.com/icecore-catalog/icecore/workers"
)

const (
	// tidyEvery is how often rows that have had their time are removed.
	tidyEvery = 10 * time.Minute
	// staleDocument is how long a document that is nobody's current state stays
	// in the database's cache, for readers that resolved before.
	staleDocument = time.Hour
	// sparePartitions is how many empty partitions the log has ahead: what the
	// sequencer keeps, too, for a log that grows. This is for one that it does not
	// see to in time.
	sparePartitions = 2
)

// chores are what one instance of those with the role worker does for all, again
// and again. Each looks for what there is to do by itself. What every instance
// does for itself stands in beside.go and follow.go.
func (s *server) chores(now clock.Clock) []workers.Chore {
	return []workers.Chore{
		{Name: "expire-idempotency", Every: tidyEvery, Do: func(ctx context.Context) error {
			_, err := s.store.ExpireIdempotency(ctx)
			return err
		}},
		{Name: "partitions", Every: tidyEvery, Do: func(ctx context.Context) error {
			return s.store.EnsurePartitions(ctx, sparePartitions)
		}},
		{Name: "sweep-documents", Every: tidyEvery, Do: func(ctx context.Context) error {
			return drain(func() (int64, error) {
				return document.Sweep(ctx, s.pools.append, now.Now().Add(-staleDocument), tidyPage)
			})
		}},
		{Name: "expire-metrics-reports", Every: tidyEvery, Do: func(ctx context.Context) error {
			return s.ExpireMetrics(ctx, now.Now())
		}},
		{Name: "expire-endpoint-statistics", Every: tidyEvery, Do: func(ctx context.Context) error {
			return s.expireUsage(ctx, now)
		}},
	}
}
