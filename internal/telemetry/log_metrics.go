package telemetry

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/icecore-catalog/icecore/eventstore"
)

// LogObserver counts what the log of this instance does, and logs what an
// operator must hear of: a halted feed, a new epoch, a failed round.
func (m *Metrics) LogObserver(log *slog.Logger) eventstore.Observer {
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
		m.registry.MustRegister(g)
		return g
	}
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		m.registry.MustRegister(c)
		return c
	}
	var (
		positions = counter("icecore_sequencer_positions_total", "Positions given by this instance.")
		dropped   = counter("icecore_sequencer_dropped_total", "Numbers proved to be rolled back.")
		failed    = counter("icecore_sequencer_failures_total", "Rounds that failed and are tried again.")
		halted    = counter("icecore_sequencer_halts_total", "Looks at a halted feed: alert on any.")
		lag       = gauge("icecore_sequencer_lag_seconds", "Age of the oldest event when the last round of this instance gave it its position.")
		holes     = gauge("icecore_sequencer_holes", "Numbers drawn and not yet visible, in the last round of this instance.")
		oldest    = gauge("icecore_sequencer_oldest_hole_seconds", "How long this instance has known the oldest hole.")
		rounds    = prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "icecore_sequencer_round_seconds", Help: "Time of one round of the sequencer.", Buckets: latency,
		})
	)
	shared := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "icecore_append_shared_commits", Help: "Plain commits in one shared transaction.", Buckets: []float64{1, 2, 4, 8, 16, 32, 64},
	})
	m.registry.MustRegister(rounds, shared)
	return eventstore.Observer{
		Appended: func(d time.Duration, outcome string) { m.appends.WithLabelValues(outcome).Observe(d.Seconds()) },
		Shared:   func(commits int) { shared.Observe(float64(commits)) },
		Sequenced: func(b eventstore.Batch) {
			if b.To >= b.From {
				positions.Add(float64(b.To - b.From + 1))
			}
			dropped.Add(float64(b.Dropped))
			lag.Set(b.Lag.Seconds())
			holes.Set(float64(b.Holes))
			oldest.Set(b.OldestFor.Seconds())
			rounds.Observe(b.Took.Seconds())
		},
		Halted: func(e *eventstore.HaltedError) {
			halted.Inc()
			log.Error("the feed has halted; commits go on; see icecore log repair", "reason", e.Error())
		},
		EpochOpened: func(epoch, previousSize int64) {
			log.Warn("the database's history changed (restore or fail-over): a new epoch of the log begins", "epoch", epoch, "positions_before", previousSize)
		},
		Failed: func(err error) {
			failed.Inc()
			log.Warn("a round of the sequencer failed and will be tried again", "error", err)
		},
	}
}

// headPatience bounds the one query of a scrape.
const headPatience = 2 * time.Second

// Head registers the figures of the log as the database has them, whichever
// instance sequences. They are asked for at each scrape, and missing while the
// database is away.
func (m *Metrics) Head(read func(context.Context) (eventstore.Head, error)) {
	m.registry.MustRegister(&headCollector{
		read: read,
		size: prometheus.NewDesc("icecore_log_size", "Events that have a position.", nil, nil),
		behind: prometheus.NewDesc("icecore_log_unsequenced",
			"Numbers drawn that have neither a position nor a proof that they are dead.", nil, nil),
		holes:  prometheus.NewDesc("icecore_log_holes", "Numbers below the highest one met that were not visible.", nil, nil),
		epoch:  prometheus.NewDesc("icecore_log_epoch", "Current epoch of the log.", nil, nil),
		halted: prometheus.NewDesc("icecore_log_halted", "1 while the feed stands still before a bad commit.", nil, nil),
	})
}

type headCollector struct {
	read                               func(context.Context) (eventstore.Head, error)
	size, behind, holes, epoch, halted *prometheus.Desc
}

// Describe implements [prometheus.Collector].
func (c *headCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.size, c.behind, c.holes, c.epoch, c.halted} {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *headCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), headPatience)
	defer cancel()
	head, err := c.read(ctx)
	if err != nil {
		return
	}
	gauge := func(d *prometheus.Desc, v float64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
	gauge(c.size, float64(head.Size))
	gauge(c.behind, float64(head.LastDrawn-head.Seen)+float64(len(head.Holes)))
	gauge(c.holes, float64(len(head.Holes)))
	gauge(c.epoch, float64(head.Epoch))
	stopped := 0.0
	if head.Halted != nil {
		stopped = 1
	}
	gauge(c.halted, stopped)
}
