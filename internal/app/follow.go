package app

import (
	"context"
	"time"

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
