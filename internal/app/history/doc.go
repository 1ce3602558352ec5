// Package history shows the event log to people: lists it, shows one event,
// follows it, and says what changed between two positions. It reads events
// alone; no read model and no metadata document is looked at, so that what it
// says is what the log says.
//
// Invariants: nothing is shown that the log doesn't hold; an event that this
// program can't read is shown as such, never passed over; text of tenants is
// escaped, so that it can neither break a table's lines nor drive a terminal.
package history
