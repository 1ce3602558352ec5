package eventstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// step is one statement of an append's batch, with what its failure is about.
type step struct {
	name   string
	stream ids.ID // the stream locked by this statement, or Nil
}

const stepClaim = "commit id"

// Append implements [Log].
//
// The whole commit is one pipelined batch in one implicit transaction, hence
// one network flight. It runs on even when ctx ends after it was sent: its
// answer is the truth, and a cancelled request must not turn into a question.
func (s *Store) Append(ctx context.Context, c *Commit) (Receipt, error) {
	began := s.clock.Now()
	receipt, err := s.append(ctx, c)
	if s.observer.Appended != nil {
		s.observer.Appended(s.clock.Now().Sub(began), outcomeOf(err))
	}
	return receipt, err
}

func (s *Store) append(ctx context.Context, c *Commit) (Receipt, error) {
	tallies, writes, err := s.complete(c)
	if err != nil {
		return Receipt{}, err
	}
	alone := func() (Receipt, error) { return s.appendAlone(ctx, c, tallies, writes) }
	if s.sharing != nil && c.plain(writes) {
		if receipt, done, err := s.sharing.append(ctx, c, alone); done {
			return receipt, err
		}
	}
	return alone()
}

// appendAlone carries the commit out in a transaction of its own.
func (s *Store) appendAlone(ctx context.Context, c *Commit, tallies map[ids.ID]tally, writes *Writes) (Receipt, error) {
	batch, steps, err := s.queue(c, tallies, writes)
	if err != nil {
		return Receipt{}, err
	}
	for attempt := 1; ; attempt++ {
		seq, failed, err := s.send(ctx, batch, steps)
		if err == nil {
			s.Nudge()
			return c.receipt(seq), nil
		}
		// A pooled connection that died while idle: not a byte was sent.
		if pgconn.SafeToRetry(err) && attempt < 3 && ctx.Err() == nil {
			continue
		}
		return s.explain(ctx, c, failed, err)
	}
}

func (c *Commit) receipt(seq int64) Receipt {
	return Receipt{CommitID: c.ID, AppendSeq: seq, Records: slices.Clone(c.Records)}
}

// notSentError wraps errors before the first byte of a batch.
type notSentError struct{ cause error }

func (e *notSentError) Error() string { return e.cause.Error() }
func (e *notSentError) Unwrap() error { return e.cause }

// send runs the batch and returns the commit's number, or the step that failed.
func (s *Store) send(ctx context.Context, batch *pgx.Batch, steps []step) (int64, step, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return 0, step{}, &notSentError{err}
	}
	defer conn.Release()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.appendTimeout)
	defer cancel()

	results := conn.SendBatch(ctx, batch)
	var seq int64
	for i, st := range steps {
		if i < len(steps)-1 {
			_, err = results.Exec()
		} else {
			err = results.QueryRow().Scan(&seq)
		}
		if err != nil {
			_ = results.Close() // repeats the first error
			return 0, st, err
		}
	}
	// Close reads the answer to the Sync, which is the COMMIT.
	if err := results.Close(); err != nil {
		return 0, step{name: "commit"}, err
	}
	return seq, step{}, nil
}

// deadline is when the facts that the commit rests on are too old; not valid
// if it rests on none.
func (c *Commit) deadline() pgtype.Timestamptz {
	return pgtype.Timestamptz{Valid: !c.ResolvedAt.IsZero(), Time: c.ResolvedAt.Add(MaxCommitAge)}
}

