// Command chaos is the proof of delivery (./task chaos): sixteen workers commit
// through two instances of the server while instances, workers, brokers and the
// database are killed, frozen and cut off, at random from a printed seed; then
// what the clients were told, the log, what real consumers saw, the read models
// and the files are compared. It prints a table, and fails on any loss.
//
// What runs: one PostgreSQL, two `icecore serve` and one that is a worker alone,
// each behind a fault proxy of its own, a NATS server and a Kafka broker as
// processes, and a consumer of each. Every request has an id of its own, which
// its events carry: so each answer can be held against the log. Two warehouses
// are worked on: in one a drop is for good, in the other it is soft and expires
// after seconds, so that undrops race with expiries all the time.
//
// The choices (operations and faults) come from the seed; when they meet is up to
// the machine. A seed that failed goes into testdata/seeds and is run by
// `./task chaos -- -seeds`.
package main
