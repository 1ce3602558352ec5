// Package hammer is a load tool for any Iceberg REST catalog that verifies
// every answer it gets: a load must show the newest commit that was
// acknowledged before the load was sent, or a later one; an acknowledged
// commit must be there at the end. A catalog that is fast and wrong fails.
//
// Each table is written by one worker and read by all, so that "newest
// acknowledged" is a plain counter: the writer sets the table property
// "hammer.seq" to the next number. A 304 says that the table still stands at the
// number of the tag's load, and is held to the same rule. A number whose commit
// was refused in clear words (a 4xx) must never be seen; one whose fate the
// server could not tell may.
package hammer
