// Package faults breaks a running catalog on purpose and then asks for proof:
// every acknowledged commit is there once, nothing was invented, the log
// verifies. The processes are real (the built icecore, a real PostgreSQL), the
// breaks are SIGKILL, SIGSTOP, lost and late answers of the database, a
// database that is away, and a full disk.
package faults
