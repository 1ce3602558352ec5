// Package natstest gives tests a NATS server with JetStream: in the process of
// the test ([Start]), or as a process of its own that is killed and frozen
// ([StartProcess]; the test binary runs itself, so that nothing has to be
// installed or built), and a [Proxy] before it, whose address outlives restarts
// and which can lose what the server answers.
package natstest
