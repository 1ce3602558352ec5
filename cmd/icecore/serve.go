package main

import (
	"context"

	"github.com/icecore-catalog/icecore/internal/app"
)

type serveCommand struct {
	settings
}

// Run serves until the process is told to end.
func (c serveCommand) Run(ctx context.Context, env environment) error {
	conf, err := c.load(env)
	if err != nil {
		return err
	}
	return app.Serve(ctx, conf, env.stderr)
}
