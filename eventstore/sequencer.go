package eventstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/icecore-catalog/icecore/internal/ids"
)

const (
	stateRunning = "running"
	stateHalted  = "halted"

	// Channel is what the sequencer notifies, with the new size of the log.
	Channel = "icecore_log"
)

// Time-outs of the sequencer's transactions: a holder of the head that freezes
// loses it after idleTimeout.
const (
	idleTimeout      = "2s"
	statementTimeout = "10s"
	tcpUserTimeout   = "5s"
)

// roundRest is the least time between two rounds with work. The first commit
// after a quiet moment is sequenced at once.
const roundRest = 25 * time.Millisecond

// Sequencer gives positions to commits (design 3.4). Every instance runs one;
// the lock on the head row elects. It is not safe for concurrent use.
type Sequencer struct {
	store *Store
	conn  *pgx.Conn

	roundsLeft int // until the partitions are looked at again
	oldestHole int64
	oldestAt   time.Time
}

// Sequencer returns a new sequencer on a connection of its own.
func (s *Store) Sequencer() *Sequencer { return &Sequencer{store: s} }

// Run sequences until ctx ends and then returns nil. Failures of the database
// are reported to the observer and tried again.
func (q *Sequencer) Run(ctx context.Context) error {
	defer q.close(ctx)
	timer := time.NewTimer(0)
	defer timer.Stop()
	look := true // a peek is worth it: nobody told us of work
	idle := 0    // looks in a row that found nothing
	nudge := q.store.nudge
	for failures := 0; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-nudge:
			look, idle = false, 0
		case <-timer.C:
			nudge = q.store.nudge
		}
		worked, err := q.turn(ctx, look)
		look = true
		wait := idleWait(q.store.pollInterval, idle)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			failures++
			q.failed(err)
			wait = min(time.Duration(failures)*100*time.Millisecond, time.Second)
			q.close(ctx)
		case worked:
			// More may have come meanwhile. A short rest lets commits gather: a
			// round costs as much as several commits, and a stream of them
			// needs no round for each.
			failures, idle, wait, look, nudge = 0, 0, roundRest, false, nil
		default:
			failures = 0
			idle++
		}
		timer.Reset(wait)
	}
}

// idleWait is how long the sequencer waits for its next look. It is told of this
// instance's commits, and every other instance of its own; a look is for what a
// round of another one just missed, and later for what a dead instance left. So
// for a second it looks often, and then ever more seldom, down to once in twenty
// intervals: an idle catalog should not keep its database busy.
func idleWait(interval time.Duration, idle int) time.Duration {
	const often, seldom = 40, 20
	return min(interval<<min(max(idle-often, 0), 10), seldom*interval)
}

func (q *Sequencer) failed(err error) {
	var halted *HaltedError
	if errors.As(err, &halted) {
		if q.store.observer.Halted != nil {
			q.store.observer.Halted(halted)
		}
	} else if q.store.observer.Failed != nil {
		q.store.observer.Failed(err)
	}
	q.store.logger.Error("the sequencer could not work", "error", err)
}

// Close ends the sequencer's connection; the next round makes a new one.
func (q *Sequencer) Close() { q.close(context.Background()) }

func (q *Sequencer) close(ctx context.Context) {
	if q.conn != nil {
		closeConn(ctx, q.conn)
		q.conn = nil
	}
}

// turn peeks, if asked to, and does one round if there is something to do.
func (q *Sequencer) turn(ctx context.Context, peek bool) (bool, error) {
	if peek {
		something, err := q.peek(ctx)
		if err != nil || !something {
			return false, err
		}
	}
	return q.RunOnce(ctx)
}

// ensure connects if need be.
func (q *Sequencer) ensure(ctx context.Context) error {
	if q.conn != nil && !q.conn.IsClosed() {
		return nil
	}
	conn, err := q.store.connect(ctx)
	if err != nil {
		return fmt.Errorf("connect the sequencer: %w", err)
	}
	q.conn = conn
	return nil
}

// peek reports whether a round would find work. A halted log is an error.
func (q *Sequencer) peek(ctx context.Context) (bool, error) {
	if err := q.ensure(ctx); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var halted, something, behind bool
	err := q.conn.QueryRow(ctx, sqlPeek).Scan(&halted, &something, &behind)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, errNoHead
	case err != nil:
		return false, fmt.Errorf("peek at the log: %w", err)
	case behind:
		// Numbers that are drawn now would never be met.
		return false, q.ensurePartitions(ctx, 1)
	case halted:
		head, err := q.store.Head(ctx)
		if err == nil && head.Halted != nil {
			err = head.Halted
		}
		return false, err
	}
	return something, nil
}

