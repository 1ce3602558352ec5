// Package management serves what administers a server, below /management/v1,
// in the wire form of Lakekeeper's management API, so that its clients work
// unchanged. Members that Lakekeeper knows and this server does not do yet are
// refused where ignoring them would promise something (storage credentials),
// and left out where they only inform.
//
// The storage profile "file" is ours: {"type":"file","root":"file:///…"}.
//
// Invariant: what is served answers by the schemas of the specification in
// schema/openapi, refusals included; docs/reference/management.md lists it, and
// is made from the specification and the route table.
package management
