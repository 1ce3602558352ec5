// Package httpapi is the HTTP side of the server: routing, the one place where
// errors become answers, and the middleware around both. The routes themselves
// are in icebergrest and management; they decode, call one command or query,
// and write.
//
// Invariants: names are routed on the escaped path and decoded once; every
// answer that is no success is the error model of the Iceberg specification
// with content type application/json, also for unknown routes, wrong methods,
// panics and requests that HTTP itself refuses; no handler decides a right or
// touches a store; neither logs nor errors hold a header value or a query
// string (law 6).
package httpapi
