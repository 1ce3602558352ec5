// Package nats runs a NATS server with JetStream as a process of its own that is
// killed, frozen and started again at its address, for what drives the whole. It
// needs nothing installed: the program runs itself ([Helper]).
package nats
