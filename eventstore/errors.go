package eventstore

import (
	"errors"
	"fmt"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// ErrInvalidCommit is wrapped by errors about a commit that no database could
// take: a record without its stream, a stream twice. It is a fault of the
// caller; nothing was sent.
var ErrInvalidCommit = errors.New("invalid commit")

// ErrBurned is the cause of a [BusyError] for a commit id that was burned: the
// commit did not happen and can't happen under that id any more.
var ErrBurned = errors.New("the commit id was burned")

// ConflictError means that a guard's version or pointer was not the expected
// one (SQLSTATE IC001), or that a projector's write met another row count.
// Nothing happened; the caller reloads and decides again.
type ConflictError struct{ Stream ids.ID } // Nil when a projector's write met another row count

func (e *ConflictError) Error() string {
	return fmt.Sprintf("stream %s was changed concurrently", e.Stream)
}

// ClosedError means that a stream of the commit is closed, missing, or dormant
// against expectation.
// Nothing happened.
type ClosedError struct{ Stream ids.ID }

func (e *ClosedError) Error() string { return fmt.Sprintf("stream %s is closed", e.Stream) }

// StaleError means that more than [MaxCommitAge] passed between Resolve and
// the append by the database's clock (SQLSTATE IC002). Nothing happened: the
// file written meanwhile may be gone.
type StaleError struct{}

func (e *StaleError) Error() string { return "the commit rests on facts older than its deadline" }

// ConstraintError means that an inline read model refused the commit: a name
// is taken, a parent is not empty, a location overlaps. Nothing happened.
type ConstraintError struct {
	Constraint string // name of the violated constraint
	Code       string // SQLSTATE: 23505, 23503, 23P01…
}

func (e *ConstraintError) Error() string {
	return fmt.Sprintf("constraint %s refused the commit (%s)", e.Constraint, e.Code)
}

// IdempotencyHitError means that the commit's idempotency key was used before
// by the same principal. Nothing happened now.
type IdempotencyHitError struct{ Stored Idempotency }

func (e *IdempotencyHitError) Error() string { return "the idempotency key was used before" }

// BusyError means that a lock or a connection was not had in time, or that
// the database is away and provably nothing was committed.
type BusyError struct{ Cause error }

func (e *BusyError) Error() string { return fmt.Sprintf("the log is busy: %v", e.Cause) }

// Unwrap returns the cause.
func (e *BusyError) Unwrap() error { return e.Cause }

// UnknownError means that the answer to COMMIT was lost and burning the commit
// id did not finish in time: the commit may or may not have happened (law 3).
type UnknownError struct {
	CommitID ids.ID
	Cause    error
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("the fate of commit %s is unknown: %v", e.CommitID, e.Cause)
}

// Unwrap returns the cause.
func (e *UnknownError) Unwrap() error { return e.Cause }

// HaltedError means that the sequencer stopped before a commit that breaks an
// invariant. Commits go on; positions wait for a [Store.Repair].
type HaltedError struct {
	AppendSeq int64 // number of the offending commit
	Reason    string
}

func (e *HaltedError) Error() string {
	return fmt.Sprintf("the log is halted before commit number %d: %s", e.AppendSeq, e.Reason)
}

// NotReadyError says why the log cannot serve.
type NotReadyError struct{ Reason string }

func (e *NotReadyError) Error() string { return "the log is not ready: " + e.Reason }
