package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Purges registers how many dropped tables and views wait for the deletion of
// their files, and for how long the first of them has. It is read when somebody
// asks.
func (m *Metrics) Purges(read func(context.Context) (waiting int64, oldest time.Duration, err error)) {
	m.registry.MustRegister(&purgeCollector{
		read:    read,
		waiting: prometheus.NewDesc("icecore_purges_waiting", "Dropped tables and views whose files wait to be deleted.", nil, nil),
		oldest:  prometheus.NewDesc("icecore_purge_oldest_seconds", "Time since the drop that waits longest for its purge, 0 without any.", nil, nil),
	})
}

type purgeCollector struct {
	read            func(context.Context) (int64, time.Duration, error)
	waiting, oldest *prometheus.Desc
}

// Describe implements [prometheus.Collector].
func (c *purgeCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.waiting
	ch <- c.oldest
}

// Collect implements [prometheus.Collector].
func (c *purgeCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), headPatience)
	defer cancel()
	waiting, oldest, err := c.read(ctx)
	if err != nil {
		return
	}
	ch <- prometheus.MustNewConstMetric(c.waiting, prometheus.GaugeValue, float64(waiting))
	ch <- prometheus.MustNewConstMetric(c.oldest, prometheus.GaugeValue, oldest.Seconds())
}
