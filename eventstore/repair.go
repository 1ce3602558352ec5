package eventstore

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// Decisions about a commit that halted the log.
const (
	decisionSkip   = "skip"
	decisionAccept = "accept"
)

// Repair is an operator's decision about the commit that halted the log. It is
// itself an event, so whoever replays the log learns of it.
type Repair struct {
	AppendSeq int64  // must be the commit that the log is halted at
	Accept    bool   // number it although it breaks the invariant; false passes over it for ever
	Reason    string // for whoever reads the log later
	Actor     ids.ID
	RequestID ids.ID
}

// Repaired is the data of a log.repaired event.
type Repaired struct {
	AppendSeq int64  `json:"append-seq"`
	Decision  string `json:"decision"` // "skip" or "accept"
	Reason    string `json:"reason"`
	HaltedFor string `json:"halted-for"`
}

// Repair records the decision and lets the sequencer go on. A commit that is
// skipped stays in the event table but never gets a position. Accepting can
// bridge a gap in a stream's versions; a version that the log already has can
// only be skipped, so the log halts again.
func (s *Store) Repair(ctx context.Context, r Repair) (Receipt, error) {
	var receipt Receipt
	err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		var (
			logID         pgtype.UUID
			state, reason string
			haltedAt      int64
		)
		// Head before guard, as in a round that opens an epoch.
		if err := tx.QueryRow(ctx, sqlWaitHead).Scan(&logID, &state, &reason, &haltedAt); err != nil {
			return err
		}
		if state != stateHalted || haltedAt != r.AppendSeq {
			return fmt.Errorf("the log is %s (at commit number %d), not halted at %d", state, haltedAt, r.AppendSeq)
		}
		decision := decisionSkip
		if r.Accept {
			decision = decisionAccept
		}
		data, err := json.Marshal(Repaired{AppendSeq: r.AppendSeq, Decision: decision, Reason: r.Reason, HaltedFor: reason})
		if err != nil {
			return err
		}
		record := s.logRecord(logID.Bytes, RepairedType, repairedSchema, data)
		record.Actor, record.RequestID = r.Actor, r.RequestID
		if _, err := tx.Exec(ctx, sqlInsertRepair, r.AppendSeq, decision, r.Reason, record.Time, pgID(record.ID)); err != nil {
			return err
		}
		seq, err := s.appendLogRecord(ctx, tx, &record)
		if err != nil {
			return err
		}
		receipt = Receipt{CommitID: record.CommitID, AppendSeq: seq, Records: []Record{record}}
		_, err = tx.Exec(ctx, sqlReleaseHead)
		return err
	})
	if err != nil {
		return Receipt{}, fmt.Errorf("repair the log: %w", err)
	}
	s.Nudge()
	return receipt, nil
}
