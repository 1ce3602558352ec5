// Package webhook posts events to an HTTPS endpoint.
//
// A request carries a batch in CloudEvents' batched JSON
// (application/cloudevents-batch+json), in the order of the log. An event's data
// stand in it byte for byte as they are in the log, so that its leaf can be
// computed from what was received; data that JSON cannot carry so stand in
// data_base64. A request follows the last one's acknowledgement, any answer of 2xx.
//
// # Signature
//
// Every request is signed as Standard Webhooks has it: webhook-id,
// webhook-timestamp (seconds) and webhook-signature, which is "v1," and the
// base64 of HMAC-SHA256 over "<id>.<timestamp>.<body>". While a secret is being
// replaced there are two, and a signature by each, separated by a blank. The
// webhook-id is the same when the same events are sent again.
//
// # What answers mean
//
// Where the endpoint is away, slow or overloaded (no answer, 408, 425, 429, 5xx),
// and where it refuses the caller and not the message (401, 403, 404, 405, 410 and
// the like, and redirects, which are never followed), the batch is tried again
// later; Retry-After is obeyed, up to an hour. Where it refuses the message (400,
// 409, 413, 415, 422, 431 and other codes of the four hundreds), the batch is
// halved until the refused event stands alone and all before it are acknowledged.
// An endpoint may have seen some of a batch that it refused: events come again
// with their ids.
//
// # Where requests go to
//
// Whoever may make a destination must not reach what only the server can reach. So
// the address is checked when a connection is made, after its name was resolved:
// no loopback, private, link-local, shared or reserved network, unless the server's
// operator allows private ones; cloud metadata services never. No proxy is used,
// and what the endpoint answers is neither kept nor told.
package webhook
