package projections

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// Querier is a pool or a connection that reads.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Options of [NewResolver]. Zero values stand for the defaults.
type Options struct {
	// MaxBatch is how many queries share a statement, 64 by default. A call
	// with more has a statement of its own.
	MaxBatch int
	// InFlight is how many statements run at once, 2 by default. A second one
	// goes only when what waits fills it, or when those in flight are overdue.
	InFlight int
	// Overdue is how long a statement keeps others from going beside it, 25 ms by
	// default.
	Overdue time.Duration
	// Timeout bounds a shared statement, 30 s by default; a call's own context
	// bounds its waiting.
	Timeout time.Duration
}

// ErrResolverClosed is returned by calls after [SharedResolver.Close].
var ErrResolverClosed = errors.New("the resolver is closed")

// SharedResolver answers queries with one statement for all that wait. A call
// that finds nothing in flight goes at once, in its own goroutine and under its
// own context. Others wait until that one is back and then go together; so the
// facts of every call are read after it arrived (law 4), and the busier the
// server, the cheaper each call. A full statement doesn't wait, nor does anybody
// behind a statement that hangs.
type SharedResolver struct {
	db   Querier
	raw  *pgxpool.Pool // db, where its connections may be asked in binary form
	opts Options

	warehouses sync.Map // ids.ID → *knownWarehouse, right for ever for its mark

	mu      sync.Mutex
	running int     // statements in flight
	gone    int64   // statements that have gone out so far
	late    int     // of those in flight, which are overdue
	lateTo  int64   // the overdue ones are among the first lateTo that went
	waiting []*call // in order of arrival
	queued  int     // queries of those
	watched bool    // a timer looks after those that wait
	closed  bool
	idle    chan struct{} // closed when closed and nothing runs
}

var _ Resolver = (*SharedResolver)(nil)

// NewResolver returns a resolver on a pool of at least InFlight connections to
// the primary. Connections prepared by [PrepareConn] keep its plan good.
func NewResolver(db Querier, opts Options) *SharedResolver {
	if opts.MaxBatch <= 0 {
		opts.MaxBatch = 64
	}
	if opts.InFlight <= 0 {
		opts.InFlight = 2
	}
	if opts.Timeout <= 0 {
		opts.Timeout = 30 * time.Second
	}
	if opts.Overdue <= 0 {
		opts.Overdue = 25 * time.Millisecond
	}
	return &SharedResolver{db: db, raw: forRaw(db), opts: opts, idle: make(chan struct{})}
}

// PrepareConn keeps the planner of a reading connection from scans and hash
// joins. Every statement of this package looks up keys; a plan that was made
// while tables were small must not live on when they have grown. It fits
// pgxpool's AfterConnect.
func PrepareConn(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_bitmapscan = off; SET enable_memoize = off; SET jit = off; SET plan_cache_mode = force_generic_plan",
		pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return fmt.Errorf("prepare connection: %w", err)
	}
	return nil
}

// call is one Resolve that waits for its batch.
type call struct {
	queries []Query
	facts   []Facts
	err     error
	done    chan struct{}
	batch   *batch // nil while it waits; guarded by the resolver's mutex
}

// batch is what goes into one statement.
type batch struct {
	calls  []*call
	alive  int // calls that somebody still waits for
	cancel context.CancelFunc
}

// Resolve implements [Resolver]. All queries of a call are answered from one
// snapshot.
func (r *SharedResolver) Resolve(ctx context.Context, queries ...Query) ([]Facts, error) {
	if len(queries) == 0 {
		return nil, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("resolve: %w", err)
	}
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, ErrResolverClosed
	}
	if r.running == r.late && r.running < r.opts.InFlight {
		number := r.depart()
		r.mu.Unlock()
		facts := make([]Facts, len(queries))
		err := r.statement(ctx, [][]Query{queries}, [][]Facts{facts})
		r.release(number)
		if err != nil {
			return nil, fmt.Errorf("resolve: %w", err)
		}
		return facts, nil
	}
	c := &call{queries: queries, done: make(chan struct{})}
	r.waiting = append(r.waiting, c)
	r.queued += len(queries)
	if r.running < r.opts.InFlight && r.queued >= r.opts.MaxBatch {
		go r.serve(r.depart())
	}
	r.watch()
	r.mu.Unlock()

	select {
	case <-c.done:
	case <-ctx.Done():
		r.abandon(c)
		return nil, fmt.Errorf("resolve: %w", ctx.Err())
	}
	if c.err != nil {
		return nil, fmt.Errorf("resolve: %w", c.err)
	}
	return c.facts, nil
}

// abandon takes a call out: of the queue, or of its batch, whose statement is
// cancelled when nobody is left to read it.
func (r *SharedResolver) abandon(c *call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.batch != nil {
		if c.batch.alive--; c.batch.alive == 0 {
			c.batch.cancel()
		}
		return
	}
	for i, other := range r.waiting {
		if other == c {
			r.waiting = append(r.waiting[:i], r.waiting[i+1:]...)
			r.queued -= len(c.queries)
			return
		}
	}
}

