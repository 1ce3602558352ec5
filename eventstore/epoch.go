package eventstore

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// Events that the log tells about itself, in the stream whose id is the log's.
const (
	LogStreamType     = "log"
	EpochOpenedType   = "dev.icecore.log.epoch-opened"
	RepairedType      = "dev.icecore.log.repaired"
	epochOpenedSchema = "urn:icecore:events:log.epoch-opened:v1"
	repairedSchema    = "urn:icecore:events:log.repaired:v1"
)

// EpochOpened is the data of a log.epoch-opened event: the database's history
// is another than the one that numbered the events before (restore, fail-over,
// upgrade by copy). What was numbered after previousSize in the old history is
// not part of this log.
type EpochOpened struct {
	Epoch            int64  `json:"epoch"`
	PreviousEpoch    int64  `json:"previous-epoch"`
	PreviousSize     int64  `json:"previous-size"`
	PreviousRoot     string `json:"previous-root"` // base64 of the Merkle root
	SystemIdentifier string `json:"system-identifier"`
	Timeline         string `json:"timeline"`
}

// checkEpoch compares the database with the one that the head knows and opens
// an epoch when it is another. The event is the first of its epoch.
func (q *Sequencer) checkEpoch(ctx context.Context, h *locked) (changed, opened bool, err error) {
	root := h.frontier.root()
	insert := func(event ids.ID) error {
		_, err := q.conn.Exec(ctx, sqlInsertEpoch, h.epoch, h.size, root[:], h.nowSystem, h.nowTimeline, h.logtime, pgID(event))
		if err != nil {
			return fmt.Errorf("open epoch %d: %w", h.epoch, err)
		}
		return nil
	}
	if h.system == nil {
		return true, false, insert(ids.Nil)
	}
	if *h.system == h.nowSystem && h.timeline.String == h.nowTimeline {
		return false, false, nil
	}

	data, err := json.Marshal(EpochOpened{
		Epoch: h.epoch + 1, PreviousEpoch: h.epoch, PreviousSize: h.size,
		PreviousRoot:     base64.StdEncoding.EncodeToString(root[:]),
		SystemIdentifier: strconv.FormatInt(h.nowSystem, 10), Timeline: h.nowTimeline,
	})
	if err != nil {
		return false, false, err
	}
	record := q.store.logRecord(h.logID, EpochOpenedType, epochOpenedSchema, data)
	h.epoch++
	if err := insert(record.ID); err != nil {
		return false, false, err
	}
	seq, err := q.store.appendLogRecord(ctx, q.conn, &record)
	if err != nil {
		return false, false, fmt.Errorf("open epoch %d: %w", h.epoch, err)
	}
	// Transaction ids of another history prove nothing here.
	h.place.hasCand, h.place.candN, h.place.cand = false, 0, 0
	if seq-h.place.seen <= maxHoles {
		for n := h.place.seen + 1; n < seq; n++ {
			h.place.holes = append(h.place.holes, n)
		}
		h.place.seen = seq
		first := unit{seq: seq, rows: []scanned{{Record: record, appendSeq: seq, dataSHA256: sha256.Sum256(record.Data)}}}
		b := &pgx.Batch{}
		h.number(b, []unit{first})
		if err := q.conn.SendBatch(ctx, b).Close(); err != nil {
			return false, false, fmt.Errorf("open epoch %d: %w", h.epoch, err)
		}
	} // else it comes in its order, within the new epoch
	return true, true, nil
}

// logRecord makes an event of the log about itself. It has no actor: nobody
// asked for it.
func (s *Store) logRecord(log ids.ID, typ, dataSchema string, data []byte) Record {
	return Record{
		ID: s.ids.New(), Stream: log, StreamType: LogStreamType, Type: typ, DataSchema: dataSchema,
		Time: s.clock.Now().UTC().Truncate(time.Microsecond), CommitID: s.ids.New(), CommitSize: 1, Data: data,
	}
}

// executor is a connection or a transaction.
type executor interface {
	Querier
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// appendLogRecord appends inside a transaction that already holds the head:
// commit id, guard, seal, like any append. It fills the record's version.
func (s *Store) appendLogRecord(ctx context.Context, tx executor, r *Record) (int64, error) {
	if _, err := tx.Exec(ctx, sqlClaimCommit, pgID(r.CommitID), s.lockTimeout); err != nil {
		return 0, err
	}
	var version int64
	err := tx.QueryRow(ctx, sqlLogStream, pgID(r.Stream)).Scan(&version)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		_, err = tx.Exec(ctx, sqlCreate, pgID(r.Stream), r.StreamType, 1, pgtype.Text{}, pgID(r.ID), false, false, pgtype.Timestamptz{})
	case err == nil:
		_, err = tx.Exec(ctx, sqlAdvance, pgID(r.Stream), version, 1, pgtype.Text{}, pgtype.Text{}, pgID(r.ID),
			false, false, false, false, pgtype.Timestamptz{})
	}
	if err != nil {
		return 0, err
	}
	r.Version = version + 1
	var seq int64
	c := Commit{ID: r.CommitID, Records: []Record{*r}}
	err = tx.QueryRow(ctx, sqlSeal, sealArgs(&c)...).Scan(&seq)
	return seq, err
}
