package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/icecore-catalog/icecore/publishers"
)

// RelayObserver counts what this instance publishes: published is what its
// decorator calls. Labels are the name and the kind of a destination, of which
// operators make few.
func (m *Metrics) RelayObserver() (_ publishers.Observer, published func(name, kind string, messages, taken int, took time.Duration)) {
	counter := func(name, help string, more ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append([]string{"destination", "kind"}, more...))
		m.registry.MustRegister(c)
		return c
	}
	var (
		events    = counter("icecore_destination_published_total", "Events that a destination took from this instance.")
		failures  = counter("icecore_destination_failures_total", "Failures of a destination that are tried again, by reason: connect, publish, mismatch, fenced, hangs.", "reason")
		parked    = counter("icecore_destination_parked_total", "Events that a destination refused for good and that were put aside by this instance.")
		halted    = counter("icecore_destination_halts_total", "Events that a destination refused for good and stopped at: alert on any.")
		corrected = counter("icecore_destination_corrections_total", "Times that a place was set to where the destination stands: after lost answers and fail-overs.")
		phantoms  = counter("icecore_destination_phantoms_total", "Times that a destination was found to hold events that the log lost in a fail-over: alert on any.")
	)
	batches := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "icecore_destination_batch_seconds", Buckets: latency, Help: "Time that a destination takes for a batch of up to 500 events.",
	}, []string{"destination", "kind"})
	m.registry.MustRegister(batches)
	return publishers.Observer{
			Failed: func(name, kind string, reason publishers.Reason) {
				failures.WithLabelValues(name, kind, string(reason)).Inc()
			},
			Parked:    func(name, kind string) { parked.WithLabelValues(name, kind).Inc() },
			Halted:    func(name, kind string) { halted.WithLabelValues(name, kind).Inc() },
			Corrected: func(name, kind string) { corrected.WithLabelValues(name, kind).Inc() },
			Phantoms:  func(name, kind string) { phantoms.WithLabelValues(name, kind).Inc() },
		}, func(name, kind string, _, taken int, took time.Duration) {
			events.WithLabelValues(name, kind).Add(float64(taken))
			batches.WithLabelValues(name, kind).Observe(took.Seconds())
		}
}

// DestinationFigures are how a destination is doing, whichever instance publishes
// to it.
type DestinationFigures struct {
	Name, Kind        string
	LagEvents         int64
	LagSeconds        float64 // since its next event came to its place in the log
	Failures          int     // in a row
	Parked, Published int64
	Halted, Paused    bool
}

// Destinations registers the figures of destinations. They are read at each
// scrape, and missing while the database is away.
func (m *Metrics) Destinations(read func(context.Context) ([]DestinationFigures, error)) {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, []string{"destination", "kind"}, nil)
	}
	m.registry.MustRegister(&destinationCollector{read, []destinationMetric{
		{desc("icecore_destination_lag_events", "Events of the log that a destination has not settled; those that its filter leaves out count until they are looked at."), func(d *DestinationFigures) float64 { return float64(d.LagEvents) }},
		{desc("icecore_destination_lag_seconds", "How long the next event of a destination has been in the log; 0 without one."), func(d *DestinationFigures) float64 { return d.LagSeconds }},
		{desc("icecore_destination_failures", "Failures in a row of a destination."), func(d *DestinationFigures) float64 { return float64(d.Failures) }},
		{desc("icecore_destination_parked", "Events that a destination refused for good and that are put aside."), func(d *DestinationFigures) float64 { return float64(d.Parked) }},
		{desc("icecore_destination_published", "Events that a destination took from all instances."), func(d *DestinationFigures) float64 { return float64(d.Published) }},
		{desc("icecore_destination_halted", "1 while a destination stands still before an event that it refused."), func(d *DestinationFigures) float64 { return flag(d.Halted) }},
		{desc("icecore_destination_paused", "1 while an operator has paused a destination."), func(d *DestinationFigures) float64 { return flag(d.Paused) }},
	}})
}

func flag(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

type destinationMetric struct {
	desc  *prometheus.Desc
	value func(*DestinationFigures) float64
}

type destinationCollector struct {
	read    func(context.Context) ([]DestinationFigures, error)
	metrics []destinationMetric
}

// Describe implements [prometheus.Collector].
func (c *destinationCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range c.metrics {
		ch <- m.desc
	}
}

// Collect implements [prometheus.Collector].
func (c *destinationCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), headPatience)
	defer cancel()
	list, err := c.read(ctx)
	if err != nil {
		return
	}
	for i := range list {
		for _, m := range c.metrics {
			ch <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, m.value(&list[i]), list[i].Name, list[i].Kind)
		}
	}
}
