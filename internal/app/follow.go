package app

import (
	"context"
	"time"

	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/usage"
	"github.com/icecore-catalog/icecore/projections"
)

// followEvery is how often the read models that no request waits for catch up
// with the log; a round without news costs one read.
const followEvery = 2 * time.Second

// follow keeps the search index and the statistics of warehouses until ctx
// ends. One instance works at a time, whichever comes first.
func (s *server) follow(ctx context.Context) error {
	return projections.NewFollower(s.pools.append, s.store).Follow(ctx, followEvery, func(err error) {
		s.log.Warn("the search index and the statistics fall behind the log", "error", err)
	})
}

const (
	// usageEvery is how often counted requests are stored.
	usageEvery = 15 * time.Second
	// lastUsage bounds the storing of what was counted last.
	lastUsage = 5 * time.Second
)

// countUsage stores what was asked of this instance until ctx ends, and then
// what is left.
func (s *server) countUsage(ctx context.Context, now clock.Clock) error {
	flush := func(ctx context.Context) {
		if err := usage.NewStore(s.pools.append, now).Flush(ctx, s.usage); err != nil && ctx.Err() == nil {
			s.log.Warn("counts of requests were not stored; those that can be wait in memory", "error", err)
		}
	}
	err := every(ctx, usageEvery, func() { flush(ctx) })
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastUsage)
	defer cancel()
	flush(last)
	return err
}

// expireUsage removes counts of hours that have had their time.
func (s *server) expireUsage(ctx context.Context, now clock.Clock) error {
	store, before := usage.NewStore(s.pools.append, now), now.Now().Add(-usage.Retention)
	return drain(func() (int64, error) { return store.Expire(ctx, before, tidyPage) })
}
