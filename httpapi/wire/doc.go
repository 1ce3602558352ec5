// Package wire holds what every HTTP route shares and no route decides: how a
// path segment, a query parameter, a header and a JSON body are read, and how
// an answer is written.
//
// Invariants: a name is decoded exactly once, from the escaped path; a body is
// read once, validated once and handed on as slices of that one buffer;
// explicit null means absent; nothing here parses a metadata document (law 7).
package wire
