// Command http measures Icecore against its own ceilings, in one run on one
// PostgreSQL: a handler that only SELECTs a row by key, one that does the bare
// one-statement commit and writes one synced file, and one that writes ready
// bytes, all behind the same HTTP stack (gorilla/mux, net/http, pgx). What
// counts is the ratio; absolute rates are the machine's.
//
// It writes its tables between the markers in docs/performance.md.
package main
