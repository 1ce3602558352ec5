package app

import (
	"context"
	"time"

	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/reports"
)

// What runs beside the requests, each until ctx ends. Nothing here may fail
// the server: what didn't work is logged and tried again.

// checkpoint signs the head of the log at intervals, if there is a key. A head
// that was signed before costs one read.
func (s *server) checkpoint(ctx context.Context) error {
	if s.config.Log.CheckpointKey == "" {
		return nil
	}
	return every(ctx, s.config.Log.CheckpointEvery, func() {
		if _, err := s.store.Checkpoint(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("no checkpoint was written", "error", err)
		}
	})
}

// tidyPage bounds one statement of a removal.
const tidyPage = 1000

// ExpireMetrics removes the metrics reports whose retention is over, and the
// oldest of those that are more than may be stored.
func (s *server) ExpireMetrics(ctx context.Context, now time.Time) error {
	store, before := reports.NewStore(s.pools.append), now.Add(-s.config.Catalog.ReportRetention)
	if err := drain(func() (int64, error) { return store.Expire(ctx, before, tidyPage) }); err != nil {
		return err
	}
	for _, find := range []func() (ids.ID, error){
		func() (ids.ID, error) { return store.Cut(ctx, s.config.Catalog.ReportLimit) },
		func() (ids.ID, error) { return store.CutBytes(ctx, int64(s.config.Catalog.ReportSize)) },
	} {
		cut, err := find()
		if err == nil && !cut.IsNil() {
			err = drain(func() (int64, error) { return store.ExpireBefore(ctx, cut, tidyPage) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// drain repeats a removal until a page is not full.
func drain(page func() (int64, error)) error {
	for {
		n, err := page()
		if err != nil || n < tidyPage {
			return err
		}
	}
}

// every calls f at intervals until ctx ends.
func every(ctx context.Context, interval time.Duration, f func()) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			f()
		}
	}
}
