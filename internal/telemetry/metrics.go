package telemetry

import (
	"net/http"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// latency are the buckets of all durations: from a cached answer to a time-out.
var latency = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// Metrics are the figures of one process. All names begin with icecore_.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
	inFlight prometheus.Gauge
	appends  *prometheus.HistogramVec
}

// NewMetrics registers the process's own figures, requests and appends.
func NewMetrics(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "icecore_http_request_seconds", Buckets: latency,
			Help: "Time to answer a request, by route, method and status.",
		}, []string{"route", "method", "status"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "icecore_http_requests_in_flight", Help: "Requests being answered.",
		}),
		appends: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "icecore_append_seconds", Buckets: latency,
			Help: "Time to append a commit to the log, by outcome.",
		}, []string{"outcome"}),
	}
	info := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "icecore_build_info", Help: "Always 1; the version is the label.",
		ConstLabels: prometheus.Labels{"version": version},
	}, func() float64 { return 1 })
	m.registry.MustRegister(m.requests, m.inFlight, m.appends, info,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler serves the figures in Prometheus' text form.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// RequestStarted counts a request in; the function that it returns counts it
// out, with its route (a template, never a path), method and status.
func (m *Metrics) RequestStarted() func(route, method string, status int, took time.Duration) {
	m.inFlight.Inc()
	return func(route, method string, status int, took time.Duration) {
		m.inFlight.Dec()
		m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Observe(took.Seconds())
	}
}

// Reports registers how many metrics reports wait to be stored.
func (m *Metrics) Reports(waiting func() int) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "icecore_metrics_reports_waiting", Help: "Metrics reports of engines that were taken and are not stored yet.",
	}, func() float64 { return float64(waiting()) }))
}

// Pool registers the figures of a connection pool under its name.
func (m *Metrics) Pool(name string, pool *pgxpool.Pool) {
	labels := prometheus.Labels{"pool": name}
	gauge := func(metric, help string, value func(*pgxpool.Stat) float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: metric, Help: help, ConstLabels: labels,
		}, func() float64 { return value(pool.Stat()) }))
	}
	counter := func(metric, help string, value func(*pgxpool.Stat) float64) {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: metric, Help: help, ConstLabels: labels,
		}, func() float64 { return value(pool.Stat()) }))
	}
	gauge("icecore_pool_connections", "Open connections.", func(s *pgxpool.Stat) float64 { return float64(s.TotalConns()) })
	gauge("icecore_pool_connections_in_use", "Connections that run a statement.", func(s *pgxpool.Stat) float64 { return float64(s.AcquiredConns()) })
	gauge("icecore_pool_connections_max", "Largest number of connections.", func(s *pgxpool.Stat) float64 { return float64(s.MaxConns()) })
	counter("icecore_pool_waits_total", "Times that a connection had to be waited for.", func(s *pgxpool.Stat) float64 { return float64(s.EmptyAcquireCount()) })
	counter("icecore_pool_wait_seconds_total", "Time spent on waiting for a connection.", func(s *pgxpool.Stat) float64 { return s.EmptyAcquireWaitTime().Seconds() })
}