// RunOnce does one round: it numbers the commits that are visible and settles
// what it can of the holes. It reports whether it changed anything; false also
// means that another instance is at it. A log that is halted, or halts in this
// round, is a [HaltedError].
func (q *Sequencer) RunOnce(ctx context.Context) (bool, error) {
	if err := q.ensure(ctx); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if q.roundsLeft--; q.roundsLeft < 0 {
		if err := q.keepPartitions(ctx); err != nil {
			q.failed(err) // there may be room for long: do not stop for it
		}
		q.roundsLeft = 100
	}
	r, err := q.round(ctx)
	if err != nil {
		return false, fmt.Errorf("sequence: %w", err)
	}
	if r == nil {
		return false, nil
	}
	if r.batch.To >= r.batch.From {
		q.store.broadcast()
	}
	if q.store.observer.Sequenced != nil {
		q.store.observer.Sequenced(r.batch)
	}
	if r.opened && q.store.observer.EpochOpened != nil {
		q.store.observer.EpochOpened(r.batch.Epoch, r.batch.From-1)
	}
	if r.halt != nil {
		return true, r.halt
	}
	return true, nil
}

// keepPartitions makes the next partitions at half fill.
func (q *Sequencer) keepPartitions(ctx context.Context) error {
	p, err := readPartitions(ctx, q.conn)
	if err != nil {
		return err
	}
	want := 1
	if p.halfFull {
		want = 2
	}
	if p.current && p.spare >= want {
		return nil
	}
	return q.ensurePartitions(ctx, want)
}

func (q *Sequencer) ensurePartitions(ctx context.Context, spare int) error {
	return ensurePartitions(ctx, q.conn, q.store.partitionSize, spare)
}

// locked is the head row as a round holds it.
type locked struct {
	logID         ids.ID
	size          int64
	place         place
	epoch         int64
	system        *int64
	timeline      pgtype.Text
	frontier      frontier
	root          []byte
	logtime       time.Time
	state, reason string
	haltedAt      int64
	own           uint64 // this transaction's id, taken after last was read
	last          int64  // highest number drawn
	nowSystem     int64
	nowTimeline   string
}

// done is a committed round.
type done struct {
	batch  Batch
	halt   *HaltedError
	opened bool
}

// round is one transaction of three flights: lock, scan, write. Beside writers
// that keep the machine busy each flight costs the time to get a processor
// twice, so BEGIN rides with the first and COMMIT with the last. It returns nil
// when there was nothing to do or another instance held the head.
func (q *Sequencer) round(ctx context.Context) (_ *done, err error) {
	began := q.store.clock.Now()
	defer q.rollback(ctx)
	h, err := q.lockHead(ctx)
	if err != nil || h == nil {
		return nil, err
	}
	if h.state == stateHalted {
		return nil, &HaltedError{AppendSeq: h.haltedAt, Reason: h.reason}
	}
	if h.last < h.place.seen {
		return nil, &NotReadyError{Reason: "the sequence es.append_seq is behind the log"}
	}
	now := q.store.clock.Now().UTC().Truncate(time.Microsecond)
	if now.After(h.logtime) {
		h.logtime = now
	}
	before := h.place
	out := &done{batch: Batch{From: h.size + 1, Epoch: h.epoch, LogTime: h.logtime, Took: 0}}

	changed, opened, err := q.checkEpoch(ctx, h)
	if err != nil {
		return nil, err
	}
	out.opened, out.batch.Epoch = opened, h.epoch

	s, err := q.scan(ctx, h)
	if err != nil {
		return nil, err
	}
	v := decide(h.place, s)
	writes := &pgx.Batch{}
	h.number(writes, v.take)
	h.place = v.next.renew(s.proved, h.last, h.own)
	if v.halt != nil {
		h.state, h.reason, h.haltedAt = stateHalted, v.halt.Reason, v.halt.AppendSeq
	}
	out.halt = v.halt
	changed = changed || len(v.take)+v.skipped > 0 || v.halt != nil ||
		h.place.seen != before.seen || h.place.hasCand != before.hasCand || h.place.cand != before.cand ||
		!slices.Equal(h.place.holes, before.holes)
	if !changed {
		return nil, nil
	}

	out.batch.To = h.size
	out.batch.Backlog = max(0, h.last-h.place.seen)
	out.batch.Holes, out.batch.Dropped = len(h.place.holes), v.dropped
	out.batch.OldestFor = q.holeAge(h.place.holes, now)
	for _, u := range v.take {
		for i := range u.rows {
			out.batch.Lag = max(out.batch.Lag, now.Sub(u.rows[i].Time))
		}
	}
	h.save(writes, out.batch.To >= out.batch.From)
	if err := q.commit(ctx, writes, out.batch); err != nil {
		return nil, err
	}
	out.batch.Took = q.store.clock.Now().Sub(began)
	return out, nil
}

