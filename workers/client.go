package workers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/documents"
)

// schemaName is where River's tables are.
const schemaName = "river"

// queuePurge is the only queue, of purges and of the sweep that makes those that
// are missing: each queue is polled by itself, for jobs and for its settings.
const queuePurge = "purge"

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

	// Tests cannot wait as long as the rest of the world.
	poll, slice, rescue, sweep, lease time.Duration

	follows bool // never elected
}

// DefaultPurgeRate keeps a purge from taking the store from those who work on it.
const DefaultPurgeRate = 500

// What idle workers cost: a short statement at each poll, another every two
// seconds by which River reads the settings of the queue, and its election and
// upkeep, a few in ten seconds. Nobody waits for a purge.
const (
	pollPurge = 2 * time.Second
	// sliceTime is how long a job works before it makes way and is taken up again.
	sliceTime = 45 * time.Second
	// rescueTime is when a job is taken for dead whose process was: longer than a
	// slice and the little that may follow it.
	rescueTime = 2 * time.Minute
	sweepTime  = 5 * time.Minute
	// keepJobs is how long a finished job can be looked at.
	keepJobs = time.Hour
	// stopTime bounds the wait for jobs at the end; they end when they are told.
	stopTime = 5 * time.Second
	// startPause lies between two tries to start.
	startPause = 5 * time.Second
)

func (c *Config) defaults() {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	for value, otherwise := range map[*time.Duration]time.Duration{
		&c.poll: pollPurge, &c.slice: sliceTime, &c.rescue: rescueTime, &c.sweep: sweepTime, &c.lease: leaseTime,
	} {
		if *value == 0 {
			*value = otherwise
		}
	}
	if c.PurgeRate == 0 {
		c.PurgeRate = DefaultPurgeRate
	}
}

// Workers run the jobs of one process.
type Workers struct {
	config Config
	client *river.Client[pgx.Tx]
}

// New returns workers that do nothing until [Workers.Run].
func New(c Config) (*Workers, error) {
	c.defaults()
	bundle := river.NewWorkers()
	river.AddWorker(bundle, &purger{config: c, pace: newPace(c.Clock, c.PurgeRate)})
	river.AddWorker(bundle, &sweeper{pool: c.Pool, every: c.sweep})
	config := &river.Config{
		Schema:   schemaName,
		PollOnly: true, // a job is inserted without a notice, and a pooler passes none
		Workers:  bundle,
		Queues: map[string]river.QueueConfig{
			queuePurge: {MaxWorkers: 2, FetchPollInterval: c.poll},
		},
		FetchCooldown:               min(river.FetchCooldownDefault, c.poll),
		JobTimeout:                  c.slice + c.slice/2,
		RescueStuckJobsAfter:        max(c.rescue, c.slice+c.slice/2),
		CompletedJobRetentionPeriod: keepJobs,
		ReindexerIndexNames:         []string{}, // the application owns no index
		Logger:                      slog.New(warnings{c.Logger.Handler()}),
	}
	if c.follows {
		config.LeaderElectionDisabled = true
	} else {
		config.PeriodicJobs = periodic(c.sweep)
	}
	client, err := river.NewClient(riverpgxv5.New(c.Pool), config)
	if err != nil {
		return nil, fmt.Errorf("set up the workers: %w", err)
	}
	return &Workers{config: c, client: client}, nil
}

// Run works until ctx ends, and returns when the jobs have ended, which then go
// on elsewhere or later. A database that is away is waited for.
func (w *Workers) Run(ctx context.Context) error {
	for {
		err := w.client.Start(context.WithoutCancel(ctx))
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
	<-ctx.Done()
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
