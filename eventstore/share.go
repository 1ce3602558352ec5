package eventstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// maxShared bounds the commits of one shared transaction. A larger one saves
// little more and makes everybody wait for its answer.
const maxShared = 64

// sharing lets plain commits that wait at the same moment share a transaction
// (design 3.2). A commit that finds a free flight goes at once; the others
// wait for the next one to land and go together. A flight waits for nobody but
// a burn of one of its ids: guards that are held elsewhere are passed over.
type sharing struct {
	store   *Store
	flights int // at once

	mu      sync.Mutex
	running int
	waiting []*passenger // in order of arrival
}

// passenger is one commit that waits for a flight or is on one.
type passenger struct {
	commit *Commit
	landed chan landing // holds one
	aboard bool         // guarded by the mutex of sharing
}

// landing is what a flight came to for one commit.
type landing struct {
	seq  int64 // 0: nothing happened to it; it goes alone, and learns why
	lost error // the answer was lost, and the id burned since:

	outcome Outcome // what burning it told
	open    error   // why it told nothing
}

// plain reports whether the commit may share a transaction: one event on one
// open stream that it advances, and nothing else to write. Everything else
// takes locks that have to be had in an order over the whole transaction.
func (c *Commit) plain(writes *Writes) bool {
	if len(c.Streams) != 1 || len(c.Records) != 1 || c.Idempotency != nil || len(writes.list) > 0 {
		return false
	}
	st := &c.Streams[0]
	return st.Mode == Advanced && !st.Dormant && !st.NextDormant && !st.exclusive()
}

// append takes a plain commit aboard. It reports false if nothing happened and
// the commit has to go alone. When nothing flies, the commit takes the flight
// for itself, by alone: that is half the work for a single one. But alone may
// wait for a stranger's lock, so it never has the last flight.
func (g *sharing) append(ctx context.Context, c *Commit, alone func() (Receipt, error)) (Receipt, bool, error) {
	if ctx.Err() != nil {
		return Receipt{}, false, nil
	}
	p := &passenger{commit: c, landed: make(chan landing, 1)}
	g.mu.Lock()
	if g.running == 0 && g.flights > 1 {
		g.running++
		g.mu.Unlock()
		free := g.slot()
		defer free()
		receipt, err := alone()
		return receipt, true, err
	}
	g.waiting = append(g.waiting, p)
	var crew []*passenger
	if g.running < g.flights {
		g.running++
		crew = g.board()
	}
	g.mu.Unlock()
	if crew != nil {
		g.depart(ctx, crew)
	}
	select {
	case l := <-p.landed:
		return g.land(ctx, c, l)
	case <-ctx.Done():
		if g.leave(p) {
			return Receipt{}, false, nil
		}
		// Under way: what comes back is the truth, and it comes in bounded time.
		return g.land(ctx, c, <-p.landed)
	}
}

// land says what came of a commit.
func (g *sharing) land(ctx context.Context, c *Commit, l landing) (Receipt, bool, error) {
	switch {
	case l.lost != nil:
		cause := fmt.Errorf("append commit %s with others: %w", c.ID, l.lost)
		receipt, err := g.store.settled(ctx, c, l.outcome, l.open, cause)
		return receipt, true, err
	case l.seq == 0:
		return Receipt{}, false, nil
	}
	g.store.Nudge()
	return c.receipt(l.seq), true, nil
}

// overdue is how long a flight may keep its slot. One that takes longer waits
// for a database or a network that does not answer, or a lone commit for a
// stranger's lock; the others need not wait for it, too. The pool bounds how
// many may be out at once.
const overdue = 250 * time.Millisecond

// slot begins to hold a slot that was taken; free gives it back, once, and at
// the latest when it is overdue.
func (g *sharing) slot() (free func()) {
	var once sync.Once
	timer := time.AfterFunc(overdue, func() { once.Do(g.release) })
	return func() {
		timer.Stop()
		once.Do(g.release)
	}
}

// leave takes a commit out that is still waiting.
func (g *sharing) leave(p *passenger) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.aboard {
		return false
	}
	for i, other := range g.waiting {
		if other == p {
			g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
			break
		}
	}
	return true
}

// board takes those who go next, at most one for each stream: of two commits
// of one stream the second can only lose, and a statement would not see the
// first one's change. The mutex is held.
func (g *sharing) board() []*passenger {
	var crew []*passenger
	left := g.waiting[:0]
	for _, p := range g.waiting {
		if len(crew) == maxShared || sharesStream(crew, p) {
			left = append(left, p)
			continue
		}
		p.aboard = true
		crew = append(crew, p)
	}
	clear(g.waiting[len(left):])
	g.waiting = left
	return crew
}

func sharesStream(crew []*passenger, p *passenger) bool {
	for _, other := range crew {
		if other.commit.Streams[0].ID == p.commit.Streams[0].ID {
			return true
		}
	}
	return false
}

