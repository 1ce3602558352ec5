package main

import (
	"context"

	"github.com/icecore-catalog/icecore/internal/app"
	"github.com/icecore-catalog/icecore/internal/config"
)

// settings are the flags of every subcommand that reads the configuration.
type settings struct {
	Config string `help:"File of settings (NAME=value lines); the environment wins over it." placeholder:"FILE"`
}

// load reads and checks the settings, and logs warnings in plain words.
func (s settings) load(env environment) (config.Config, error) {
	c, warnings, err := config.Load(env.environ, s.Config)
	for _, w := range warnings {
		env.warn(w)
	}
	if err != nil {
		return c, usageError{err}
	}
	return c, nil
}

// target are the flags that choose the database of an operating command.
type target struct {
	settings
	Data string `help:"Data folder of a dev server, running or not. Default: ${data}, if it exists and ICECORE_DATABASE_URL is not set." placeholder:"DIR"`
}

// open finds the database; the caller closes it.
func (t target) open(ctx context.Context, env environment) (*app.Target, error) {
	c, err := t.load(env)
	if err != nil {
		return nil, err
	}
	return app.OpenTarget(ctx, c, t.Data)
}
