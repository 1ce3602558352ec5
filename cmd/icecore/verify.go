package main

import (
	"context"
	"errors"

	"github.com/icecore-catalog/icecore/internal/app"
)

// errFindings says that a check found something; it has been printed.
var errFindings = errors.New("something is wrong")

type verifyCommand struct {
	target
	Replay bool `help:"Also fold each table's updates anew and compare with its document."`
	Quiet  bool `short:"q" help:"Print findings only, no progress."`
}

// Run checks everything and exits 1 on a finding.
func (c verifyCommand) Run(ctx context.Context, env environment) error {
	t, err := c.open(ctx, env)
	if err != nil {
		return err
	}
	defer t.Close()
	clean, err := app.Verify(ctx, t, app.VerifyOptions{Replay: c.Replay, Quiet: c.Quiet}, env.stdout, env.stderr)
	if err == nil && !clean {
		return errFindings
	}
	return err
}
