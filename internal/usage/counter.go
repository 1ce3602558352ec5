package usage

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/icecore-catalog/icecore/catalog"
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
	project       string // the id by which callers name it, empty for the default one, or noProject
}

// noProject stands for every text that no project's id can be: one key for
// whatever callers invent, and nothing that the database refuses.
const noProject = "?"

// Counter counts requests. It is safe for concurrent use.
type Counter struct{ shards [shards]shard }

// shard holds the counters of some warehouses.
type shard struct {
	// counters is replaced, never changed: readers take no lock.
	counters atomic.Pointer[map[call]*atomic.Int64]
	mu       sync.Mutex // of who replaces it
	// retired are counters that were taken out of the map, with whom a request
	// may still be busy; they are counted once more, and then forgotten.
	retired []retired
}

type retired struct {
	call
	n *atomic.Int64
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
// request named none; a text that can be no project's id belongs to no project.
func (c *Counter) Count(method, route string, status int, warehouse ids.ID, project string) {
	if project != "" && !catalog.ValidProjectIdent(project) {
		project = noProject
	}
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
	k.project = strings.Clone(k.project) // of its request nothing is kept
	next := maps.Clone(now)
	n := new(atomic.Int64)
	next[k] = n
	s.counters.Store(&next)
	return n
}

// take returns what was counted since the last time. What was not asked for
// since then is forgotten; all is, where the bound was met.
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
	collect := func(k call, n *atomic.Int64) bool {
		v := n.Swap(0)
		if v > 0 {
			taken[k] += v // what was counted without its ids is in several shards
		}
		return v > 0
	}
	for _, r := range s.retired {
		collect(r.call, r.n)
	}
	s.retired = nil
	now := *s.counters.Load()
	full := len(now) >= maxCounters
	kept := make(map[call]*atomic.Int64, len(now))
	for k, n := range now {
		if used := collect(k, n); used && !full {
			kept[k] = n
		} else {
			s.retired = append(s.retired, retired{k, n})
		}
	}
	if len(kept) < len(now) {
		s.counters.Store(&kept)
	}
}

// give counts again what could not be stored.
func (c *Counter) give(taken map[call]int64) {
	for k, v := range taken {
		c.add(k, v)
	}
}
