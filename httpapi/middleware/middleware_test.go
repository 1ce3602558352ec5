package middleware

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestTraceContextIsPassedOnIfWellFormed(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		parent: parent,
		"":     "",
		"00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01":    "",
		"00-00000000000000000000000000000000-b7ad6b7169203331-01":    "",
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01":    "",
		"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01":    "",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-xx": "",
		strings.Repeat("0", 55): "",
	} {
		info := seen(t, Identify(ids.NewV7(clock.System{})), "Traceparent", sent)
		if info.TraceParent != want {
			t.Errorf("%q: %q, want %q", sent, info.TraceParent, want)
		}
	}
}

func seen(t *testing.T, m Middleware, header, value string) *wire.Info {
	t.Helper()
	var info *wire.Info
	h := m(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { info = wire.InfoOf(r.Context()) }))
	r := httptest.NewRequest(http.MethodGet, "/x", nil)
	if value != "" {
		r.Header.Set(header, value)
	}
	h.ServeHTTP(httptest.NewRecorder(), r)
	return info
}

// PyIceberg sends "Bearer None" to a server without authentication.
func TestAuthorizationIsIgnoredWhileAuthenticationIsOff(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"", "Bearer None", "Basic !!", "Bearer x.y.z"} {
		if info := seen(t, Identify(ids.NewV7(clock.System{})), "Authorization", value); info.Actor != authz.Anonymous {
			t.Errorf("%q: actor %v", value, info.Actor)
		}
	}
}

// Events name the server's own span as their parent, and a span holds neither
// the query nor a header.
func TestSpansContinueTheCallersTraceWithoutSecrets(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	var info *wire.Info
	h := Chain(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { info = wire.InfoOf(r.Context()) }),
		Trace(provider), Identify(ids.NewV7(clock.System{})))
	r := httptest.NewRequest(http.MethodGet, "/x?token=s3cret", nil)
	r.Header.Set("Traceparent", parent)
	r.Header.Set("Authorization", "Bearer s3cret")
	h.ServeHTTP(httptest.NewRecorder(), r)

	ended := spans.Ended()
	if len(ended) != 1 {
		t.Fatalf("%d spans", len(ended))
	}
	span := ended[0]
	if span.Parent().SpanID().String() != "b7ad6b7169203331" || span.SpanContext().TraceID().String() != "0af7651916cd43dd8448eb211c80319c" {
		t.Errorf("parent %v, trace %v", span.Parent().SpanID(), span.SpanContext().TraceID())
	}
	if want := "00-0af7651916cd43dd8448eb211c80319c-" + span.SpanContext().SpanID().String() + "-01"; info.TraceParent != want {
		t.Errorf("handed on %q, want %q", info.TraceParent, want)
	}
	for _, attribute := range span.Attributes() {
		if strings.Contains(attribute.Value.String(), "s3cret") {
			t.Errorf("attribute %s holds %q", attribute.Key, attribute.Value.String())
		}
	}
}

type counted struct {
	inFlight int
	route    string
	method   string
	status   int
	took     time.Duration
}

func (c *counted) RequestStarted() func(string, string, int, time.Duration) {
	c.inFlight++
	return func(route, method string, status int, took time.Duration) {
		c.inFlight--
		c.route, c.method, c.status, c.took = route, method, status, took
	}
}

func TestRequestsAreCountedByClosedSets(t *testing.T) {
	t.Parallel()
	now := clock.NewFake(time.Unix(1_700_000_000, 0))
	for _, c := range []struct {
		method, route         string
		wantMethod, wantRoute string
		answer                func(w http.ResponseWriter)
		want                  int
	}{
		{"GET", "/a/{b}", "GET", "/a/{b}", func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }, 204},
		{"GET", "", "GET", "unmatched", func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) }, 404},
		{"BREW", "", "other", "unmatched", func(w http.ResponseWriter) { _, _ = io.WriteString(w, "x") }, 200},
		{"GET", "/a", "GET", "/a", func(http.ResponseWriter) {}, 200},
	} {
		count := &counted{}
		h := Chain(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if count.inFlight != 1 {
				t.Errorf("%d in flight", count.inFlight)
			}
			wire.InfoOf(r.Context()).Template = c.route
			now.Advance(3 * time.Second)
			c.answer(w)
		}), Identify(ids.NewV7(now)), Observe(slog.New(slog.DiscardHandler), now, count))
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(c.method, "/x", nil))
		if count.route != c.wantRoute || count.method != c.wantMethod || count.status != c.want || count.took != 3*time.Second || count.inFlight != 0 {
			t.Errorf("%s %s: %+v", c.method, c.route, count)
		}
	}
}

func TestHandlersSeeTheDeadline(t *testing.T) {
	t.Parallel()
	render := func(w http.ResponseWriter, _ *http.Request, err error) { t.Errorf("rendered %v", err) }
	var cause error
	h := Limit(10, time.Millisecond, render)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		cause = r.Context().Err()
	}))
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", strings.NewReader("x")))
	if cause != context.DeadlineExceeded {
		t.Errorf("context ended with %v", cause)
	}
}

// A commit that was sent to the database is waited for beyond the deadline
// (law 3): the client must get its answer, and keep its connection.
func TestAnswerAfterTheDeadlineArrives(t *testing.T) {
	t.Parallel()
	aborted := make(chan bool, 2)
	// The outer context ends only when net/http takes the client for gone.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		late := Limit(1<<20, 20*time.Millisecond, nil)(http.HandlerFunc(func(w http.ResponseWriter, inner *http.Request) {
			_, _ = io.Copy(io.Discard, inner.Body)
			<-inner.Context().Done()
			select {
			case <-r.Context().Done():
				aborted <- true
			case <-time.After(50 * time.Millisecond): // long enough for a background read to fail
				aborted <- false
			}
			_, _ = io.WriteString(w, "done")
		}))
		late.ServeHTTP(w, r)
	}))
	defer server.Close()
	for range 2 {
		response, err := server.Client().Post(server.URL, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || string(answer) != "done" {
			t.Fatalf("the answer is %q, %v", answer, err)
		}
		if <-aborted {
			t.Fatal("the client was taken for gone when the deadline passed")
		}
	}
}
