// Package publishers brings the log to those who follow it elsewhere: NATS
// JetStream, Kafka, a webhook, a log file.
//
// A destination is a row: where it goes to, how far it has come, and whether it
// works. [Relay] drains one destination at a time: it takes the row's lease in
// one short transaction, reads the log after the row's place, hands up to 500
// events to the destination's transport in one call and moves the place in a
// second transaction, if the lease is still its own. No transaction is open
// while a broker is asked.
//
// A transport is a Watermill Publisher for exactly one destination, with two
// questions beside ([Transport]). What it publishes are the messages that
// [NewMessage] makes; decorators count and trace them.
//
// Invariants:
//
//   - At least once: a destination's place moves after everything up to it was
//     acknowledged, or refused for good and parked, and never otherwise.
//   - In order: what a consumer sees first is in the order of the log (of the
//     stream, where a destination has partitions), also after a refusal in the
//     middle of a batch, a lost answer or a second publisher.
//   - Nothing invented: a message is an event of the log as it is stored, its id
//     the event's.
//   - Apart: a destination that is slow, dead or full holds nobody up but itself.
package publishers
