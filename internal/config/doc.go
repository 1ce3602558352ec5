// Package config holds every setting of the server: one struct field each,
// with its variable, default, meaning and whether it is a secret. They are
// read from the environment (ICECORE_…) and from an optional file of the same
// names, checked, and documented in docs/reference/config.md by generation.
//
// Invariants: a wrong value is an error that names its variable; the value of
// a secret appears in no error and no log line (law 6); the environment wins
// over the file; a name that no setting has is an error in the file and a
// warning in the environment, where others may put variables of their own
// (Kubernetes does for a service called icecore).
package config
