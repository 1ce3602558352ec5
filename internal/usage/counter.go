package usage

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/icecore-catalog/icecore/internal/ids"
)

const (
	// shards keep what is copied for a new counter small.
	shards = 16
	// maxCounters bounds the counters of one shard and interval. Ids in paths are
	// the callers' to invent: behind the bound, new ones are counted without them.
	maxCounters = 512
)

// call is what requests are told apart by.
type call struct {
	method, route string // of the route table: a small closed set
	status        int
	warehouse     ids.ID
	project       string // as the header x-project-id has it
}

// Counter counts requests. It is safe for concurrent use.
type Counter struct{ shards [shards]shard }

// shard holds the counters of some warehouses.
type shard struct {
	// counters is replaced, never changed: readers take no lock.
	counters atomic.Pointer[map[call]*atomic.Int64]
	mu       sync.Mutex // of who replaces it
}

// NewCounter returns a counter at zero.
func NewCounter() *Counter {
	c := &Counter{}
	for i := range c.shards {
		c.shards[i].counters.Store(&map[call]*atomic.Int64{})
	}
	return c
}

// Count counts one request. warehouse is Nil and project empty where the
// request named none.
func (c *Counter) Count(method, route string, status int, warehouse ids.ID, project string) {
	c.add(call{method, route, status, warehouse, project}, 1)
}

func (c *Counter) add(k call, requests int64) {
	s := &c.shards[k.warehouse[len(k.warehouse)-1]%shards]
	n := (*s.counters.Load())[k]
	if n == nil {
		n = s.first(k)
	}
	n.Add(requests)
}

// first makes the counter of a call that was not seen before.
func (s *shard) first(k call) *atomic.Int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := *s.counters.Load()
	if len(now) >= maxCounters {
		k.warehouse, k.project = ids.Nil, ""
	}
	if n := now[k]; n != nil {
		return n
	}
	next := maps.Clone(now)
	n := new(atomic.Int64)
	next[k] = n
	s.counters.Store(&next)
	return n
}

// take returns what was counted since the last time. Where the bound was met,
// the counters begin anew; a request that ends in that very moment may be lost.
func (c *Counter) take() map[call]int64 {
	taken := map[call]int64{}
	for i := range c.shards {
		c.shards[i].take(taken)
	}
	return taken
}

func (s *shard) take(taken map[call]int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := *s.counters.Load()
	if len(now) >= maxCounters {
		s.counters.Store(&map[call]*atomic.Int64{})
	}
	for k, n := range now {
		if v := n.Swap(0); v > 0 {
			taken[k] += v // what was counted without its ids is in several shards
		}
	}
}

// give counts again what could not be stored.
func (c *Counter) give(taken map[call]int64) {
	for k, v := range taken {
		c.add(k, v)
	}
}
