// Package middleware wraps the router: identity of a request, access log and
// metrics, recovery from panics, limits on size and time, tracing. Nothing in
// it knows a route; how an error looks is handed in as a [Renderer].
package middleware
