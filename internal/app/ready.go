package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/schema"
)

// stuckAfter is how long the sequencer may be at one place with work before it.
const stuckAfter = 30 * time.Second

// readyPatience bounds the look at the database.
const readyPatience = 2 * time.Second

// checkMigrations refuses a database that lacks what this program needs.
func checkMigrations(ctx context.Context, pool *pgxpool.Pool) error {
	state, err := schema.Status(ctx, pool, schema.Options{})
	if err != nil {
		return err
	}
	if !state.Ready() {
		return fmt.Errorf("the database's schema is at %d and this program needs %d: run icecore migrate first", state.Current, state.Target)
	}
	return nil
}

// readiness says why the instance should get no traffic: the database is away
// or another one than at the start, the log has no room, the sequencer stands
// still. A halted log does not count: commits go on, and an alert tells.
func (s *server) readiness(now clock.Clock) func(context.Context) error {
	var progress progress
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, readyPatience)
		defer cancel()
		if err := checkMigrations(ctx, s.pools.read); err != nil && !errors.As(err, new(*schema.NewerError)) {
			// A newer schema is what a rolling upgrade looks like from here.
			return unready("The database does not answer as it should", err)
		}
		if err := s.store.Ready(ctx); err != nil {
			if full := (*eventstore.NotReadyError)(nil); errors.As(err, &full) {
				return unready("The log has no room: "+full.Reason, err)
			}
			return unready("The database does not answer as it should", err)
		}
		head, err := s.store.Head(ctx)
		if err != nil {
			return unready("The database does not answer as it should", err)
		}
		if stood := progress.stood(now.Now(), head); stood > stuckAfter && head.Halted == nil {
			return unready(fmt.Sprintf("The sequencer has stood still for %s", stood.Round(time.Second)), nil)
		}
		return nil
	}
}

func unready(message string, cause error) error {
	return &catalog.Error{Kind: catalog.Unavailable, Message: message, Cause: cause}
}

// progress remembers since when the sequencer has been at one place although
// there was work.
type progress struct {
	mu    sync.Mutex
	work  bool // there was some at the last look
	seen  int64
	since time.Time
}

func (p *progress) stood(now time.Time, head eventstore.Head) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	work := head.LastDrawn > head.Seen
	if !work || !p.work || head.Seen != p.seen {
		p.since = now
	}
	p.work, p.seen = work, head.Seen
	return now.Sub(p.since)
}
