package middleware

import (
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// RequestIDHeader carries the request id both ways.
const RequestIDHeader = "X-Request-Id"

// Identify gives each request its id, which goes into the answer, the log and
// every event that the request causes. A UUID that the client sends is kept,
// so that his log and ours can be joined; anything else is replaced by a fresh
// UUIDv7. The W3C trace context is handed on: that of the running span, else
// the one that came in, if well-formed.
//
// The actor is [authz.Anonymous]: authentication is off, and what stands in
// Authorization is not looked at (PyIceberg sends "Bearer None").
func Identify(source ids.Source) Middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			info := &wire.Info{Actor: authz.Anonymous}
			if sent := r.Header.Get(RequestIDHeader); sent != "" { // most send none
				if id, err := ids.Parse(sent); err == nil {
					info.RequestID = id
				}
			}
			if info.RequestID.IsNil() {
				info.RequestID = source.New()
			}
			if span := trace.SpanContextFromContext(r.Context()); span.IsValid() {
				info.TraceParent = "00-" + span.TraceID().String() + "-" + span.SpanID().String() + "-" + span.TraceFlags().String()
			} else if parent := r.Header.Get("Traceparent"); wellFormed(parent) {
				info.TraceParent = parent
			}
			w.Header().Set(RequestIDHeader, info.RequestID.String())
			next.ServeHTTP(w, r.WithContext(wire.WithInfo(r.Context(), info)))
		})
	}
}

// wellFormed checks a traceparent of version 00 (W3C Trace Context 3.2):
// version, trace id, parent id and flags in lower-case hexadecimal, ids not
// all zero.
func wellFormed(s string) bool {
	if len(s) != 55 || s[:3] != "00-" || s[35] != '-' || s[52] != '-' {
		return false
	}
	for i := range s {
		if i == 2 || i == 35 || i == 52 {
			continue
		}
		if !strings.ContainsRune("0123456789abcdef", rune(s[i])) {
			return false
		}
	}
	return strings.Trim(s[3:35], "0") != "" && strings.Trim(s[36:52], "0") != ""
}
