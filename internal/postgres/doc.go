// Package postgres finds, fetches, starts and checks PostgreSQL.
//
// It serves three callers. `icecore dev` wants a private cluster without any
// preparation by its user: [Find] looks for binaries on the machine, then in
// the cache, and downloads them last; [Start] runs them. The tests want the
// same, plus crashes and standbys: [Server.Kill9], [StartStandby]. And
// `icecore serve`, which is given somebody else's server, wants to know
// whether that server would lose data ([CheckSettings]) or stands behind a
// pooler ([DetectPooler]).
//
// # Layout of a data folder
//
//	lock         held (flock) by the process that runs the cluster; holds its pid
//	credentials  passwords of the roles, mode 0600
//	port         the TCP port, kept so that clients' settings survive a restart
//	postgres.log what the server said
//	pgdata/      the cluster
//	run/         the Unix socket, mode 0700
//
// # Invariants
//
//   - A data folder has at most one running cluster and at most one process
//     that owns it. The lock dies with its owner, the cluster may survive it (a
//     kill -9): then the next [Start] stops what was left running.
//   - PostgreSQL never runs as root. When this process does, the server runs as
//     the user postgres, or else nobody, and everything that it must reach is
//     checked first ([UnreachableError]).
//   - Nothing unpacked is used before the SHA-256 of its archive has been
//     compared with the one pinned in this package, and an unpacked tree appears
//     under its final name by one rename, so it is whole or absent.
//   - A cluster made by one major version is never opened by another.
//   - Passwords are random, kept in the data folder alone, and appear in no
//     error and no log.
package postgres
