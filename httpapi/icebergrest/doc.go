// Package icebergrest serves the Iceberg REST catalog protocol below
// /catalog/v1: one file a group of routes. A handler decodes the request, calls
// one command or query and writes the answer; what is allowed, what changes
// and what is stored is decided there.
//
// Invariants: only 200, 202, 204 and 304 are successes (Java takes 201 for an
// error); the endpoints that config advertises are exactly the routes that are
// served; metadata documents leave as the bytes that are stored (law 7).
package icebergrest
