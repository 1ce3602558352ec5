package eventstore

import (
	"context"
	"time"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// Record is one event as the log stores it. Everything but Data is small and
// fixed; Data is kept verbatim, byte for byte, because its hash is part of the
// leaf (design 3.6).
type Record struct {
	ID          ids.ID    // UUIDv7, the CloudEvents id
	Stream      ids.ID    // stream id, also the CloudEvents partitionkey
	StreamType  string    // entity: "table", "namespace"…; first half of the CloudEvents subject
	Version     int64     // version of the stream after this event; the first is 1
	Type        string    // "dev.icecore.<entity>.<past-tense-verb>"
	DataSchema  string    // URI of the JSON Schema that Data obeys
	Time        time.Time // when it happened by the injected clock, microseconds, UTC
	Actor       ids.ID    // pseudonym of the caller; never a name (law 6)
	RequestID   ids.ID    // the HTTP request or job that caused it
	Causation   ids.ID    // event that caused it, or Nil
	CommitID    ids.ID    // the commit that it is part of
	CommitIndex int       // place in that commit, from 0
	CommitSize  int       // number of records in that commit
	Warehouse   ids.ID    // Nil for events above a warehouse
	Project     ids.ID    // Nil for events above a project
	TraceParent string    // W3C trace context, outside the leaf; may be empty
	Data        []byte    // JSON, verbatim
}

// Entry is a record with its place in the log, which only the sequencer gives.
type Entry struct {
	Record
	Position  int64     // gapless, from 1; Merkle leaf index is Position-1
	Epoch     int64     // one unbroken history of positions
	AppendSeq int64     // number drawn by the commit's seal
	LogTime   time.Time // max(previous, now) at sequencing: monotone in Position
	Leaf      [32]byte  // hash defined in leaf.go
	Erased    bool      // the payload was erased; Data is nil, the leaf still stands

	dataSHA256 [32]byte // as stored; survives the erasure
}

// Limits of a commit.
const (
	// MaxCommitAge is how long a commit may rest on the facts of its Resolve,
	// by the database's clock. The clean-up of files that no commit names
	// waits far longer (24 hours), so a frozen process that wakes up can't
	// commit a file that was taken for an orphan.
	MaxCommitAge = 10 * time.Minute
	// MaxRecords bounds the records of one commit.
	MaxRecords = 1000
)

// Mode says how a commit touches a stream.
type Mode int

const (
	// Held locks a parent against change (FOR SHARE), whatever its version; it must
	// not be closed.
	Held Mode = iota
	// Asserted locks a stream against change (FOR SHARE) and checks its version.
	Asserted
	// Advanced checks version and pointer and moves both, with the mark.
	Advanced
	// Created inserts the stream's guard row at the version of its last record.
	Created
	// Shifted checks version and pointer and moves the life of a stream (dormant,
	// closed) and its mark, and not its version: an event of another stream in the
	// commit speaks for this one, as that of a namespace does for all in its tree.
	Shifted
)

// Stream is one guard row of a commit. All streams of a commit are locked in
// one order, by id, whatever their mode (design 3.2).
type Stream struct {
	ID   ids.ID
	Type string // entity; needed for Created
	Mode Mode
	// Version expected now (Asserted, Advanced, Shifted).
	Version int64
	// Pointer expected now and Next pointer to set (Advanced, Shifted, Created).
	// Empty means none (SQL NULL).
	Pointer, NextPointer string
	// SpokenFor is the id of the record that speaks for a Shifted stream.
	SpokenFor ids.ID
	// Dormant says that the stream is expected to be dormant, that is
	// soft-dropped. A dormant stream refuses every commit that does not expect
	// it ([ClosedError]): nothing is created below it, nothing advances it but
	// undrop and expiry. NextDormant is its state afterwards (Advanced, Shifted,
	// Created): a soft drop sets it, an undrop clears it.
	Dormant, NextDormant bool
	// Exclusive takes FOR UPDATE on this row in place of the mode's weaker
	// lock: for life-cycle commands (drop, move, deactivate), which must wait
	// for and shut out creations below. The row keeps its place in the order
	// of ids: exclusive rows locked ahead of the others would deadlock two
	// moves that cross. Implied by Close and by a change of Dormant.
	Exclusive bool
	// Close ends the stream: no later commit may advance or hold it.
	Close bool
}

// exclusive reports whether the row must be locked FOR UPDATE.
func (s Stream) exclusive() bool {
	return s.Exclusive || s.Close || (s.Mode == Advanced && s.Dormant != s.NextDormant) || s.Mode == Shifted
}

// Idempotency is the claim of an Idempotency-Key, inserted in the commit. A
// twin that finds the row gets [IdempotencyHitError].
type Idempotency struct {
	Principal ids.ID   // scope: keys of different callers never meet
	Key       ids.ID   // the header's UUID
	Operation string   // route name, e.g. "createTable"
	Digest    [32]byte // SHA-256 over operation, path parameters and body
	Status    int      // HTTP status to answer again
	Object    ids.ID   // object whose state answers a replay, or Nil
	Pointer   string   // metadata location at that time, or empty
	Response  []byte   // small answer kept verbatim, where state cannot give it again; nil otherwise
	ExpiresAt time.Time
}

// Rank orders the row writes of a commit by relation, so that all commits take
// locks in one order: names, then locations, then the other read models.
type Rank int

// The ranks of inline read models, in lock order.
const (
	RankNames     Rank = 10
	RankLocations Rank = 20
	RankModels    Rank = 30
)

// Write is one queued SQL statement of an inline projector. Statements of one
// rank and key run in the order of queueing.
type Write struct {
	Rank Rank
	Key  string // sort key inside the rank, compared bytewise: folded name, location…
	SQL  string
	Args []any
	// Rows is the number of rows that the statement must touch; -1 accepts any.
	// Another number aborts the commit with [ConflictError]. A statement with
	// a number is one INSERT, UPDATE or DELETE, perhaps behind a WITH clause,
	// and has no RETURNING clause of its own.
	Rows int
}

// Writes collects the statements of all projectors for one commit.
type Writes struct{ list []Write }

// Add queues one statement.
func (w *Writes) Add(s Write) { w.list = append(w.list, s) }

// All returns the queued statements in the order of queueing.
func (w *Writes) All() []Write { return w.list }

// Projector turns the records of one commit into row writes of an inline read
// model, executed inside the commit. It may not read, nor ask a clock, a
// random source or a sequence: replay must give the same rows (design 5).
type Projector interface {
	Project(c *Commit, w *Writes) error
}

// Commit is one atomic unit of the log: all of it happens or none.
type Commit struct {
	// ID is made by the caller before the first attempt and never used for
	// another content: it is what gets burned when the answer is lost.
	ID          ids.ID
	Idempotency *Idempotency
	// ResolvedAt is the database's clock in the Resolve on which this commit
	// rests; older than 10 minutes refuses it (IC002). Zero skips the check.
	ResolvedAt time.Time
	Streams    []Stream
	// Records in order, at most [MaxRecords]. Append fills, in place, CommitID,
	// CommitIndex, CommitSize, and Version (from the stream's expected version,
	// counting up); also ID and Time where they are zero.
	Records []Record
}

// Receipt is the proof that a commit happened. It holds no position: that
// exists a few milliseconds later (see Log.WaitFor).
type Receipt struct {
	CommitID  ids.ID
	AppendSeq int64
	Records   []Record
}

// Log is what the rest of the program sees of the store.
type Log interface {
	// Append commits c or returns one of: [ConflictError] (a guard was lost;
	// reload and try again), [StaleError], [ClosedError], [ConstraintError],
	// [IdempotencyHitError], [BusyError] (a lock was not had in time, nothing
	// happened), [UnknownError] (the fate could not be learnt; nothing may be
	// cleaned up). Appending a commit again that did happen returns its receipt.
	Append(ctx context.Context, c *Commit) (Receipt, error)
}