// queue lines the statements of a commit up in lock order (doc.go).
func (s *Store) queue(c *Commit, tallies map[ids.ID]tally, writes *Writes) (*pgx.Batch, []step, error) {
	batch, steps := &pgx.Batch{}, make([]step, 0, 3+len(c.Streams)+len(writes.list))
	queue := func(st step, sql string, args ...any) {
		batch.Queue(sql, args...)
		steps = append(steps, st)
	}

	queue(step{name: stepClaim}, sqlClaimCommit, pgID(c.ID), s.lockTimeout)
	if k := c.Idempotency; k != nil {
		queue(step{name: "idempotency"}, sqlClaimIdempotency, append(k.args(), s.clock.Now())...)
	}

	deadline := c.deadline()
	streams := slices.Clone(c.Streams)
	slices.SortFunc(streams, func(a, b Stream) int { return a.ID.Compare(b.ID) })
	for _, st := range streams {
		t := tallies[st.ID]
		at := step{name: "stream", stream: st.ID}
		switch st.Mode {
		case Held:
			queue(at, sqlHold, pgID(st.ID), st.exclusive(), st.Dormant)
		case Asserted:
			queue(at, sqlAssert, pgID(st.ID), st.Version, st.exclusive(), st.Dormant)
		case Created:
			queue(at, sqlCreate, pgID(st.ID), st.Type, t.records, pgText(st.NextPointer), pgID(t.mark),
				st.NextDormant, st.Close, deadline)
		case Advanced:
			queue(at, sqlAdvance, pgID(st.ID), st.Version, t.records, pgText(st.Pointer), pgText(st.NextPointer),
				pgID(t.mark), st.exclusive(), st.Dormant, st.NextDormant, st.Close, deadline)
		case Shifted:
			queue(at, sqlAdvance, pgID(st.ID), st.Version, 0, pgText(st.Pointer), pgText(st.NextPointer),
				pgID(st.SpokenFor), st.exclusive(), st.Dormant, st.NextDormant, st.Close, deadline)
		}
	}

	slices.SortStableFunc(writes.list, func(a, b Write) int {
		if a.Rank != b.Rank {
			return int(a.Rank - b.Rank)
		}
		return strings.Compare(a.Key, b.Key)
	})
	for _, w := range writes.list {
		sql, err := guarded(w.SQL, w.Rows)
		if err != nil {
			return nil, nil, err
		}
		queue(step{name: "write"}, sql, w.Args...)
	}

	if len(c.Records) == 1 {
		queue(step{name: "seal"}, sqlSealOne, sealOneArgs(c)...)
	} else {
		queue(step{name: "seal"}, sqlSeal, sealArgs(c)...)
	}
	return batch, steps, nil
}

// tally is what a commit adds to one stream.
type tally struct {
	mode    Mode
	version int64
	records int64
	mark    ids.ID
}

// complete checks the commit, fills what its records derive from it, and asks
// the projectors for their writes.
func (s *Store) complete(c *Commit) (map[ids.ID]tally, *Writes, error) {
	tallies, err := c.complete(s)
	if err != nil {
		return nil, nil, err
	}
	writes := &Writes{}
	for _, p := range s.projectors {
		if err := p.Project(c, writes); err != nil {
			return nil, nil, fmt.Errorf("project commit %s: %w", c.ID, err)
		}
	}
	return tallies, writes, nil
}

