// Package projections holds the read models: what commands and queries decide
// on, derived from the log.
//
// A table is one of three classes (see [Tables]): derived tables come from the
// log alone and are rebuilt and compared; operational ones are never rebuilt;
// caches may be emptied at any time. A test fails on a table that has no class.
//
// [Inline] returns the projector whose row changes are part of each commit.
// One function, derive, says what an event does to the rows of every derived
// table; inline projection and [Replay] both carry out its changes, so that a
// rebuilt table can only differ from a live one if somebody tampered with
// either. derive reads nothing but the event: no table, clock, sequence or
// random source.
//
// [NewResolver] answers what a request wants to know about its object, its
// ancestors, their marks and the database's clock in one statement, which
// requests that wait at the same moment share.
//
// Invariants: every derived row carries the version of the event that last
// changed it; version, metadata pointer and mark of an object live in es.stream
// alone; a cache is keyed by (object, mark) and by nothing that can change;
// no long job holds a snapshot: replay, comparison and verification page in
// short transactions.
package projections
