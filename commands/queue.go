package commands

import (
	"context"
	"slices"
	"sync"
)

// queue lines up the writers of one object inside this process, in front of
// the connection pool: without it a hot table's losers would hold connections
// while they wait for one row lock, and write a file each that nobody reads.
// Between processes the guard alone decides.
//
// Waiters of one key are served first come, first served: the runtime keeps
// blocked senders of a channel in that order.
type queue struct {
	mu    sync.Mutex
	lanes map[string]*lane
}

type lane struct {
	turn  chan struct{} // holds one element while somebody has the turn
	users int           // holder and waiters; the lane is forgotten at 0
}

func newQueue() *queue { return &queue{lanes: map[string]*lane{}} }

// enter waits for the turn on all keys, taken in one order so that two writers
// of the same objects never wait for each other in a circle. It returns the
// context's error if that ends first; otherwise leave must be called.
func (q *queue) enter(ctx context.Context, keys ...string) (leave func(), err error) {
	keys = slices.Clone(keys)
	slices.Sort(keys)
	keys = slices.Compact(keys)
	held := 0
	leave = func() {
		for _, key := range keys[:held] {
			q.release(key, true)
		}
	}
	for _, key := range keys {
		l := q.join(key)
		select {
		case l.turn <- struct{}{}:
			held++
		case <-ctx.Done():
			q.release(key, false)
			leave()
			return nil, ctx.Err()
		}
	}
	return leave, nil
}

func (q *queue) join(key string) *lane {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lanes[key]
	if l == nil {
		l = &lane{turn: make(chan struct{}, 1)}
		q.lanes[key] = l
	}
	l.users++
	return l
}

func (q *queue) release(key string, holder bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lanes[key]
	if holder {
		<-l.turn
	}
	if l.users--; l.users == 0 {
		delete(q.lanes, key)
	}
}

// size returns the number of keys that somebody holds or waits for.
func (q *queue) size() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.lanes)
}
