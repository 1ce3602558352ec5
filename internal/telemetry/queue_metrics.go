package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Queue is what a queue of jobs stands at.
type Queue struct {
	Name                     string
	Waiting, Running, Failed int64
	Oldest                   time.Duration
}

// Queues registers what the queues of jobs stand at. It is read when somebody
// asks.
func (m *Metrics) Queues(read func(context.Context) ([]Queue, error)) {
	label := []string{"queue"}
	m.registry.MustRegister(&queueCollector{
		read:    read,
		waiting: prometheus.NewDesc("icecore_jobs_waiting", "Jobs that are due, or failed and to be tried again.", label, nil),
		oldest:  prometheus.NewDesc("icecore_jobs_oldest_seconds", "How long the first of the waiting jobs has waited, 0 without any.", label, nil),
		running: prometheus.NewDesc("icecore_jobs_running", "Jobs that run now.", label, nil),
		failed:  prometheus.NewDesc("icecore_jobs_failed", "Jobs that used up their attempts and wait for somebody to look.", label, nil),
	})
}

type queueCollector struct {
	read                             func(context.Context) ([]Queue, error)
	waiting, oldest, running, failed *prometheus.Desc
}

// Describe implements [prometheus.Collector].
func (c *queueCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.waiting, c.oldest, c.running, c.failed} {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *queueCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), headPatience)
	defer cancel()
	queues, err := c.read(ctx)
	if err != nil {
		return
	}
	for _, q := range queues {
		for desc, value := range map[*prometheus.Desc]float64{
			c.waiting: float64(q.Waiting), c.oldest: q.Oldest.Seconds(), c.running: float64(q.Running), c.failed: float64(q.Failed),
		} {
			ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, q.Name)
		}
	}
}
