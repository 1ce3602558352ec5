package eventstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// Outcome is the settled fate of a commit.
type Outcome string

const (
	// Committed means that it happened.
	Committed Outcome = "committed"
	// Aborted means that its id was burned; it did not happen and never will.
	Aborted Outcome = "aborted"
	// Absent means that nobody used or burned the id so far. This proves nothing: the
	// commit may be under way (law 3). Use [Store.Burn] to settle it.
	Absent Outcome = ""
)

// Outcome reads what is known of a commit. It never waits and never settles.
func (s *Store) Outcome(ctx context.Context, commit ids.ID) (Outcome, error) {
	outcome, _, err := readOutcome(ctx, s.readPool, commit)
	return outcome, err
}

func readOutcome(ctx context.Context, q Querier, commit ids.ID) (Outcome, int64, error) {
	var outcome string
	var floor int64
	err := q.QueryRow(ctx, sqlOutcome, pgID(commit)).Scan(&outcome, &floor)
	if errors.Is(err, pgx.ErrNoRows) {
		return Absent, 0, nil
	}
	if err != nil {
		return Absent, 0, fmt.Errorf("read the outcome of commit %s: %w", commit, err)
	}
	return Outcome(outcome), floor, nil
}

// Burn settles the fate of a commit by taking its id (design 3.3): afterwards
// it either did happen or never can. It waits for a transaction in doubt that
// holds the id. It uses a fresh connection, since whatever lost the answer may
// still sit in the old one, and tries again while the database is away, until
// the burn timeout (5 s) is over. Only an error leaves the fate open.
func (s *Store) Burn(ctx context.Context, commit ids.ID) (Outcome, error) {
	outcomes, err := s.burnAll(ctx, []ids.ID{commit})
	return outcomes[commit], err
}

