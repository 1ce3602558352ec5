package main

import (
	"context"

	"github.com/icecore-catalog/icecore/internal/app"
)

type healthcheckCommand struct {
	settings
	URL string `help:"Ask this address instead of the one of ICECORE_LISTEN." placeholder:"URL"`
}

// Run asks the server, and exits 1 if it is not ready.
func (c healthcheckCommand) Run(ctx context.Context, env environment) error {
	conf, err := c.load(env)
	if err != nil {
		return err
	}
	return app.Healthcheck(ctx, conf.HTTP.Listen, c.URL, env.stdout)
}
