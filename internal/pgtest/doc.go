// Package pgtest gives tests a real PostgreSQL.
//
// A package that uses it hands its tests to [Main]:
//
//	func TestMain(m *testing.M) { pgtest.Main(m) }
//
// and each test takes a database of its own, migrated and empty:
//
//	func TestAppend(t *testing.T) {
//		t.Parallel()
//		db := pgtest.New(t)
//		_, err := db.App.Exec(t.Context(), "…")
//
// There is one cluster per test process, made by the first test that asks, in
// memory where the machine allows it, without fsync. Databases are clones of a
// template that is migrated once. Fault tests that kill, promote or need fsync
// take a server of their own ([Server], [Durable]).
//
// # Which PostgreSQL
//
// ICECORE_TEST_PG is a major version ("15", "18"), a folder with initdb and
// postgres, or the URL of a server where the role may create databases and
// roles. Unset, it is the first PostgreSQL found on the machine, or a downloaded
// one. Without any, tests are skipped, and under CI=true they fail.
//
// # Invariants
//
//   - Tests work as the application role (DB.App); the owner's and the
//     superuser's connections are for what only they may do.
//   - Nothing outlives the tests: Main stops the cluster, after a panic the
//     kernel does, and the next run removes the folders of runs that were killed.
package pgtest
