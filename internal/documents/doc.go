// Package documents is the one home, in memory, of table metadata documents
// and of the opened stores they are read from. Commits find their parsed base
// here and leave its successor; loads find the bytes that they splice.
//
// Invariants:
//
//   - Every key is immutable: a document by (object id, mark), a store by the
//     mark of its warehouse (law 4). What was last seen at a path is only a
//     hint: Resolve says in each request whether it still stands.
//   - A [Document] never changes what it says, so it may be used after it was
//     forgotten. In which forms it is kept does change.
//   - The bytes kept are bounded; the least recently used are folded to their
//     packed form, then forgotten.
//   - Nothing here is the truth. Everything may be dropped at any time.
package documents
