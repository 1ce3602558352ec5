// Package wire is the load driver of the benchmarks: HTTP/1.1 over plain
// sockets with as little work per request as possible, so that on a machine
// shared by driver and server the figures speak of the server. It is no HTTP
// client: it understands the answers of the servers that it measures, which
// carry a Content-Length or no body.
package wire
