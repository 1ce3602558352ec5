// Package jetstream publishes to NATS JetStream: one stream belongs to one
// destination, and stands in the order of the log.
//
// A batch is published asynchronously, a window of messages in flight. What makes
// that safe is that no message is stored unless the one before it was: each says
// which sequence the stream has to stand at ("Nats-Expected-Last-Sequence"), from
// the place of the stream that was read when the connection was made. So a
// message that is refused, or lost with a leader, is followed by refusals, and
// the rest of its batch never lands without it. A second publisher is found out
// the same way.
//
// Where the stream has one replica, each message names beside it the id of the
// message before it ("Nats-Expected-Last-Msg-Id"). On a replicated stream it
// can't: nats-server (2.15) compares that header when a message is applied,
// after it was agreed upon, and a refusal there leaves the message's id "in
// process" and the stream stuck, for any publisher. There the id is compared
// here: a batch whose predecessor is not the stream's last event is not sent.
//
// "Nats-Msg-Id" is the event's id. After a replay, which publishes on purpose
// what the server may still remember and would drop as a duplicate, it is the
// event's id, a dot and the sequence that the stream stood at when the replay
// began; a new life of the same events, which goes on with what follows them.
// Consumers read "ce-id", which is always the event's id alone.
//
// A stream that was emptied, by its limits or by hand, has no last message to
// compare with; then the sequence alone is the guard. A stream that was never
// written to, while the destination published before, is a mismatch: it is not
// the stream that was filled.
//
// The subject is "<prefix>.<warehouse id>.<entity>.<verb>.<object id>", with "_"
// for events above warehouses. Names are never in it: they may hold spaces, dots,
// line breaks. Attributes are headers by the NATS binding of CloudEvents, binary
// mode: "ce-" and the name, values percent-encoded as in HTTP; the payload is the
// data as stored.
package jetstream