// release gives a slot to those that wait, in a goroutine of their own:
// whoever held it has its own answer to give.
func (g *sharing) release() {
	g.mu.Lock()
	crew := g.board()
	if crew == nil {
		g.running--
	}
	g.mu.Unlock()
	if crew != nil {
		go g.depart(context.Background(), crew)
	}
}

// depart carries the commits out in one transaction and tells each what came
// of it. One commit's misfortune is never a neighbour's: what was refused, or
// could not be sent, goes alone. When the answer is lost, all ids are burned
// by one statement, without holding the slot.
func (g *sharing) depart(ctx context.Context, crew []*passenger) {
	free := g.slot()
	defer free()
	landed := false
	defer func() {
		if !landed { // a panic is on its way up: nobody may wait for ever
			g.tell(crew, nil, landing{lost: errLostFlight, open: errLostFlight})
		}
	}()
	numbers, err := g.send(ctx, crew)
	if g.store.observer.Shared != nil {
		g.store.observer.Shared(len(crew))
	}
	landed = true
	_, definite := refused(err)
	if err == nil || definite || !sent(err) {
		if err != nil {
			numbers = nil
		}
		g.tell(crew, numbers, landing{})
		return
	}
	free()
	commits := make([]ids.ID, len(crew))
	for i, p := range crew {
		commits[i] = p.commit.ID
	}
	outcomes, open := g.store.burnAll(ctx, commits)
	for _, p := range crew {
		p.landed <- landing{lost: err, outcome: outcomes[p.commit.ID], open: open}
	}
}

var errLostFlight = errors.New("the transaction ended without an answer")

func (g *sharing) tell(crew []*passenger, numbers map[ids.ID]int64, l landing) {
	for _, p := range crew {
		l.seq = numbers[p.commit.ID]
		p.landed <- l
	}
}

func sent(err error) bool {
	_, unsent := err.(*notSentError) //nolint:errorlint // made by send itself, never wrapped
	return !unsent && !pgconn.SafeToRetry(err)
}

// send is one statement in one implicit transaction, hence one network flight.
// No row of the answer counts before its end was read, which is the COMMIT.
func (g *sharing) send(ctx context.Context, crew []*passenger) (map[ids.ID]int64, error) {
	ctx = context.WithoutCancel(ctx)
	waiting, cancel := context.WithTimeout(ctx, g.store.appendTimeout)
	defer cancel()
	conn, err := g.store.pool.Acquire(waiting)
	if err != nil {
		return nil, &notSentError{err}
	}
	defer conn.Release()
	ctx, cancel = context.WithTimeout(ctx, g.store.appendTimeout)
	defer cancel()
	rows, err := conn.Query(ctx, sqlAppendShared, g.store.sharedArgs(crew)...)
	if err != nil {
		return nil, err
	}
	numbers := make(map[ids.ID]int64, len(crew))
	var winner pgtype.UUID
	var number int64
	_, err = pgx.ForEachRow(rows, []any{&winner, &number}, func() error {
		numbers[winner.Bytes] = number
		return nil
	})
	return numbers, err
}

// sharedArgs spreads the commits over one array for each column.
func (s *Store) sharedArgs(crew []*passenger) []any {
	n := len(crew)
	var (
		commit, stream          = make([]pgtype.UUID, n), make([]pgtype.UUID, n)
		deadline                = make([]pgtype.Timestamptz, n)
		version                 = make([]int64, n)
		pointer, next           = make([]pgtype.Text, n), make([]pgtype.Text, n)
		event                   = make([]pgtype.UUID, n)
		streamType, typ, schema = make([]string, n), make([]string, n), make([]string, n)
		occurred                = make([]time.Time, n)
		actor, request, cause   = make([]pgtype.UUID, n), make([]pgtype.UUID, n), make([]pgtype.UUID, n)
		warehouse, project      = make([]pgtype.UUID, n), make([]pgtype.UUID, n)
		trace                   = make([]pgtype.Text, n)
		data                    = make([][]byte, n)
	)
	for i, p := range crew {
		c := p.commit
		st, r := &c.Streams[0], &c.Records[0]
		commit[i], deadline[i] = pgID(c.ID), c.deadline()
		stream[i], version[i], pointer[i], next[i] = pgID(st.ID), st.Version, pgText(st.Pointer), pgText(st.NextPointer)
		event[i], streamType[i], typ[i], schema[i], occurred[i] = pgID(r.ID), r.StreamType, r.Type, r.DataSchema, r.Time
		actor[i], request[i], cause[i] = pgID(r.Actor), pgID(r.RequestID), pgID(r.Causation)
		warehouse[i], project[i], trace[i] = pgID(r.Warehouse), pgID(r.Project), pgText(r.TraceParent)
		data[i] = r.Data
	}
	return []any{
		s.lockTimeout, commit, deadline, stream, version, pointer, next, event, streamType, typ, schema, occurred,
		actor, request, cause, warehouse, project, trace, data,
	}
}
