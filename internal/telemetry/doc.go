// Package telemetry is what the server tells about itself: structured logs,
// Prometheus metrics and, where a collector is named, OpenTelemetry traces.
//
// Invariants: no name, token, path or text of a tenant becomes a label or an
// attribute (law 6): requests are counted by route, failures by type. Nothing
// here runs inside a database transaction or delays a request.
package telemetry
