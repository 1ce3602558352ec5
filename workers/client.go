package workers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/documents"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// schemaName is where River's tables are.
const schemaName = "river"

// The queues. Each is polled by itself, for jobs and for its settings: there are
// few, and a new kind of job belongs in one of these unless it would keep others
// waiting.
const (
	// queuePurge has what works on a store for long.
	queuePurge = "purge"
	// queueUpkeep has what is done in a moment, or comes again by itself.
	queueUpkeep = "upkeep"
)

// Config is what workers need.
type Config struct {
	// Pool is on the primary, as the application role; jobs hold a connection for
	// moments only.
	Pool *pgxpool.Pool
	// Commands carry out the mutations that jobs bring about.
	Commands *commands.Service
	// Documents reads the metadata files of dropped tables.
	Documents *documents.Library
	Clock     clock.Clock
	Logger    *slog.Logger // nil is silent
	// PurgeRate is how many files a second this process deletes at most; 0 means
	// [DefaultPurgeRate].
	PurgeRate int
	// UndoWindow is how long the files of former states of tables are kept, where a
	// warehouse does not say otherwise.
	UndoWindow time.Duration
	// NoCleanUp leaves all metadata files in place.
	NoCleanUp bool
	// Relay publishes to destinations; nil for none.
	Relay Relay
	// Chores are what one of many processes does again and again.
	Chores []Chore

	// Tests cannot wait as long as the rest of the world.
	poll, slice, rescue, sweep, lease, beat, dead, clean, cleanSweep, rest time.Duration

	follows bool // never elected
}

// DefaultPurgeRate keeps a purge from taking the store from those who work on it.
const DefaultPurgeRate = 500

// What idle workers cost: for each queue a short statement at each poll and another
// every two seconds by which River reads the settings of the queue; the sign of
// life; and River's election and upkeep, a few in ten seconds. Nobody waits for a
// purge.
const (
	pollPurge  = 2 * time.Second
	pollUpkeep = 2 * time.Second
	// sliceTime is how long a job works before it makes way and is taken up again.
	sliceTime = 45 * time.Second
	// rescueTime is when River itself takes a job for dead, whoever runs it. What a
	// dead process ran is taken up long before ([Workers.rescue]).
	rescueTime = 10 * time.Minute
	sweepTime  = 5 * time.Minute
	// stopTime bounds the wait for jobs at the end; they end when they are told.
	stopTime = 5 * time.Second
	// startPause lies between two tries to start.
	startPause = 5 * time.Second
)

func (c *Config) defaults() {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.beat == 0 && c.dead != 0 {
		c.beat = c.dead / 3
	}
	for value, otherwise := range map[*time.Duration]time.Duration{
		&c.slice: sliceTime, &c.rescue: rescueTime, &c.sweep: sweepTime, &c.lease: leaseTime, &c.beat: beatTime, &c.dead: deadTime,
		&c.clean: cleanTime, &c.cleanSweep: cleanSweepTime, &c.rest: restTime,
	} {
		if *value == 0 {
			*value = otherwise
		}
	}
	if c.PurgeRate == 0 {
		c.PurgeRate = DefaultPurgeRate
	}
}

// queues are those that this process works on.
func (c *Config) queues() map[string]river.QueueConfig {
	list := map[string]river.QueueConfig{
		queuePurge:  {MaxWorkers: 2, FetchPollInterval: pollPurge},
		queueUpkeep: {MaxWorkers: 2, FetchPollInterval: pollUpkeep},
	}
	if c.poll != 0 {
		for name, q := range list {
			q.FetchPollInterval = c.poll
			list[name] = q
		}
	}
	return list
}

// kinds are the jobs that this process knows: one line for each file of a kind.
func (c *Config) kinds() *river.Workers {
	bundle := river.NewWorkers()
	deletions := newPace(c.Clock, c.PurgeRate)
	river.AddWorker(bundle, &purger{config: *c, pace: deletions})
	river.AddWorker(bundle, &cleaner{config: *c, pace: deletions})
	river.AddWorker(bundle, &cleanSweeper{config: *c})
	river.AddWorker(bundle, &expirer{config: *c})
	river.AddWorker(bundle, &sweeper{pool: c.Pool})
	river.AddWorker(bundle, &taskLog{pool: c.Pool})
	river.AddWorker(bundle, newChores(c.Chores))
	if c.Relay != nil {
		river.AddWorker(bundle, &publisher{relay: c.Relay})
		river.AddWorker(bundle, &publishSweeper{pool: c.Pool})
	}
	return bundle
}

// Workers run the jobs of one process.
type Workers struct {
	config Config
	client *river.Client[pgx.Tx]
	runs   *runs
}

// New returns workers that do nothing until [Workers.Run].
func New(c Config) (*Workers, error) {
	c.defaults()
	w := &Workers{config: c, runs: &runs{clock: c.Clock, list: map[int64]*run{}, ended: map[int64]time.Time{}}}
	config := &river.Config{
		ID:                          ids.NewV7(c.Clock).New().String(), // River's own would tell the host's name
		Schema:                      schemaName,
		PollOnly:                    true, // a job is inserted without a notice, and a pooler passes none
		Workers:                     c.kinds(),
		Queues:                      c.queues(),
		Middleware:                  []rivertype.Middleware{river.WorkerMiddlewareFunc(w.runs.track)},
		ErrorHandler:                alarms{w},
		RetryPolicy:                 backOff{clock: c.Clock},
		FetchCooldown:               river.FetchCooldownDefault,
		JobTimeout:                  c.slice + c.slice/2,
		RescueStuckJobsAfter:        max(c.rescue, c.slice+c.slice/2),
		CompletedJobRetentionPeriod: -1, // [forget] and [taskLog] remove what ended
		CancelledJobRetentionPeriod: -1,
		DiscardedJobRetentionPeriod: -1,
		ReindexerIndexNames:         []string{}, // the application owns no index
		Logger:                      slog.New(warnings{c.Logger.Handler()}),
	}
	if c.poll != 0 {
		config.FetchCooldown = min(config.FetchCooldown, c.poll)
	}
	if c.follows {
		config.LeaderElectionDisabled = true
	} else {
		config.PeriodicJobs = periodic(&c)
	}
	var err error
	if w.client, err = river.NewClient(riverpgxv5.New(c.Pool), config); err != nil {
		return nil, fmt.Errorf("set up the workers: %w", err)
	}
	return w, nil
}

// Run works until ctx ends, and returns when the jobs have ended, which then go
// on elsewhere or later. A database that is away is waited for.
func (w *Workers) Run(ctx context.Context) error {
	for {
		// A job is taken only by who has said that it lives.
		err := w.beat(ctx)
		if err == nil {
			err = w.client.Start(context.WithoutCancel(ctx))
		}
		if err == nil {
			break
		}
		if ctx.Err() == nil {
			w.config.Logger.WarnContext(ctx, "the workers did not start", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(startPause):
		}
	}
	var publishing sync.WaitGroup
	publishing.Go(func() { w.publishing(ctx) })
	w.live(ctx)
	publishing.Wait()
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	if err := w.client.StopAndCancel(stop); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("stop the workers: %w", err)
	}
	return nil
}

// warnings passes on what an operator has to know: River tells of its every
// step as information.
type warnings struct{ slog.Handler }

// Enabled implements slog.Handler.
func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }
