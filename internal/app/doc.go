// Package app puts the parts together: the server for production, the sandbox
// of icecore dev, and the operating commands. It decides nothing about the
// catalog; what is wired to what is written here by hand, once, to be read from
// top to bottom (server.go).
//
// Invariants: nothing starts before what it needs is known to be usable
// (settings of the database, migrations, configured authorization); what was
// started is stopped in the reverse order, and a request that was accepted is
// finished; dev leaves no process behind.
package app
