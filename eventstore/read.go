package eventstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// ErrNotSequenced means that an event has no position: it does not exist, or
// the sequencer has not come to it yet.
var ErrNotSequenced = errors.New("the event has no position")

// ReadAfter returns up to limit entries that follow a position, in order. It
// takes one short snapshot for each call; page by the last entry's position.
func (s *Store) ReadAfter(ctx context.Context, position int64, limit int) ([]Entry, error) {
	entries, err := s.readEntries(ctx, sqlReadEntries, position, limit)
	if err != nil {
		return nil, fmt.Errorf("read the log after %d: %w", position, err)
	}
	return entries, nil
}

// ReadWithout looks at up to limit entries that follow a position and returns
// those that are not of the types given, in order, with the position up to which
// it looked: position itself at the end of the log. What is left out costs no
// data. The data of what is returned has up to maxBytes bytes, or is that of a
// single event: there the page ends early.
func (s *Store) ReadWithout(ctx context.Context, position int64, limit, maxBytes int, without []string) (entries []Entry, last int64, err error) {
	entries, last, err = s.readWithout(ctx, position, limit, maxBytes, without)
	if err != nil {
		return nil, position, fmt.Errorf("read the log after %d: %w", position, err)
	}
	return entries, last, nil
}

func (s *Store) readWithout(ctx context.Context, position int64, limit, maxBytes int, without []string) (wanted []Entry, last int64, err error) {
	index, err := s.readIndex(ctx, sqlReadEntries, position, limit)
	if err != nil || len(index) == 0 {
		return nil, position, err
	}
	low, high, seqs := spanOf(index)
	rows, err := s.readPool.Query(ctx, sqlReadSizes, low, high, seqs, without)
	if err != nil {
		return nil, position, err
	}
	type measure struct {
		wanted bool
		size   int
	}
	events := map[slot]measure{}
	var one slot
	var is measure
	if _, err := pgx.ForEachRow(rows, []any{&one.seq, &one.ordinal, &is.wanted, &is.size}, func() error {
		events[one] = is
		return nil
	}); err != nil {
		return nil, position, err
	}
	total := 0
	for i := range index {
		is, found := events[slot{index[i].AppendSeq, index[i].CommitIndex}]
		if !found {
			return nil, position, fmt.Errorf("the event at position %d is missing from the event table", index[i].Position)
		}
		if is.wanted {
			if total += is.size; total > maxBytes && len(wanted) > 0 {
				break
			}
			wanted = append(wanted, index[i])
		}
		last = index[i].Position
	}
	if len(wanted) == 0 {
		return nil, last, nil
	}
	return wanted, last, s.readData(ctx, wanted, sqlReadWanted, without)
}

// ReadStream returns up to limit entries of a stream from a version on, in
// order. It shows what has a position; the guard may be a few milliseconds
// ahead.
func (s *Store) ReadStream(ctx context.Context, stream ids.ID, fromVersion int64, limit int) ([]Entry, error) {
	entries, err := s.readEntries(ctx, sqlReadStream, pgID(stream), fromVersion, limit)
	if err != nil {
		return nil, fmt.Errorf("read stream %s from version %d: %w", stream, fromVersion, err)
	}
	return entries, nil
}

// Entry returns one event by its id, or [ErrNotSequenced].
func (s *Store) Entry(ctx context.Context, event ids.ID) (Entry, error) {
	entries, err := s.readEntries(ctx, sqlReadByID, []pgtype.UUID{pgID(event)})
	if err != nil {
		return Entry{}, fmt.Errorf("read event %s: %w", event, err)
	}
	if len(entries) == 0 {
		return Entry{}, fmt.Errorf("read event %s: %w", event, ErrNotSequenced)
	}
	return entries[0], nil
}

// LastPositionAt returns the last position whose logtime is not after t, 0 if
// there is none: the log as of t.
func (s *Store) LastPositionAt(ctx context.Context, t time.Time) (int64, error) {
	var position int64
	if err := s.readPool.QueryRow(ctx, sqlPositionAt, t).Scan(&position); err != nil {
		return 0, fmt.Errorf("find the position at %s: %w", t.Format(time.RFC3339Nano), err)
	}
	return position, nil
}

