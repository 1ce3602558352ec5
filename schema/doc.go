// Package schema holds what is not Go: the migrations of the database, as
// plain SQL files that are part of the binary, and the runner that applies
// them.
//
// # Migrations
//
// The files are schema/migrations/NNNN_name.sql, applied in the order of their
// numbers, each in one transaction of its own together with the row that
// records it, so a failed file leaves nothing behind. There is no way down: a
// fault in an applied file is mended by a later file. An applied file never
// changes; its SHA-256 is recorded, and [Migrate] refuses to go on when file and
// record differ, as it refuses a database that is newer than the binary.
//
// The owner role migrates. The application role has what the files grant and
// nothing else. A file names it with the placeholder :app, which stands for the
// quoted name of the role:
//
//	GRANT SELECT, INSERT ON es.event TO :app;
//
// It is replaced wherever it is a word of its own (::app and :apples are left
// alone), also within comments and function bodies; it must not be used within a
// string literal. The role is fixed by the first migration of a database:
// [Migrate] refuses another one, since earlier grants would be missing. (To work
// as a second role, grant it membership of the first.)
//
// Many instances may migrate at once. Each step takes a transaction-level
// advisory lock and reads what is applied under it, so the lock holds behind a
// pooler in transaction mode too, where a session-level lock would be lost. No
// prepared statements are used, for the same reason.
//
// A file can't hold what PostgreSQL refuses inside a transaction (CREATE INDEX
// CONCURRENTLY, VACUUM), nor BEGIN, COMMIT or ROLLBACK of its own.
//
// Bookkeeping is in icecore_schema.migration; the application role may read it,
// so that a server can refuse to start on the wrong database ([Status]).
package schema
