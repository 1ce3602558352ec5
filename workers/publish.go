package workers

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
)

var (
	//go:embed sql/kick.sql
	kickSQL string
	//go:embed sql/publish_sweep.sql
	publishSweepSQL string
)

const (
	// queuePublish has kicks. They wait for nothing, so that it is polled often; and
	// it is there only while there is a destination.
	queuePublish = "publish"
	pollPublish  = time.Second
	// publishSweepTime is the safety net: how long a destination can be behind
	// without anybody's notice.
	publishSweepTime = 5 * time.Second
	// kickTime is the least time between two kicks.
	kickTime = 100 * time.Millisecond
)

// Relay publishes to destinations; [*publishers.Relay] is one. Kick returns at
// once, for each destination has its own place to work in: a job that waited for a
// broker would keep those of other destinations waiting.
type Relay interface {
	Kick(destination ids.ID)
	Destinations() int
}

// PublishArgs ask whether there is something to publish to a destination.
type PublishArgs struct {
	Destination ids.ID `json:"destination"`
}

// Kind implements river.JobArgs. It is stored: it stays.
func (PublishArgs) Kind() string { return "publish_outbox" }

type publisher struct {
	river.WorkerDefaults[PublishArgs]
	relay Relay
}

// Work implements river.Worker.
func (p *publisher) Work(_ context.Context, job *river.Job[PublishArgs]) error {
	p.relay.Kick(job.Args.Destination)
	return nil
}

// publishSweepArgs ask for kicks that are missing.
type publishSweepArgs struct{}

// Kind implements river.JobArgs.
func (publishSweepArgs) Kind() string { return "publish_sweep" }

type publishSweeper struct {
	river.WorkerDefaults[publishSweepArgs]
	pool *pgxpool.Pool
}

// Work implements river.Worker.
func (s *publishSweeper) Work(ctx context.Context, _ *river.Job[publishSweepArgs]) error {
	if _, err := s.pool.Exec(ctx, publishSweepSQL, PublishArgs{}.Kind(), queuePublish); err != nil {
		return fmt.Errorf("look for destinations that are behind: %w", err)
	}
	return nil
}

// publishSweep makes the sweep, while there is a destination.
func publishSweep(relay Relay) *river.PeriodicJob {
	return river.NewPeriodicJob(river.PeriodicInterval(publishSweepTime), func() (river.JobArgs, *river.InsertOpts) {
		if relay.Destinations() == 0 {
			return nil, nil
		}
		return publishSweepArgs{}, &river.InsertOpts{Queue: queuePublish, MaxAttempts: 1, UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: unended}}
	}, nil)
}

// publishing has the queue of kicks worked on while there is a destination, until
// ctx ends.
func (w *Workers) publishing(ctx context.Context) {
	if w.config.Relay == nil {
		return
	}
	every := publishSweepTime
	if w.config.poll != 0 {
		every = w.config.poll
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for there := false; ; {
		var err error
		switch wanted := w.config.Relay.Destinations() > 0; {
		case wanted && !there:
			err = w.client.Queues().Add(queuePublish, w.config.publishQueue())
			there = err == nil
		case !wanted && there:
			if err = w.client.Queues().Remove(ctx, queuePublish); err == nil {
				there = false
			}
		}
		if err != nil && ctx.Err() == nil {
			w.config.Logger.WarnContext(ctx, "the queue of kicks was not changed; destinations are looked at all the same", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (c *Config) publishQueue() river.QueueConfig {
	q := river.QueueConfig{MaxWorkers: 20, FetchPollInterval: pollPublish}
	if c.poll != 0 {
		q.FetchPollInterval = c.poll
	}
	return q
}

// Kicker inserts a job for each destination when the log grows. It works inside
// the sequencer, one at a time, on every instance.
//
// A destination whose lease runs needs none: who holds it hears of the log, and
// looks again every second and when the lease has ended.
type Kicker struct {
	clock clock.Clock
	last  time.Time
}

// NewKicker returns a kicker.
func NewKicker(now clock.Clock) *Kicker { return &Kicker{clock: now} }

// OnBatch is [eventstore.Config]'s.
func (k *Kicker) OnBatch(_ eventstore.Batch, writes *pgx.Batch) {
	now := k.clock.Now()
	if since := now.Sub(k.last); since >= 0 && since < kickTime {
		return // the kick before is hardly taken; and the sweep remains
	}
	k.last = now
	writes.Queue(kickSQL, PublishArgs{}.Kind(), queuePublish)
}
