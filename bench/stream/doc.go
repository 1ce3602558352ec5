// Command stream measures how fast the log reaches those who follow it: from an
// event to its consumer on NATS and on Kafka, a destination that catches up from
// nothing, what destinations cost the commits, and the read models rebuilt from
// the log. It writes the table of docs/performance.md between its markers.
//
// Server, database, brokers, consumers and driver share the machine.
package main
