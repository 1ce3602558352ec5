package usage

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// maxCounters bounds the counters of one interval. Ids in paths are the
// callers' to invent: behind the bound, new ones are counted without them.
const maxCounters = 4096

// call is what requests are told apart by.
type call struct {
	method, route string // of the route table: a small closed set
	status        int
	warehouse     ids.ID
	project       string // as the header x-project-id has it
}

// Counter counts requests. It is safe for concurrent use.
type Counter struct {
	// counters is replaced, never changed: readers take no lock.
	counters atomic.Pointer[map[call]*atomic.Int64]
	mu       sync.Mutex // of who replaces it
}

// NewCounter returns a counter at zero.
func NewCounter() *Counter {
	c := &Counter{}
	c.counters.Store(&map[call]*atomic.Int64{})
	return c
}

// Count counts one request. warehouse is Nil and project empty where the
// request named none.
func (c *Counter) Count(method, route string, status int, warehouse ids.ID, project string) {
	k := call{method, route, status, warehouse, project}
	if n := (*c.counters.Load())[k]; n != nil {
		n.Add(1)
		return
	}
	c.first(k).Add(1)
}

// first makes the counter of a call that was not seen before.
func (c *Counter) first(k call) *atomic.Int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := *c.counters.Load()
	if len(now) >= maxCounters {
		k.warehouse, k.project = ids.Nil, ""
	}
	if n := now[k]; n != nil {
		return n
	}
	next := maps.Clone(now)
	n := new(atomic.Int64)
	next[k] = n
	c.counters.Store(&next)
	return n
}

// take returns what was counted since the last time. When the bound was met,
// the counters begin anew; a request that ends in that very moment may be lost.
func (c *Counter) take() map[call]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := *c.counters.Load()
	if len(now) >= maxCounters {
		c.counters.Store(&map[call]*atomic.Int64{})
	}
	taken := map[call]int64{}
	for k, n := range now {
		if v := n.Swap(0); v > 0 {
			taken[k] = v
		}
	}
	return taken
}

// give counts again what could not be stored.
func (c *Counter) give(taken map[call]int64) {
	for k, v := range taken {
		c.first(k).Add(v)
	}
}
