// Package kafkatest reads a topic as its consumers do, with another library than
// the one that publishes, for tests against kfake and against a real broker.
package kafkatest
