// Package publishertest is what every kind of destination has to pass: [Run]
// checks the promises of publishers.Transport against a real destination, of
// which it knows nothing but the port, what a consumer of it reads, and what it
// is capable of ([Capabilities], which are data: a suite that asked no further
// would either skip what matters or demand what cannot be).
//
// It drives a transport as the relay does, with the simplest relay there can be
// ([Deliver]): prepare, publish, and after a failure prepare again and publish
// what was not taken, asking [publishers.Transport.Last] after a mismatch.
package publishertest
