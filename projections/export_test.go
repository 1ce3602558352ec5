package projections

import (
	"context"
	"runtime"
)

// Waiting returns how many calls stand in the resolver's queue.
func Waiting(r *SharedResolver) int {
	runtime.Gosched()
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.waiting)
}

// ReplayAll replays the log into empty tables and returns how many events it
// were.
func ReplayAll(ctx context.Context, c CheckConfig) (int64, error) {
	c.defaults()
	s, err := newShadow(ctx, c.Pool, derivedTables(), false)
	if err != nil {
		return 0, err
	}
	defer s.drop(ctx)
	r := &replayer{log: c.Log, shadow: s, guards: true, pageSize: c.PageSize}
	err = r.catchUp(ctx, nil, 0)
	return r.position, err
}
