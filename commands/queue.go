package commands

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/icecore-catalog/icecore/internal/clock"
)

// queue lines up the writers of one object inside this process, in front of
// the connection pool: without it a hot table's losers would hold connections
// while they wait for one row lock, and write a file each that nobody reads.
// Between processes the guard alone decides.
//
// Writers of one key are served first come, first served, but for one
// courtesy. Everybody in the line of a hot table has a base that the writer
// before him made stale, is refused for it (409), loads, and comes back, behind
// all others, who by then are stale again: with n writers one request in n
// gets through, and the others work for nothing. So after a refusal the line
// stands still for a moment, and whoever comes meanwhile, most likely the one
// who was refused, goes first. Refusals then leave in single file, each of
// them gets its chance on a fresh base, and the table moves as fast as for one
// writer. The moment is as long as such returns have taken lately, and never
// longer than maxPatience; a line whose clients don't come back loses it. Who
// took a saved turn and is refused again gets no other: it would keep the turn
// from everybody by repeating what cannot succeed.
type queue struct {
	clock clock.Clock
	mu    sync.Mutex
	lanes map[string]*lane
}

const (
	// firstPatience is how long a line waits for its first returning writer.
	firstPatience = 10 * time.Millisecond
	// minPatience and maxPatience bound what it learns.
	minPatience = 2 * time.Millisecond
	maxPatience = 50 * time.Millisecond
	// A line waits several times as long as returns take on average.
	patienceFactor = 4
	// After so many returns that did not come it waits at one refusal in
	// patienceProbe, to see whether they come again.
	maxMissed     = 2
	patienceProbe = 16
)

// lane is the line of one key. Everything in it is guarded by queue.mu.
type lane struct {
	held    bool // somebody has the turn
	waiting []*waiter

	saved    *time.Timer // not nil: the turn is saved for whoever comes next
	saving   uint64      // which saving it is, counted
	since    time.Time   // when it began
	courtesy bool        // the turn was had by being saved
	patience time.Duration
	missed   int // returns in a row that did not come
	refusals int
}

type waiter struct{ turn chan struct{} }

func newQueue(now clock.Clock) *queue { return &queue{clock: now, lanes: map[string]*lane{}} }

// enter waits for the turn on all keys, taken in one order so that two writers
// of the same objects never wait for each other in a circle. It returns the
// context's error if that ends first; otherwise leave must be called, and told
// whether the writer was refused because its base was stale.
func (q *queue) enter(ctx context.Context, keys ...string) (leave func(refused bool), err error) {
	keys = slices.Clone(keys)
	slices.Sort(keys)
	keys = slices.Compact(keys)
	held := 0
	leave = func(refused bool) {
		for _, key := range keys[:held] {
			q.release(key, refused)
		}
	}
	for _, key := range keys {
		if err := q.take(ctx, key); err != nil {
			leave(false)
			return nil, err
		}
		held++
	}
	return leave, nil
}

// take waits for the turn on one key.
func (q *queue) take(ctx context.Context, key string) error {
	q.mu.Lock()
	l := q.lanes[key]
	if l == nil {
		l = &lane{patience: firstPatience}
		q.lanes[key] = l
	}
	if l.saved != nil {
		l.returned(q.clock.Now().Sub(l.since))
	}
	if !l.held {
		l.held = true
		q.mu.Unlock()
		return nil
	}
	w := &waiter{turn: make(chan struct{})}
	l.waiting = append(l.waiting, w)
	q.mu.Unlock()
	select {
	case <-w.turn:
		return nil
	case <-ctx.Done():
		q.giveUp(key, w)
		return ctx.Err()
	}
}

// returned ends a saved turn, for somebody is here to take it, and learns how
// long it took.
func (l *lane) returned(took time.Duration) {
	l.saved.Stop()
	l.saved, l.held, l.missed, l.courtesy = nil, false, 0, true
	l.patience = min(max((3*l.patience+patienceFactor*took)/4, minPatience), maxPatience)
}

// giveUp takes a waiter out, or passes on the turn that it was just given.
func (q *queue) giveUp(key string, w *waiter) {
	q.mu.Lock()
	l := q.lanes[key]
	if i := slices.Index(l.waiting, w); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
		q.mu.Unlock()
		return
	}
	q.mu.Unlock()
	q.release(key, false)
}

// release gives the turn to the next in line, or saves it for a moment for a
// writer that was refused and will be back.
func (q *queue) release(key string, refused bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lanes[key]
	if refused && !l.courtesy && len(l.waiting) > 0 {
		l.refusals++
		if l.missed < maxMissed || l.refusals%patienceProbe == 0 {
			l.saving++
			l.since = q.clock.Now()
			saving := l.saving
			l.saved = time.AfterFunc(l.patience, func() { q.missed(key, l, saving) })
			return
		}
	}
	q.next(key, l)
}

// missed ends a saved turn that nobody came for.
func (q *queue) missed(key string, l *lane, saving uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l.saved == nil || l.saving != saving {
		return // somebody came after all
	}
	l.saved = nil
	l.missed++
	l.patience = min(2*l.patience, maxPatience)
	q.next(key, l)
}

// next gives the turn to the first in line, and forgets a lane that nobody
// uses. The mutex is held.
func (q *queue) next(key string, l *lane) {
	if len(l.waiting) == 0 {
		delete(q.lanes, key)
		return
	}
	l.courtesy = false
	w := l.waiting[0]
	l.waiting = slices.Delete(l.waiting, 0, 1)
	close(w.turn)
}

// size returns the number of keys that somebody holds or waits for.
func (q *queue) size() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.lanes)
}