// slot addresses an event inside es.event.
type slot struct {
	seq     int64
	ordinal int
}

// readEntries reads entries by one of the statements on es.log_entry, then
// their events by range. Both tables only grow, so two statements see one truth.
func (s *Store) readEntries(ctx context.Context, sql string, args ...any) ([]Entry, error) {
	entries, err := s.readIndex(ctx, sql, args...)
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	if err := s.readData(ctx, entries, sqlReadEvents); err != nil {
		return nil, err
	}
	return entries, nil
}

// spanOf returns the numbers of entries and their bounds.
func spanOf(entries []Entry) (low, high int64, seqs []int64) {
	seqs = make([]int64, 0, len(entries))
	for i := range entries {
		if n := len(seqs); n == 0 || seqs[n-1] != entries[i].AppendSeq {
			seqs = append(seqs, entries[i].AppendSeq)
		}
	}
	low, high = seqs[0], seqs[0]
	for _, n := range seqs {
		low, high = min(low, n), max(high, n)
	}
	return low, high, seqs
}

// readData completes entries, of which there is at least one, by their events,
// which a statement on es.event reads.
func (s *Store) readData(ctx context.Context, entries []Entry, sql string, more ...any) error {
	at := make(map[slot]int, len(entries))
	for i := range entries {
		at[slot{entries[i].AppendSeq, entries[i].CommitIndex}] = i
	}
	low, high, seqs := spanOf(entries)
	rows, err := s.readPool.Query(ctx, sql, append([]any{low, high, seqs}, more...)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	found := 0
	for rows.Next() {
		stored, err := scanStored(rows)
		if err != nil {
			return err
		}
		i, wanted := at[slot{stored.seq, stored.CommitIndex}]
		if !wanted {
			continue // another event of a commit of which only some are wanted
		}
		entries[i].Record = stored.Record
		entries[i].Erased = stored.erased
		entries[i].dataSHA256 = stored.hash
		found++
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if found != len(entries) {
		return fmt.Errorf("%d of %d events are missing from the event table", len(entries)-found, len(entries))
	}
	return nil
}

// readIndex reads the entries without their events.
func (s *Store) readIndex(ctx context.Context, sql string, args ...any) ([]Entry, error) {
	rows, err := s.readPool.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (Entry, error) {
		var e Entry
		var leaf []byte
		err := row.Scan(&e.Position, &e.AppendSeq, &e.CommitIndex, &e.Epoch, &e.LogTime, &leaf)
		e.LogTime = e.LogTime.UTC()
		if copy(e.Leaf[:], leaf) != len(e.Leaf) && err == nil {
			err = fmt.Errorf("position %d has a leaf of %d bytes", e.Position, len(leaf))
		}
		return e, err
	})
}

// stored is a row of es.event.
type stored struct {
	Record
	seq    int64
	hash   [32]byte
	erased bool
}

func scanStored(rows pgx.Rows) (stored, error) {
	var (
		r                                             stored
		event, stream, commit                         pgtype.UUID
		actor, request, causation, warehouse, project pgtype.UUID
		trace                                         pgtype.Text
		hash                                          []byte
	)
	err := rows.Scan(&r.seq, &r.CommitIndex, &r.CommitSize, &event, &stream, &r.StreamType, &r.Version, &r.Type,
		&r.DataSchema, &r.Time, &actor, &request, &causation, &commit, &warehouse, &project, &trace, &r.Data, &hash)
	if err != nil {
		return stored{}, err
	}
	r.ID, r.Stream, r.CommitID = event.Bytes, stream.Bytes, commit.Bytes
	r.Actor, r.RequestID, r.Causation = actor.Bytes, request.Bytes, causation.Bytes
	r.Warehouse, r.Project, r.TraceParent = warehouse.Bytes, project.Bytes, trace.String
	r.Time = r.Time.UTC()
	r.erased = r.Data == nil
	if copy(r.hash[:], hash) != len(r.hash) {
		return stored{}, fmt.Errorf("event %s has a data hash of %d bytes", r.ID, len(hash))
	}
	return r, nil
}