// commit sends the last flight.
func (q *Sequencer) commit(ctx context.Context, writes *pgx.Batch, b Batch) error {
	if q.store.onBatch != nil && b.To >= b.From {
		q.store.onBatch(b, writes)
	}
	writes.Queue("COMMIT")
	if err := q.conn.SendBatch(ctx, writes).Close(); err != nil {
		return fmt.Errorf("write the batch: %w", err)
	}
	return nil
}

// rollback ends what a round left open. A connection that cannot even do that
// is given up.
func (q *Sequencer) rollback(ctx context.Context) {
	if q.conn.IsClosed() || q.conn.PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if _, err := q.conn.Exec(ctx, "ROLLBACK"); err != nil {
		q.close(ctx)
	}
}

// holeAge tells how long this instance has known the oldest hole.
func (q *Sequencer) holeAge(holes []int64, now time.Time) time.Duration {
	if len(holes) == 0 {
		q.oldestHole = 0
		return 0
	}
	if q.oldestHole != holes[0] {
		q.oldestHole, q.oldestAt = holes[0], now
	}
	return now.Sub(q.oldestAt)
}

// lockHead reads the highest number drawn, then locks the head, which gives
// this transaction its id. This order is the proof's premise: were the id
// taken first, a commit could begin after it, draw a number below last, and
// look dead to the next round.
func (q *Sequencer) lockHead(ctx context.Context) (*locked, error) {
	b := &pgx.Batch{}
	b.Queue("BEGIN ISOLATION LEVEL READ COMMITTED")
	b.Queue(sqlRoundSettings, idleTimeout, statementTimeout, tcpUserTimeout)
	b.Queue(sqlLockHead)
	b.Queue(sqlOwnXID)
	b.Queue(sqlSystem)
	results := q.conn.SendBatch(ctx, b)
	defer func() { _ = results.Close() }()

	h := &locked{}
	if _, err := results.Exec(); err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	if err := results.QueryRow().Scan(nil, nil, nil, &h.last); err != nil {
		return nil, fmt.Errorf("read the number: %w", err)
	}
	var (
		candN     *int64
		candXID   pgtype.Uint64
		logID     pgtype.UUID
		ownXID    pgtype.Uint64
		frontiers []byte
	)
	err := results.QueryRow().Scan(&logID, &h.size, &h.place.seen, &h.place.holes, &candN, &candXID, &h.epoch,
		&h.system, &h.timeline, &frontiers, &h.root, &h.logtime, &h.state, &h.reason, &h.haltedAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil // held elsewhere; a missing row is peek's to find
	}
	if err != nil {
		return nil, fmt.Errorf("lock the head: %w", err)
	}
	if err := results.QueryRow().Scan(&ownXID); err != nil {
		return nil, fmt.Errorf("read the round's transaction id: %w", err)
	}
	if !ownXID.Valid {
		return nil, errors.New("lock the head: the transaction has no id")
	}
	if err := results.QueryRow().Scan(&h.nowSystem, &h.nowTimeline); err != nil {
		return nil, fmt.Errorf("identify the database: %w", err)
	}
	h.logID, h.own, h.logtime = logID.Bytes, ownXID.Uint64, h.logtime.UTC()
	if candN != nil && candXID.Valid {
		h.place.hasCand, h.place.candN, h.place.cand = true, *candN, candXID.Uint64
	}
	h.frontier, err = parseFrontier(h.size, frontiers)
	return h, err
}

