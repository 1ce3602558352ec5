package workers

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

//go:embed sql/sweep.sql
var sweepSQL string

//go:embed sql/sweep_expiry.sql
var sweepExpirySQL string

//go:embed sql/lease_sweep.sql
var leaseSweepSQL string

//go:embed sql/backlog.sql
var backlogSQL string

// sweepPage bounds one statement of the sweep.
const sweepPage = 1000

// periodic is what the elected process brings about again and again: one line for
// each.
func periodic(c *Config) []*river.PeriodicJob {
	list := []*river.PeriodicJob{
		again(c.sweep, sweepArgs{}, queueUpkeep),
		again(c.cleanSweep, cleanSweepArgs{}, queueUpkeep),
	}
	for _, chore := range c.Chores {
		list = append(list, again(chore.Every, choreArgs{Name: chore.Name}, queueUpkeep))
	}
	if c.Relay != nil {
		list = append(list, publishSweep(c.Relay))
	}
	return list
}

// again makes a job at intervals, unless the last one is still to end: one at a
// time, on one of many instances, also while the elected process changes. A new
// one makes it at once, for it does not know when the last one ran: what is done
// so must be safe to do twice.
func again(every time.Duration, args river.JobArgs, queue string) *river.PeriodicJob {
	return river.NewPeriodicJob(river.PeriodicInterval(every), func() (river.JobArgs, *river.InsertOpts) {
		return args, &river.InsertOpts{Queue: queue, MaxAttempts: periodicAttempts, UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: unended}}
	}, &river.PeriodicJobOpts{RunOnStart: true})
}

// periodicAttempts is how often periodic work is tried before somebody hears of
// it; the next interval tries again anyway.
const periodicAttempts = 5

// unended are the states of a job that will run, or does.
var unended = []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable, rivertype.JobStateRunning, rivertype.JobStateScheduled,
}

// sweepArgs ask for jobs that are missing.
type sweepArgs struct{}

// Kind implements river.JobArgs.
func (sweepArgs) Kind() string { return "sweep" }

type sweeper struct {
	river.WorkerDefaults[sweepArgs]
	pool *pgxpool.Pool
}

// Work implements river.Worker.
func (s *sweeper) Work(ctx context.Context, _ *river.Job[sweepArgs]) error {
	if _, err := sweep(ctx, s.pool); err != nil {
		return err
	}
	if _, err := s.pool.Exec(ctx, leaseSweepSQL); err != nil {
		return fmt.Errorf("forget leases of what is purged: %w", err)
	}
	if _, err := s.pool.Exec(ctx, forgetWorkersSQL); err != nil {
		return fmt.Errorf("forget workers that ended: %w", err)
	}
	return forget(ctx, s.pool)
}

// sweep inserts the jobs that are missing and returns how many they were.
func sweep(ctx context.Context, pool *pgxpool.Pool) (int64, error) {
	purges, err := sweepKind(ctx, pool, sweepSQL, PurgeArgs{}, queuePurge)
	if err != nil {
		return purges, fmt.Errorf("look for purges without a job: %w", err)
	}
	expiries, err := sweepKind(ctx, pool, sweepExpirySQL, ExpireArgs{}, queueUpkeep)
	if err != nil {
		return purges + expiries, fmt.Errorf("look for expiries without a job: %w", err)
	}
	return purges + expiries, nil
}

// sweepKind inserts the missing jobs of one kind, page by page.
func sweepKind(ctx context.Context, pool *pgxpool.Pool, sql string, args river.JobArgs, queue string) (made int64, err error) {
	for {
		tag, err := pool.Exec(ctx, sql, args.Kind(), queue, sweepPage)
		if err != nil {
			return made, err
		}
		made += tag.RowsAffected()
		if tag.RowsAffected() < sweepPage {
			return made, nil
		}
	}
}

// Backlog returns how many dropped objects wait for the deletion of their files,
// and how long the first of them has.
func (w *Workers) Backlog(ctx context.Context) (waiting int64, oldest time.Duration, err error) {
	var seconds float64
	if err := w.config.Pool.QueryRow(ctx, backlogSQL).Scan(&waiting, &seconds); err != nil {
		return 0, 0, fmt.Errorf("read what waits to be purged: %w", err)
	}
	return waiting, time.Duration(seconds * float64(time.Second)), nil
}
