package reports

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

const (
	// maxWaiting and maxBytes bound the reports that wait to be written.
	maxWaiting = 4096
	maxBytes   = 32 << 20
	// maxPage and maxPageBytes bound one statement.
	maxPage      = 500
	maxPageBytes = 4 << 20
	// rest is how long reports gather between two statements: engines send one
	// with each scan, and a transaction for each would cost a sync of the disk.
	rest = time.Second
	// firstPause and longestPause stand between tries while the database is away.
	firstPause   = time.Second
	longestPause = 30 * time.Second
	closingPause = 100 * time.Millisecond
	// writeTime bounds one statement.
	writeTime = 10 * time.Second
)

// Keeper takes reports and writes them beside the requests. It is safe for
// concurrent use.
type Keeper struct {
	insert func(ctx context.Context, list []Report) error
	log    *slog.Logger

	mu      sync.Mutex
	waiting []Report
	bytes   int
	closed  bool
	wake    chan struct{} // of capacity 1: something waits

	closing chan struct{}      // closed by Close: no more rests
	ctx     context.Context    //nolint:containedctx // the life of the keeper, not of a call
	cancel  context.CancelFunc // ends a statement or pause that outlasts Close
	done    chan struct{}
}

// NewKeeper starts a keeper on what writes a page of reports, such as
// [Store.Insert]. Close ends it.
func NewKeeper(insert func(ctx context.Context, list []Report) error, log *slog.Logger) *Keeper {
	k := &Keeper{insert: insert, log: log, wake: make(chan struct{}, 1), closing: make(chan struct{}), done: make(chan struct{})}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	go k.run()
	return k
}

// Add takes a report over; its body must not be changed any more. [ErrFull]
// and [ErrClosed] say that it was not taken.
func (k *Keeper) Add(r Report) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.closed:
		return ErrClosed
	case len(k.waiting) >= maxWaiting || k.bytes+len(r.Body) > maxBytes:
		return ErrFull
	}
	k.waiting = append(k.waiting, r)
	k.bytes += len(r.Body)
	select {
	case k.wake <- struct{}{}:
	default:
	}
	return nil
}

// Waiting returns how many reports were taken and are not written yet.
func (k *Keeper) Waiting() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.waiting)
}

// Close takes no more reports, writes those that wait and ends the keeper. It
// returns how many were lost because ctx ended first.
func (k *Keeper) Close(ctx context.Context) (lost int) {
	k.mu.Lock()
	if !k.closed {
		k.closed = true
		close(k.closing)
		close(k.wake)
	}
	k.mu.Unlock()
	select {
	case <-k.done:
	case <-ctx.Done():
		k.cancel()
		<-k.done
	}
	k.cancel()
	return k.Waiting()
}

func (k *Keeper) run() {
	defer close(k.done)
	for range k.wake {
		k.pause(rest)
		k.drain()
	}
	k.drain()
}

// drain writes all that waits. A page stays in the queue until it is written,
// so that nothing is lost and the bound covers it.
func (k *Keeper) drain() {
	wait := firstPause
	for {
		page, bytes := k.page()
		if len(page) == 0 {
			return
		}
		err := k.write(page)
		if err == nil {
			k.written(len(page), bytes)
			wait = firstPause
			continue
		}
		k.log.Warn("metrics reports were not stored, and wait", "reports", len(page), "error", err)
		if !k.again(wait) {
			return
		}
		wait = min(2*wait, longestPause)
	}
}

// write stores a page. A report that the database refuses for what it holds
// must not keep the others back: it is let go.
func (k *Keeper) write(page []Report) error {
	err := k.statement(page)
	if !errors.Is(err, ErrRefused) {
		return err
	}
	for i := range page {
		err := k.statement(page[i : i+1])
		if errors.Is(err, ErrRefused) {
			k.log.Error("a metrics report cannot be stored", "table", page[i].Table.String(), "type", page[i].Type, "error", err)
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (k *Keeper) statement(page []Report) error {
	ctx, cancel := context.WithTimeout(k.ctx, writeTime)
	defer cancel()
	return k.insert(ctx, page)
}

// pause waits, but not while the keeper is closing.
func (k *Keeper) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-k.closing:
	}
}

// again waits for the next try and reports whether there is one. While the
// keeper is closing it tries as often as the time that Close has allows.
func (k *Keeper) again(wait time.Duration) bool {
	closing := k.closing
	select {
	case <-k.closing:
		closing, wait = nil, closingPause
	default:
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-closing:
	case <-k.ctx.Done():
	}
	return k.ctx.Err() == nil
}

// page returns the oldest reports that fit into one statement.
func (k *Keeper) page() (page []Report, bytes int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := 0
	for n < len(k.waiting) && n < maxPage && (n == 0 || bytes+len(k.waiting[n].Body) <= maxPageBytes) {
		bytes += len(k.waiting[n].Body)
		n++
	}
	return k.waiting[:n:n], bytes
}

// written takes the oldest reports out of the queue.
func (k *Keeper) written(n, bytes int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.waiting = append([]Report(nil), k.waiting[n:]...)
	k.bytes -= bytes
}
