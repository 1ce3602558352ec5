// Package queries holds one file for each read of the catalog. A query
// resolves its facts from the primary in the request itself, decides the
// rights, and hands back stored bytes (laws 4 and 7). A metadata document is
// parsed only to leave out snapshots that no ref names, once for each state.
//
// Invariants: nothing is read from a store before the rights are decided; a
// 304 touches no document; a list never shows what the caller may not see, and
// its page token opens for the same caller and list only.
package queries
