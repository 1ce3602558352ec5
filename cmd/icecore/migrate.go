package main

import (
	"context"

	"github.com/icecore-catalog/icecore/internal/app"
)

type migrateCommand struct {
	target
	Status bool `help:"Only say what is applied and what is missing; exit 1 if something is missing."`
}

// Run applies what is missing.
func (c migrateCommand) Run(ctx context.Context, env environment) error {
	t, err := c.open(ctx, env)
	if err != nil {
		return err
	}
	defer t.Close()
	if c.Status {
		ready, err := app.MigrationStatus(ctx, t, env.stdout)
		if err == nil && !ready {
			return errFindings
		}
		return err
	}
	return app.Migrate(ctx, t, env.stdout)
}
