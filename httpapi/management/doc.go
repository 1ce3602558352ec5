// Package management serves what administers a server, below /management/v1,
// in the wire form of Lakekeeper's management API, so that its clients work
// unchanged. Members that Lakekeeper knows and this server does not do yet are
// refused where ignoring them would promise something (soft deletion, storage
// credentials), and left out where they only inform.
//
// The storage profile "file" is ours: {"type":"file","root":"file:///…"}.
package management
