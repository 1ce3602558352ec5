//go:build !unix

package nats

import "os"

// lock holds nothing where there is no flock.
func lock(string) (*os.File, error) { return nil, nil }
