// Package oracle compares the metadata core with a second implementation,
// iceberg-go, over generated histories of tables and views: the same updates on
// the same document must be accepted or refused by both and give the same
// document.
//
// Where the two differ on purpose the difference is an entry of a table (see
// known_test.go, and views_test.go for views) that says which side is right and
// why. Any other difference fails; so does an entry that no history meets any
// more.
//
// It is a module of its own so that iceberg-go, and arrow with it, never
// enters the module graph of the server. Run it with
//
//	cd e2e/oracle && go test ./...
//
// The first build takes minutes. ICECORE_ORACLE_SEED and
// ICECORE_ORACLE_HISTORIES choose other histories and more of them.
package oracle
