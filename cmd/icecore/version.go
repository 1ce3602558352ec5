package main

import (
	"fmt"
	"runtime"

	"github.com/icecore-catalog/icecore/internal/app"
)

type versionCommand struct{}

// Run prints the version, and what built it.
func (versionCommand) Run(env environment) error {
	_, err := fmt.Fprintf(env.stdout, "icecore %s (%s, %s/%s)\n", app.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