func (c *Commit) complete(s *Store) (map[ids.ID]tally, error) {
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("%w %s: %s", ErrInvalidCommit, c.ID, fmt.Sprintf(format, args...))
	}
	switch {
	case c.ID.IsNil():
		return nil, invalid("it has no id")
	case len(c.Records) == 0:
		return nil, invalid("it has no record")
	case len(c.Records) > MaxRecords:
		return nil, invalid("%d records are more than %d", len(c.Records), MaxRecords)
	}
	tallies := make(map[ids.ID]tally, len(c.Streams))
	for _, st := range c.Streams {
		if _, twice := tallies[st.ID]; twice {
			return nil, invalid("stream %s appears twice", st.ID)
		}
		t := tally{mode: st.Mode}
		switch {
		case st.ID.IsNil():
			return nil, invalid("a stream has no id")
		case st.Mode == Created && st.Type == "":
			return nil, invalid("created stream %s has no type", st.ID)
		case (st.Mode == Advanced || st.Mode == Shifted) && st.Version < 1:
			return nil, invalid("advanced stream %s has no expected version", st.ID)
		case st.Mode == Shifted && !slices.ContainsFunc(c.Records, func(r Record) bool { return r.ID == st.SpokenFor && !r.ID.IsNil() }):
			return nil, invalid("no record speaks for stream %s", st.ID)
		case st.Mode == Advanced:
			t.version = st.Version
		case st.Mode < Held || st.Mode > Shifted:
			return nil, invalid("stream %s has the unknown mode %d", st.ID, st.Mode)
		}
		tallies[st.ID] = t
	}
	for i := range c.Records {
		r := &c.Records[i]
		t, known := tallies[r.Stream]
		switch {
		case !known || t.mode != Advanced && t.mode != Created:
			return nil, invalid("record %d belongs to stream %s, which is neither advanced nor created", i, r.Stream)
		case r.Type == "" || r.StreamType == "" || r.DataSchema == "":
			return nil, invalid("record %d lacks its type, stream type or schema", i)
		case len(r.Data) == 0:
			return nil, invalid("record %d has no data", i)
		}
		if r.ID.IsNil() {
			r.ID = s.ids.New()
		}
		if r.Time.IsZero() {
			r.Time = s.clock.Now()
		}
		r.Time = r.Time.UTC().Truncate(time.Microsecond) // what PostgreSQL keeps, for the leaf
		t.records++
		t.mark = r.ID
		r.Version = t.version + t.records
		r.CommitID, r.CommitIndex, r.CommitSize = c.ID, i, len(c.Records)
		tallies[r.Stream] = t
	}
	for id, t := range tallies {
		if t.records == 0 && (t.mode == Advanced || t.mode == Created) {
			return nil, invalid("stream %s is advanced without a record", id)
		}
	}
	return tallies, nil
}

func sealOneArgs(c *Commit) []any {
	r := &c.Records[0]
	return []any{
		pgID(c.ID), pgID(r.ID), pgID(r.Stream), r.StreamType, r.Version, r.Type, r.DataSchema, r.Time,
		pgID(r.Actor), pgID(r.RequestID), pgID(r.Causation), pgID(r.Warehouse), pgID(r.Project), pgText(r.TraceParent), r.Data,
	}
}

// sealArgs spreads the records over one array for each column.
func sealArgs(c *Commit) []any {
	n := len(c.Records)
	var (
		eventID, stream         = make([]pgtype.UUID, n), make([]pgtype.UUID, n)
		streamType, typ, schema = make([]string, n), make([]string, n), make([]string, n)
		version                 = make([]int64, n)
		occurred                = make([]time.Time, n)
		actor, request, cause   = make([]pgtype.UUID, n), make([]pgtype.UUID, n), make([]pgtype.UUID, n)
		warehouse, project      = make([]pgtype.UUID, n), make([]pgtype.UUID, n)
		trace                   = make([]pgtype.Text, n)
		data                    = make([][]byte, n)
	)
	for i := range c.Records {
		r := &c.Records[i]
		eventID[i], stream[i], streamType[i], version[i] = pgID(r.ID), pgID(r.Stream), r.StreamType, r.Version
		typ[i], schema[i], occurred[i] = r.Type, r.DataSchema, r.Time
		actor[i], request[i], cause[i] = pgID(r.Actor), pgID(r.RequestID), pgID(r.Causation)
		warehouse[i], project[i], trace[i] = pgID(r.Warehouse), pgID(r.Project), pgText(r.TraceParent)
		data[i] = r.Data
	}
	return []any{
		pgID(c.ID), n, eventID, stream, streamType, version, typ, schema, occurred,
		actor, request, cause, warehouse, project, trace, data,
	}
}

// pgID maps Nil to SQL NULL.
func pgID(id ids.ID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: !id.IsNil()} }

// pgText maps the empty string to SQL NULL.
func pgText(s string) pgtype.Text { return pgtype.Text{String: s, Valid: s != ""} }
