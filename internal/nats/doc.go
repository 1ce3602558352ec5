// Package nats runs a NATS server with JetStream inside this process: for
// icecore dev, whose catalog then has a destination that works without anything
// being installed, and for tests. Production connects to a NATS of its own.
//
// The server listens on the loopback interface unless told otherwise, keeps its
// streams in a folder, logs into ours, installs no signal handler and never ends
// the process.
package nats
