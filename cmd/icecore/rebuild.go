package main

import (
	"context"

	"github.com/icecore-catalog/icecore/internal/app"
)

type rebuildCommand struct {
	target
	Quiet bool `short:"q" help:"No progress."`
}

// Run rebuilds the read models.
func (c rebuildCommand) Run(ctx context.Context, env environment) error {
	t, err := c.open(ctx, env)
	if err != nil {
		return err
	}
	defer t.Close()
	return app.Rebuild(ctx, t, c.Quiet, env.stdout, env.stderr)
}
