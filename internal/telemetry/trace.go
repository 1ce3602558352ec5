package telemetry

import (
	"context"
	"fmt"
	"net/url"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Tracing is the provider of traces, the form in which requests carry their
// context, and the function that flushes what is left at the end. Without an
// endpoint the provider does nothing and Enabled is false.
type Tracing struct {
	Enabled    bool
	Provider   trace.TracerProvider
	Propagator propagation.TextMapPropagator
	Stop       func(context.Context) error
}

// NewTracing sends traces to the OTLP endpoint (HTTP), or makes none when it
// is empty.
func NewTracing(ctx context.Context, endpoint, version string) (*Tracing, error) {
	if endpoint == "" {
		return &Tracing{
			Provider: noop.NewTracerProvider(), Propagator: propagation.TraceContext{},
			Stop: func(context.Context) error { return nil },
		}, nil
	}
	// As with OTEL_EXPORTER_OTLP_ENDPOINT, the endpoint is the collector's base.
	target, err := url.JoinPath(endpoint, "v1", "traces")
	if err != nil {
		return nil, fmt.Errorf("set up OpenTelemetry: %w", err)
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(target))
	if err != nil {
		return nil, fmt.Errorf("set up OpenTelemetry: %w", err)
	}
	about := resource.NewSchemaless(
		attribute.String("service.name", "icecore"),
		attribute.String("service.version", version),
	)
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return &Tracing{true, provider, propagation.TraceContext{}, provider.Shutdown}, nil
}
