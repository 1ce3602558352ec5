// Package kafkaproxy is a test tool: a proxy between a Kafka client and one
// broker that understands the frames of the protocol, and breaks chosen requests
// at a chosen moment: before the broker got them, or after it answered. It is what
// shows whether an answer that was lost loses, doubles or reorders messages.
//
// Clients are led to the addresses that brokers tell them, so the broker has to
// be told to tell the proxy's.
package kafkaproxy