// scan reads the visible commits in one statement.
func (q *Sequencer) scan(ctx context.Context, h *locked) (scan, error) {
	p := h.place
	low, high := int64(1), int64(0)
	if n := len(p.holes); n > 0 {
		low, high = p.holes[0], p.holes[n-1]
	}
	cand := pgtype.Text{String: fmt.Sprint(p.cand), Valid: p.hasCand}
	rows, err := q.conn.Query(ctx, sqlScan, p.seen, p.holes, low, high, cand, q.store.batchSize)
	if err != nil {
		return scan{}, fmt.Errorf("scan: %w", err)
	}
	defer rows.Close()
	var s scan
	var fresh int
	for rows.Next() {
		var (
			proved                         pgtype.Bool
			seq                            *int64
			ordinal, size                  pgtype.Int4
			event, stream, commit          pgtype.UUID
			actor, req, cause, wh, project pgtype.UUID
			streamType, typ, schema        pgtype.Text
			version                        pgtype.Int8
			occurred                       pgtype.Timestamptz
			hash                           []byte
			last                           int64
			decision                       string
		)
		if err := rows.Scan(&proved, &seq, &ordinal, &size, &event, &stream, &streamType, &version, &typ, &schema,
			&occurred, &actor, &req, &cause, &commit, &wh, &project, &hash, &last, &decision); err != nil {
			return scan{}, fmt.Errorf("scan: %w", err)
		}
		s.proved = proved.Bool
		if seq == nil {
			continue // nothing is visible; the row carries the proof alone
		}
		row := scanned{appendSeq: *seq, lastKnown: last, Record: Record{
			ID: event.Bytes, Stream: stream.Bytes, StreamType: streamType.String, Version: version.Int64,
			Type: typ.String, DataSchema: schema.String, Time: occurred.Time.UTC(), Actor: actor.Bytes,
			RequestID: req.Bytes, Causation: cause.Bytes, CommitID: commit.Bytes, CommitIndex: int(ordinal.Int32),
			CommitSize: int(size.Int32), Warehouse: wh.Bytes, Project: project.Bytes,
		}}
		copy(row.dataSHA256[:], hash)
		if *seq > p.seen {
			fresh++
		}
		if n := len(s.units); n == 0 || s.units[n-1].seq != *seq {
			s.units = append(s.units, unit{seq: *seq, decision: decision})
		}
		u := &s.units[len(s.units)-1]
		u.rows = append(u.rows, row)
	}
	if err := rows.Err(); err != nil {
		return scan{}, fmt.Errorf("scan: %w", err)
	}
	s.cut = fresh >= q.store.batchSize
	return s, nil
}

// number queues the entries of the units and grows the tree.
func (h *locked) number(b *pgx.Batch, take []unit) {
	var (
		seqs, versions  []int64
		ordinals        []int32
		events, streams []pgtype.UUID
		leaves          [][]byte
		levels          []int16
		indexes         []int64
		hashes          [][]byte
	)
	first := h.size + 1
	for _, u := range take {
		for i := range u.rows {
			r := &u.rows[i]
			leaf := leafOf(&r.Record, r.dataSHA256)
			seqs, ordinals = append(seqs, u.seq), append(ordinals, int32(i))
			events, streams = append(events, pgID(r.ID)), append(streams, pgID(r.Stream))
			versions, leaves = append(versions, r.Version), append(leaves, leaf[:])
			for _, n := range h.frontier.add(leaf) {
				levels = append(levels, int16(n.level))
				indexes, hashes = append(indexes, n.index), append(hashes, n.hash[:])
			}
			h.size++
		}
	}
	if len(seqs) == 0 {
		return
	}
	b.Queue(sqlInsertEntries, first, h.epoch, h.logtime, seqs, ordinals, events, streams, versions, leaves)
	if len(levels) > 0 {
		b.Queue(sqlInsertNodes, levels, indexes, hashes)
	}
}

// save queues the head's way back and, if the log grew, the notice.
func (h *locked) save(b *pgx.Batch, grew bool) {
	var candN pgtype.Int8
	var cand pgtype.Uint64
	if h.place.hasCand {
		candN = pgtype.Int8{Int64: h.place.candN, Valid: true}
		cand = pgtype.Uint64{Uint64: h.place.cand, Valid: true}
	}
	root := h.frontier.root()
	b.Queue(sqlUpdateHead, h.size, h.place.seen, h.place.holes, candN, cand, h.epoch, h.nowSystem, h.nowTimeline,
		h.frontier.bytes(), root[:], h.logtime, h.state, h.reason,
		pgtype.Int8{Int64: h.haltedAt, Valid: h.state == stateHalted})
	if grew {
		b.Queue("SELECT pg_notify($1, $2)", Channel, fmt.Sprint(h.size))
	}
}