// burnAll is [Store.Burn] for the commits of one transaction.
func (s *Store) burnAll(ctx context.Context, commits []ids.ID) (map[ids.ID]Outcome, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.burnTimeout)
	defer cancel()
	for {
		outcomes, err := s.burnOnce(ctx, commits)
		if err == nil {
			return outcomes, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("burn %d commits, the first %s: %w", len(commits), commits[0], err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (s *Store) burnOnce(ctx context.Context, commits []ids.ID) (map[ids.ID]Outcome, error) {
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer closeConn(ctx, conn)
	list := make([]pgtype.UUID, len(commits))
	for i, id := range commits {
		list[i] = pgID(id)
	}
	// A transaction of its own: when this answer is lost too, the next try finds
	// the rows or inserts them.
	if _, err := conn.Exec(ctx, sqlBurn, list); err != nil {
		return nil, err
	}
	rows, err := conn.Query(ctx, sqlOutcomes, list)
	if err != nil {
		return nil, err
	}
	outcomes := make(map[ids.ID]Outcome, len(commits))
	var id pgtype.UUID
	var outcome string
	_, err = pgx.ForEachRow(rows, []any{&id, &outcome}, func() error {
		outcomes[id.Bytes] = Outcome(outcome)
		return nil
	})
	if err == nil && len(outcomes) != len(commits) {
		err = fmt.Errorf("%d of %d burned commits are not there", len(commits)-len(outcomes), len(commits))
	}
	return outcomes, err
}

// closeConn ends a connection without waiting for a server that may be gone.
func closeConn(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}

// explain turns the failure of a batch into what the caller may know: nothing
// happened and why, it happened after all, or unknown.
func (s *Store) explain(ctx context.Context, c *Commit, failed step, cause error) (Receipt, error) {
	var unsent *notSentError
	if errors.As(cause, &unsent) || pgconn.SafeToRetry(cause) {
		return Receipt{}, &BusyError{Cause: cause}
	}
	pgErr, definite := refused(cause)
	if !definite {
		return s.settle(ctx, c, cause)
	}
	switch pgErr.Code {
	case "IC001":
		return Receipt{}, &ConflictError{Stream: failed.stream}
	case "IC002":
		return Receipt{}, &StaleError{}
	case "IC003":
		return Receipt{}, &ClosedError{Stream: failed.stream}
	case "IC004":
		return Receipt{}, &ConflictError{}
	case "IC005":
		return Receipt{}, s.idempotencyHit(ctx, c.Idempotency, cause)
	case "55P03":
		if failed.name == stepClaim {
			// A twin with this very id is in doubt: its fate is ours.
			return s.settle(ctx, c, cause)
		}
		return Receipt{}, &BusyError{Cause: cause}
	case "23505":
		switch {
		case failed.name == stepClaim:
			return s.earlier(ctx, c, cause)
		case pgErr.SchemaName == "es" && pgErr.ConstraintName == "stream_pkey":
			return Receipt{}, &ConflictError{Stream: failed.stream}
		}
	}
	switch pgErr.Code[:2] {
	case "23":
		return Receipt{}, &ConstraintError{Constraint: pgErr.ConstraintName, Code: pgErr.Code}
	case "40", "53", "55", "57", "25":
		return Receipt{}, &BusyError{Cause: cause}
	}
	return Receipt{}, fmt.Errorf("append commit %s: %s: %w", c.ID, failed.name, cause)
}

// refused reports whether the server itself said that the transaction failed.
// Only severity ERROR does: a FATAL can come from a pooler that lost its
// server, after that server committed.
func refused(err error) (*pgconn.PgError, bool) {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || len(pgErr.Code) != 5 {
		return nil, false
	}
	severity := pgErr.SeverityUnlocalized
	if severity == "" {
		severity = pgErr.Severity
	}
	return pgErr, severity == "ERROR" && !strings.HasPrefix(pgErr.Code, "08")
}

// settle burns the id of a commit whose answer was lost.
func (s *Store) settle(ctx context.Context, c *Commit, cause error) (Receipt, error) {
	outcome, err := s.Burn(ctx, c.ID)
	return s.settled(ctx, c, outcome, err, cause)
}

// settled is the answer for a commit whose id was burned, with what came of
// that.
func (s *Store) settled(ctx context.Context, c *Commit, outcome Outcome, err, cause error) (Receipt, error) {
	if err != nil {
		return Receipt{}, &UnknownError{CommitID: c.ID, Cause: errors.Join(cause, err)}
	}
	if outcome == Aborted {
		return Receipt{}, &BusyError{Cause: errors.Join(ErrBurned, cause)}
	}
	return s.earlier(ctx, c, cause)
}

// earlier answers for a commit id that is taken: by this very commit, which
// happened, or by a burn.
func (s *Store) earlier(ctx context.Context, c *Commit, cause error) (Receipt, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.burnTimeout)
	defer cancel()
	var err error
	for {
		var receipt Receipt
		var retry bool
		if receipt, retry, err = s.earlierOnce(ctx, c, cause); !retry {
			return receipt, err
		}
		select {
		case <-ctx.Done():
			// It is known that the id is taken, not by what.
			return Receipt{}, &UnknownError{CommitID: c.ID, Cause: errors.Join(cause, err)}
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (s *Store) earlierOnce(ctx context.Context, c *Commit, cause error) (_ Receipt, retry bool, _ error) {
	outcome, floor, err := readOutcome(ctx, s.readPool, c.ID)
	switch {
	case err != nil:
		return Receipt{}, true, err
	case outcome == Aborted:
		return Receipt{}, false, &BusyError{Cause: errors.Join(ErrBurned, cause)}
	case outcome != Committed:
		return Receipt{}, true, fmt.Errorf("commit %s is taken but not visible", c.ID)
	}
	var seq int64
	err = s.readPool.QueryRow(ctx, sqlFindCommit, floor, pgID(c.Records[0].ID), pgID(c.ID)).Scan(&seq)
	if errors.Is(err, pgx.ErrNoRows) {
		return Receipt{}, false, fmt.Errorf("%w %s: its id belongs to a commit with other records", ErrInvalidCommit, c.ID)
	}
	if err != nil {
		return Receipt{}, true, err
	}
	return c.receipt(seq), false, nil
}

// outcomeOf names the result of an append for metrics.
func outcomeOf(err error) string {
	var (
		conflict   *ConflictError
		closed     *ClosedError
		stale      *StaleError
		constraint *ConstraintError
		hit        *IdempotencyHitError
		busy       *BusyError
		unknown    *UnknownError
	)
	switch {
	case err == nil:
		return "committed"
	case errors.As(err, &conflict):
		return "conflict"
	case errors.As(err, &closed):
		return "closed"
	case errors.As(err, &stale):
		return "stale"
	case errors.As(err, &constraint):
		return "constraint"
	case errors.As(err, &hit):
		return "idempotency-hit"
	case errors.As(err, &busy):
		return "busy"
	case errors.As(err, &unknown):
		return "unknown"
	default:
		return "error"
	}
}
