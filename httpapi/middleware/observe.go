package middleware

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/internal/clock"
)

// Observer counts requests.
type Observer interface {
	// RequestStarted counts a request in; the function that it returns counts
	// it out. route is a template, or "unmatched"; method is a standard one, or
	// "other": both come from small closed sets.
	RequestStarted() func(route, method string, status int, took time.Duration)
}

// longestPath bounds the path in a log line.
const longestPath = 512

// Observe writes one access log line a request and tells the observer, which
// may be nil. The line holds the path but neither the query nor any header:
// both may hold tokens (law 6). Probes are logged at debug level.
func Observe(log *slog.Logger, now clock.Clock, observer Observer) Middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			start := now.Now()
			ended := func(string, string, int, time.Duration) {}
			if observer != nil {
				ended = observer.RequestStarted()
			}
			rec := recording(w)
			defer func() {
				// In a defer, so that an aborted answer is counted too.
				finish(r, log, ended, rec, now.Now().Sub(start))
			}()
			next.ServeHTTP(rec, r)
		})
	}
}

func finish(r *http.Request, log *slog.Logger, ended func(string, string, int, time.Duration), rec *recorder, took time.Duration) {
	info := wire.InfoOf(r.Context())
	status, method := rec.status, r.Method
	if status == 0 {
		status = http.StatusOK // net/http says so for a handler that wrote nothing
	}
	if errors.Is(r.Context().Err(), context.Canceled) {
		status = 499 // the client hung up; nginx's number, for lack of a standard one
	}
	route := info.Template
	if route == "" {
		route = "unmatched"
		switch method {
		case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		default:
			method = "other"
		}
	}
	ended(route, method, status, took)
	level := slog.LevelInfo
	switch info.Operation {
	case "health", "ready", "metrics":
		level = slog.LevelDebug
	}
	if !log.Enabled(r.Context(), level) {
		return
	}
	path := r.URL.EscapedPath()
	if len(path) > longestPath {
		path = path[:longestPath] + "…"
	}
	attrs := []slog.Attr{
		slog.String("request_id", info.RequestID.String()),
		slog.String("method", method),
		slog.String("route", route),
		slog.String("path", path),
		slog.Int("status", status),
		slog.Int64("bytes", rec.bytes),
		slog.Float64("ms", float64(took.Microseconds())/1000),
	}
	if info.TraceParent != "" {
		attrs = append(attrs, slog.String("traceparent", info.TraceParent))
	}
	if info.Failure != nil && status < 500 {
		attrs = append(attrs, slog.String("refused", info.Failure.Error()))
	}
	log.LogAttrs(r.Context(), level, "request", attrs...)
}
