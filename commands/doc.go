// Package commands holds one file for each mutation of the catalog. A command
// reads like its sentence in the design: resolve the facts, decide the rights,
// decide the change, write the metadata file, append to the log. attempt.go is
// the one retry loop: a lost race reloads, re-checks the client's requirements
// and applies the updates to the new base.
//
// Invariants: nothing is written before the rights are decided; a metadata
// file is durable before the pointer moves to it; after an append whose fate
// is unknown no file is deleted and the answer is CommitStateUnknown (law 3);
// every location that is read or written lies below a claim of the object
// (law 5).
package commands
