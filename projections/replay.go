package projections

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// EventLog is what replay and verification read; [eventstore.Store] is one.
type EventLog interface {
	// Head tells how far the log reaches.
	Head(ctx context.Context) (eventstore.Head, error)
	// ReadAfter returns up to limit entries behind a position.
	ReadAfter(ctx context.Context, position int64, limit int) ([]eventstore.Entry, error)
	FollowedLog
	// ReadStream returns up to limit entries of a stream from a version on.
	ReadStream(ctx context.Context, stream ids.ID, fromVersion int64, limit int) ([]eventstore.Entry, error)
	// WaitFor waits until events have positions.
	WaitFor(ctx context.Context, events ...ids.ID) ([]int64, error)
}

// ErasedError means that an event's payload was erased, so that what follows
// from it cannot be derived again.
type ErasedError struct {
	Position int64
	Event    ids.ID
}

func (e *ErasedError) Error() string {
	return fmt.Sprintf("the payload of event %s at position %d was erased", e.Event, e.Position)
}

// Progress hears how far a stage is; total grows while a log does.
type Progress func(stage string, done, total int64)

func (p Progress) tell(stage string, done, total int64) {
	if p != nil {
		p(stage, done, total)
	}
}

// replayer carries the log into shadow tables.
type replayer struct {
	log       EventLog
	shadow    *shadow
	documents bool // also the table of documents
	follow    *followedCheck
	guards    bool // also es.stream
	pageSize  int
	cleanUps  map[ids.ID][]startedCleanUp // with documents: those met, by object
	position  int64
	progress  Progress
	// touched hears of the rows that a page changes, once comparing began.
	touched func(*table, *rowState)
}

// changesOf are the changes of an event to all tables that are replayed.
func (r *replayer) changesOf(e *eventstore.Entry, p *page) error {
	if e.Erased {
		return &ErasedError{e.Position, e.ID}
	}
	var event catalog.Event
	var changes []change
	if r.follow != nil {
		defer func() { r.follow.fold(e, changes) }()
	}
	if catalog.EntityOf(e.Type) != catalog.EntityLog { // the log's own events move their guard only
		var err error
		if event, err = catalog.Decode(e.Type, e.DataSchema, e.Data); err != nil {
			return err
		}
		if changes, err = derive(&e.Record, event); err != nil {
			return err
		}
		if err := p.addAll(changes); err != nil {
			return err
		}
		if r.documents {
			r.noteCleanUp(e, event)
			if err := p.addAll(documentRows(&e.Record, event)); err != nil {
				return err
			}
		}
	}
	if r.guards {
		return p.addAll(deriveGuards(&e.Record, event))
	}
	return nil
}

// catchUp replays until the head, and at least to a position. Each page is a
// transaction of its own, unless there is one to work in.
func (r *replayer) catchUp(ctx context.Context, tx pgx.Tx, atLeast int64) error {
	head, err := r.log.Head(ctx)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	goal := max(head.Size, atLeast)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pages := r.readAhead(ctx, goal)
	for read := range pages {
		if read.err != nil {
			return read.err
		}
		if err := r.apply(ctx, tx, read.entries); err != nil {
			return err
		}
		r.progress.tell("replay", r.position, goal)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	if r.position < goal {
		return fmt.Errorf("replay: the log ends at %d, before %d", r.position, goal)
	}
	return nil
}

// readPage is a page of the log, or what went wrong.
type readPage struct {
	entries []eventstore.Entry
	err     error
}

// readAhead reads the next page while the last one is applied.
func (r *replayer) readAhead(ctx context.Context, goal int64) <-chan readPage {
	pages := make(chan readPage, 1)
	position := r.position
	go func() {
		defer close(pages)
		for position < goal && ctx.Err() == nil {
			limit := min(int64(r.pageSize), goal-position)
			entries, err := r.log.ReadAfter(ctx, position, int(limit))
			if err == nil && len(entries) == 0 {
				return
			}
			if err != nil {
				err = fmt.Errorf("replay: %w", err)
			} else {
				position = entries[len(entries)-1].Position
			}
			select {
			case pages <- readPage{entries, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return pages
}

// apply writes a page of the log in one transaction.
func (r *replayer) apply(ctx context.Context, tx pgx.Tx, entries []eventstore.Entry) error {
	p := newPage()
	for i := range entries {
		e := &entries[i]
		if e.Position != r.position+int64(i)+1 {
			return fmt.Errorf("replay: position %d follows %d", e.Position, r.position+int64(i))
		}
		if err := r.changesOf(e, p); err != nil {
			return fmt.Errorf("replay event %s at position %d, %s: %w", e.ID, e.Position, e.Type, err)
		}
	}
	write := func(tx pgx.Tx) error {
		if r.follow != nil {
			if err := r.follow.flush(ctx, tx); err != nil {
				return fmt.Errorf("fold %s: %w", statisticsTable, err)
			}
		}
		return r.shadow.flush(ctx, tx, p)
	}
	var err error
	if tx != nil {
		err = write(tx)
	} else {
		err = pgx.BeginFunc(ctx, r.shadow.pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, replaySettings, pgx.QueryExecModeSimpleProtocol); err != nil {
				return err
			}
			return write(tx)
		})
	}
	if err != nil {
		return fmt.Errorf("replay positions %d to %d: %w", r.position+1, r.position+int64(len(entries)), err)
	}
	r.position += int64(len(entries))
	if r.touched == nil {
		return nil
	}
	for _, t := range r.shadow.tables {
		for _, s := range p.order[t] {
			r.touched(t, s)
		}
	}
	return nil
}

// replaySettings: the shadow can be made again, so a page need not be synced;
// and the planner knows nothing yet of tables that grow under it.
const replaySettings = "SET LOCAL synchronous_commit = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL enable_seqscan = off"

// waitForVisible waits until everything that a snapshot saw has a position,
// and returns the highest of them.
func (r *replayer) waitForVisible(ctx context.Context, seen visible) (int64, error) {
	if len(seen.events) == 0 {
		return seen.size, nil
	}
	positions, err := r.log.WaitFor(ctx, seen.events...)
	if err != nil {
		return 0, fmt.Errorf("wait for the sequencer: %w", err)
	}
	return max(seen.size, slices.Max(positions)), nil
}

// visible is how far a snapshot saw: all positions up to size, and events that
// had none yet.
type visible struct {
	size   int64
	events []ids.ID
}

// readVisible asks in the snapshot of tx, which must be one of REPEATABLE READ.
func readVisible(ctx context.Context, tx pgx.Tx) (visible, error) {
	var v visible
	var seen int64
	var holes []int64
	if err := tx.QueryRow(ctx, "SELECT size, seen, holes FROM es.log_head").Scan(&v.size, &seen, &holes); err != nil {
		return visible{}, fmt.Errorf("read the head of the log: %w", err)
	}
	rows, err := tx.Query(ctx, unsequencedSQL, seen, holes)
	if err != nil {
		return visible{}, fmt.Errorf("read what has no position: %w", err)
	}
	v.events, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (ids.ID, error) {
		var id ids.ID
		err := row.Scan((*[16]byte)(&id))
		return id, err
	})
	if err != nil {
		return visible{}, fmt.Errorf("read what has no position: %w", err)
	}
	return v, nil
}

var errTooBusy = errors.New("the row changed at every look")
