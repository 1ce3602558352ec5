// Package hammer is a load tool for any Iceberg REST catalog that verifies
// every answer it gets: a load must show the newest commit that was
// acknowledged before the load was sent, or a later one; an acknowledged
// commit must be there at the end. A catalog that is fast and wrong fails.
//
// Each table is written by one worker and read by all, so that "newest
// acknowledged" is a plain counter: the writer sets the table property
// "hammer.seq" to the next number.
package hammer
