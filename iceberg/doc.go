// Package iceberg is the metadata core for Iceberg tables, formats 1 to 3, and
// views, format 1: reading metadata documents, checking the requirements of a
// commit, applying its updates and writing the next document.
//
// It is pure: standard library only, no I/O, no clock, no randomness. Whatever
// is clock-like or random comes in through [BuildContext], so [Apply] on the
// same base, updates and context gives the same bytes; that is what replay and
// verification rest on.
//
// Invariants, each with a test:
//
//   - A document is raw JSON with a typed overlay. Members this package does
//     not know, at every level, survive a commit byte for byte. 64-bit numbers
//     never pass through a float.
//   - A [Metadata] or [ViewMetadata] never changes after it was made and may be
//     shared between goroutines. Its Bytes must not be written to.
//   - Parsing the bytes of a built document gives an equal value.
//   - What [Apply] accepts can be parsed again, by this package and by the
//     Java reference.
//   - The cost of appending a snapshot to a parsed document is one copy of its
//     bytes; the number of allocations does not depend on the number of
//     snapshots.
//   - An update list that changes nothing returns the base itself.
//
// The rules and failure texts follow the Iceberg REST specification
// (rest-catalog-open-api.yaml, TableUpdate, ViewUpdate and their requirements) and the Java
// reference implementation, whose texts clients and the compatibility kit
// compare. Where this package is deliberately more lenient or more careful
// than Java the comment beside the rule says so.
package iceberg
