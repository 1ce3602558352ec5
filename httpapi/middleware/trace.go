package middleware

import (
	"net/http"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Trace opens a span for each request, as a child of the incoming W3C trace
// context. Without a provider it is nothing at all.
func Trace(provider trace.TracerProvider) Middleware {
	if provider == nil {
		return func(next http.Handler) http.Handler { return next }
	}
	return otelhttp.NewMiddleware("icecore",
		otelhttp.WithTracerProvider(provider),
		otelhttp.WithPropagators(propagation.TraceContext{}),
		otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string { return r.Method }),
	)
}