// depart takes a slot and returns the number of the statement that goes on it;
// the caller holds the mutex.
func (r *SharedResolver) depart() (number int64) {
	r.running++
	r.gone++
	return r.gone
}

// watch has somebody look after the calls that wait while a slot is free, in
// case the statements in flight hang; the caller holds the mutex.
func (r *SharedResolver) watch() {
	if r.watched || len(r.waiting) == 0 || r.running >= r.opts.InFlight {
		return
	}
	r.watched = true
	gone := r.gone
	time.AfterFunc(r.opts.Overdue, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.watched = false
		if r.gone == gone && r.running < r.opts.InFlight && len(r.waiting) > 0 {
			r.late, r.lateTo = r.running, gone
			go r.serve(r.depart())
		}
		r.watch()
	})
}

// release gives up the slot of a statement that is back, or hands it to a
// goroutine for those that wait.
func (r *SharedResolver) release(number int64) {
	if ctx, b, number := r.take(number); b != nil {
		go func() {
			r.run(ctx, b)
			r.serve(number)
		}()
	}
}

// serve answers those that wait, a statement after the other, on a slot that it
// gives up in the end. number is that of the statement that the slot was for.
func (r *SharedResolver) serve(number int64) {
	for {
		ctx, b, next := r.take(number)
		if b == nil {
			return
		}
		r.run(ctx, b)
		number = next
	}
}

// take forms the next batch on the slot of a statement that is back, or frees
// the slot: when nobody waits, or when they can wait for a statement in flight.
func (r *SharedResolver) take(number int64) (context.Context, *batch, int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if number <= r.lateTo && r.late > 0 {
		r.late--
	}
	r.running--
	n, queries := 0, 0
	for n < len(r.waiting) && (n == 0 || queries+len(r.waiting[n].queries) <= r.opts.MaxBatch) {
		queries += len(r.waiting[n].queries)
		n++
	}
	if n == 0 || r.running > r.late && r.queued < r.opts.MaxBatch {
		if r.closed && r.running == 0 {
			close(r.idle)
		}
		r.watch()
		return nil, nil, 0
	}
	number = r.depart()
	r.queued -= queries
	ctx, cancel := context.WithTimeout(context.Background(), r.opts.Timeout)
	b := &batch{calls: append([]*call(nil), r.waiting[:n]...), alive: n, cancel: cancel}
	for _, c := range b.calls {
		c.batch = b
	}
	left := copy(r.waiting, r.waiting[n:])
	clear(r.waiting[left:])
	r.waiting = r.waiting[:left]
	return ctx, b, number
}

// run answers the calls of a batch.
func (r *SharedResolver) run(ctx context.Context, b *batch) {
	defer b.cancel()
	queries := make([][]Query, len(b.calls))
	facts := make([][]Facts, len(b.calls))
	for i, c := range b.calls {
		queries[i], facts[i] = c.queries, make([]Facts, len(c.queries))
	}
	err := r.statement(ctx, queries, facts)
	for i, c := range b.calls {
		c.facts, c.err = facts[i], err
		close(c.done)
	}
}

// Close refuses new calls and waits for those that were accepted.
func (r *SharedResolver) Close(ctx context.Context) error {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		if r.running == 0 {
			close(r.idle)
		}
	}
	r.mu.Unlock()
	select {
	case <-r.idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("close resolver: %w", ctx.Err())
	}
}

// statement answers the calls: with a lean statement if all of them fit it,
// and in full for those that turn out not to. Reading twice does no harm, so a
// connection that proves to be dead is tried again once, on another.
func (r *SharedResolver) statement(ctx context.Context, calls [][]Query, facts [][]Facts) error {
	in := r.arguments(calls)
	if !in.lean {
		return retryDead(ctx, func() error { return in.read(ctx, r, facts) })
	}
	var again []int
	err := retryDead(ctx, func() (err error) {
		if len(in.seats) > 1 {
			again, err = in.readLean(ctx, r, facts)
			return err
		}
		settled, done, err := in.readRaw(ctx, r, facts)
		if !done && err == nil {
			settled, err = in.readOne(ctx, r, facts)
		}
		if again = nil; !settled {
			again = []int{in.seats[0].call}
		}
		return err
	})
	if err != nil || len(again) == 0 {
		return err
	}
	left, answers := make([][]Query, len(again)), make([][]Facts, len(again))
	for i, call := range again {
		left[i], answers[i] = calls[call], facts[call]
	}
	in = r.arguments(left)
	return retryDead(ctx, func() error { return in.read(ctx, r, answers) })
}

func retryDead(ctx context.Context, read func() error) error {
	err := read()
	var answered *pgconn.PgError
	if err != nil && ctx.Err() == nil && !errors.As(err, &answered) && !errors.Is(err, errAnswer) {
		err = read()
	}
	return err
}

// warehouse returns what this instance last saw of a warehouse, or nil.
func (r *SharedResolver) warehouse(id ids.ID) *knownWarehouse {
	if known, ok := r.warehouses.Load(id); ok {
		return known.(*knownWarehouse)
	}
	return nil
}
