// Package faultproxy is a test tool: a proxy between a PostgreSQL client and
// its server that understands just enough of the wire protocol (version 3) to
// find one kind of request, such as an append to the log, and to break it at a
// chosen moment: before the server got it, after the server executed it, or
// late. It is what proves law 3: after the swap may have happened there is no
// clean failure.
//
// A flight is what the client sends up to and including a Sync or a simple
// Query message: with a pipelined batch in an implicit transaction, the server
// commits when it reads that last message. The proxy holds a flight until it
// is complete, then asks the [Plan] what to do with it.
package faultproxy
