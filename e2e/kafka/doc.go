// Package kafka runs one real Apache Kafka broker for tests, and tests the Kafka
// destination against it.
//
// The broker is Apache's own (KRaft: one node that is broker and controller, no
// ZooKeeper), fetched from Maven Central by pom.xml into the user's cache. It
// needs a JDK 17 or newer and Maven. It takes about ten seconds to start and 350
// MB of memory, so what runs it is an engine test: behind ICECORE_KAFKA=1, which
// `./task e2e:kafka` sets. Quick tests of the destination use kfake in their own
// process.
//
// A [Broker] can be killed, frozen and started again over the same folder, on the
// same ports. It has two listeners: what connects to [Broker.Addr] is led to the
// broker itself, what connects to [Options.Proxy] stays behind that proxy, since
// that is the address which the second listener tells its clients.
package kafka
