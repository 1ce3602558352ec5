package eventstore

import "time"

// Observer receives what the log measures. Each callback may be nil, is called
// from several goroutines, and must return at once. No callback gets a name,
// a token or a payload (law 6).
type Observer struct {
	// Appended: one call of Append ended. Outcome is one of committed,
	// conflict, closed, stale, constraint, idempotency-hit, busy, unknown, error.
	Appended func(d time.Duration, outcome string)
	// Shared: so many plain commits went in one transaction, which is 1 for one
	// that found nobody to share with.
	Shared func(commits int)
	// Sequenced: one round of the sequencer of this instance committed.
	Sequenced func(b Batch)
	// Halted: the sequencer stopped before a bad commit; called again for each
	// look at a halted log, so that an alert can't be missed.
	Halted func(e *HaltedError)
	// EpochOpened: the database's history changed (restore, fail-over).
	EpochOpened func(epoch, previousSize int64)
	// Failed: a round of the sequencer failed and will be tried again.
	Failed func(err error)
}

// Batch is what one round of the sequencer did.
type Batch struct {
	From, To  int64 // positions given, To < From if none
	Epoch     int64
	LogTime   time.Time
	Lag       time.Duration // age of the oldest event in the batch, 0 if none
	Backlog   int64         // numbers drawn and not yet looked at
	Holes     int           // numbers met as missing and not yet settled
	OldestFor time.Duration // how long this instance has known the oldest hole
	Dropped   int           // holes proved to be rolled back
	Took      time.Duration
}
