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

// Selection says which events a reader wants: those that all four lists admit.
// An empty list admits everything; an event above projects or warehouses is of
// none. What the log tells about itself (that an epoch was opened, that it was
// repaired) is admitted always: without it nobody can judge the rest.
type Selection struct {
	Projects, Warehouses []ids.ID
	StreamTypes          []string // "table"
	Types                []string // "dev.icecore.table.committed"
}

// Page is a stretch of the log as a reader wants it.
type Page struct {
	Entries []Entry // those that are admitted, in order
	// Last is the last position that was looked at, and Epoch its epoch: the
	// position asked for and 0 at the end of the log.
	Last, Epoch int64
}

// ReadSelected looks at up to limit entries that follow a position, in one
// statement, and returns those that a selection admits. Their data has up to
// maxBytes bytes, or is that of a single event: there the page ends early. What
// is left out costs no data.
func (s *Store) ReadSelected(ctx context.Context, position int64, limit, maxBytes int, of Selection) (Page, error) {
	p := Page{Last: position}
	rows, err := s.readPool.Query(ctx, sqlReadSelected, position, limit, maxBytes, pgIDs(of.Projects), pgIDs(of.Warehouses),
		orEmpty(of.StreamTypes), orEmpty(of.Types))
	if err != nil {
		return p, fmt.Errorf("read the log after %d: %w", position, err)
	}
	defer rows.Close()
	for rows.Next() {
		entry, admitted, err := scanSelected(rows)
		if err != nil {
			return Page{Last: position}, fmt.Errorf("read the log after %d: %w", position, err)
		}
		if admitted {
			if p.Entries == nil {
				p.Entries = make([]Entry, 0, min(limit, 64))
			}
			p.Entries = append(p.Entries, entry)
		}
		p.Last, p.Epoch = entry.Position, entry.Epoch
	}
	if err := rows.Err(); err != nil {
		return Page{Last: position}, fmt.Errorf("read the log after %d: %w", position, err)
	}
	return p, nil
}

func scanSelected(row pgx.Rows) (e Entry, admitted bool, err error) {
	var (
		event, stream, commit                         pgtype.UUID
		actor, request, causation, warehouse, project pgtype.UUID
		streamType, typ, schema, trace                pgtype.Text
		size                                          pgtype.Int4
		version                                       pgtype.Int8
		occurred                                      pgtype.Timestamptz
		is                                            pgtype.Bool
		leaf, hash                                    []byte
		logTime                                       time.Time
	)
	if err := row.Scan(&e.Position, &e.Epoch, &logTime, &leaf, &is, &e.AppendSeq, &e.CommitIndex, &size, &event, &stream, &streamType, &version,
		&typ, &schema, &occurred, &actor, &request, &causation, &commit, &warehouse, &project, &trace, &e.Data, &hash); err != nil {
		return e, false, err
	}
	if !is.Valid {
		return e, false, fmt.Errorf("the event at position %d is missing from the event table", e.Position)
	}
	if copy(e.Leaf[:], leaf) != len(e.Leaf) || copy(e.dataSHA256[:], hash) != len(e.dataSHA256) {
		return e, false, fmt.Errorf("position %d has a leaf of %d bytes and a data hash of %d", e.Position, len(leaf), len(hash))
	}
	e.ID, e.Stream, e.CommitID = event.Bytes, stream.Bytes, commit.Bytes
	e.Actor, e.RequestID, e.Causation = actor.Bytes, request.Bytes, causation.Bytes
	e.Warehouse, e.Project, e.TraceParent = warehouse.Bytes, project.Bytes, trace.String
	e.StreamType, e.Version, e.Type, e.DataSchema = streamType.String, version.Int64, typ.String, schema.String
	e.CommitSize, e.Time, e.LogTime = int(size.Int32), occurred.Time.UTC(), logTime.UTC()
	e.Erased = is.Bool && e.Data == nil
	return e, is.Bool, nil
}

func pgIDs(list []ids.ID) []pgtype.UUID {
	out := make([]pgtype.UUID, len(list))
	for i, id := range list {
		out[i] = pgID(id)
	}
	return out
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// EpochEnd returns the last position of an epoch; over is false for the one that
// goes on, and for one that the log does not know.
func (s *Store) EpochEnd(ctx context.Context, epoch int64) (last int64, over bool, err error) {
	err = s.readPool.QueryRow(ctx, sqlEpochEnd, epoch).Scan(&last)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, false, nil
	case err != nil:
		return 0, false, fmt.Errorf("read the end of epoch %d: %w", epoch, err)
	}
	return last, true, nil
}
