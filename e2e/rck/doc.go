// Command rck runs Iceberg's REST compatibility kit against Icecore and writes
// the results to docs/compatibility.md.
//
// The kit is Iceberg's own test suite for REST catalogs: a Java client with
// some 150 tests of namespaces, tables, commits and views. It is published to
// Maven Central with each release of Iceberg; pom.xml names the release and
// what it needs beside it. What the published suite cannot turn on (nested
// namespaces, slashes in names) is turned on by a subclass in java/.
//
// Each run has a fresh PostgreSQL, fresh folders and the switches that say
// what a catalog supports all on. There are four: the suite and the subclass,
// each against one icecore process and against two on one database behind a
// proxy that gives every request to the other one. After each run the log is
// verified and replayed.
//
// The tests that the kit skips are compared with skips.txt: one that is not
// listed there fails the run, and so does a listed one that was not skipped.
//
// The kit asks by name for table locations below file:/tmp (file:/tmp/ns/tbl).
// So the warehouse lies at /tmp, and the folders below it that the kit uses are
// made by the run, which refuses to start where somebody else's are in the way,
// and removed by it.
package main
