package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
)

func TestMetricsTellRequestsByRouteAndAppendsByOutcome(t *testing.T) {
	t.Parallel()
	m := NewMetrics("1.2.3")
	m.RequestStarted()("/v1/config", http.MethodGet, 200, 3*time.Millisecond)
	m.RequestStarted() // still running
	m.LogObserver(slog.New(slog.DiscardHandler)).Appended(time.Millisecond, "committed")
	m.Head(func(context.Context) (eventstore.Head, error) {
		return eventstore.Head{Size: 40, Seen: 50, LastDrawn: 53, Holes: []int64{7, 9}, Halted: &eventstore.HaltedError{}}, nil
	})

	m.Reports(func() int { return 12 })
	m.Queues(func(context.Context) ([]Queue, error) {
		return []Queue{{Name: "tabular_purge", Waiting: 3, Running: 1, Failed: 2, Oldest: 90 * time.Second}}, nil
	})
	m.Purges(func(context.Context) (int64, time.Duration, error) { return 3, 90 * time.Second, nil })

	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		`icecore_http_request_seconds_count{method="GET",route="/v1/config",status="200"} 1`,
		`icecore_http_requests_in_flight 1`,
		`icecore_append_seconds_bucket{outcome="committed",le="0.001"} 1`,
		`icecore_log_size 40`, `icecore_log_unsequenced 5`, `icecore_log_holes 2`, `icecore_log_halted 1`,
		`icecore_metrics_reports_waiting 12`,
		`icecore_jobs_waiting{queue="tabular_purge"} 3`, `icecore_jobs_oldest_seconds{queue="tabular_purge"} 90`,
		`icecore_jobs_running{queue="tabular_purge"} 1`, `icecore_jobs_failed{queue="tabular_purge"} 2`,
		`icecore_purges_waiting 3`, `icecore_purge_oldest_seconds 90`,
		`icecore_build_info{version="1.2.3"} 1`,
		`go_goroutines `,
	} {
		if !strings.Contains(answer.Body.String(), want) {
			t.Errorf("missing %s", want)
		}
	}
}

func TestLoggerObeysLevelAndFormat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ level, format, want string }{
		{"warn", "json", `"level":"WARN","msg":"two"`},
		{"warn", "text", `level=WARN msg=two`},
	} {
		var out strings.Builder
		log := NewLogger(&out, c.level, c.format)
		log.Info("one")
		log.Warn("two")
		if got := out.String(); strings.Contains(got, "one") || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %s", c.level, c.format, got)
		}
	}
}

func TestTracesAreOffByDefaultAndReachTheCollectorWhenOn(t *testing.T) {
	t.Parallel()
	off, err := NewTracing(t.Context(), "", "v")
	if err != nil || off.Enabled {
		t.Fatal(off, err)
	}
	if _, span := off.Provider.Tracer("x").Start(t.Context(), "y"); span.IsRecording() {
		t.Error("a span is recorded without an endpoint")
	}

	got := make(chan string, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case got <- r.URL.Path:
		default:
		}
	}))
	defer collector.Close()
	on, err := NewTracing(t.Context(), collector.URL, "v")
	if err != nil || !on.Enabled {
		t.Fatal(on, err)
	}
	_, span := on.Provider.Tracer("x").Start(t.Context(), "y")
	span.End()
	if err := on.Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	if path := <-got; path != "/v1/traces" {
		t.Errorf("sent to %s", path)
	}
}

// told is a log that answers what it is told.
type told struct{ err error }

func (l told) Append(_ context.Context, c *eventstore.Commit) (eventstore.Receipt, error) {
	return eventstore.Receipt{CommitID: c.ID, AppendSeq: 7, Records: c.Records}, l.err
}

func TestCommitsAreLoggedWithRequestAndEvents(t *testing.T) {
	t.Parallel()
	source := ids.NewV7(clock.System{})
	c := &eventstore.Commit{ID: source.New(), Records: []eventstore.Record{{ID: source.New(), Type: "dev.icecore.table.created", RequestID: source.New()}}}
	for _, k := range []struct {
		err  error
		want []string
	}{
		{nil, []string{`"level":"INFO"`, c.Records[0].RequestID.String(), c.ID.String(), "dev.icecore.table.created " + c.Records[0].ID.String()}},
		{&eventstore.ConflictError{}, nil},
	} {
		var out strings.Builder
		if _, err := LogAppends(told{k.err}, NewLogger(&out, "info", "json")).Append(t.Context(), c); !errors.Is(err, k.err) {
			t.Errorf("got %v", err)
		}
		for _, want := range k.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%v: %q misses %s", k.err, out.String(), want)
			}
		}
		if k.want == nil && out.Len() > 0 {
			t.Errorf("%v: %s", k.err, out.String())
		}
	}
}
