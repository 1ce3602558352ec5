package main

import (
	"context"

	"github.com/icecore-catalog/icecore/internal/app"
)

type devCommand struct {
	settings
	Data        string `help:"Folder of the database and the warehouse; made when it is missing." default:"${data}" placeholder:"DIR" env:"ICECORE_DATA"`
	Listen      string `help:"Address and port to serve on." default:"127.0.0.1:8181" placeholder:"HOST:PORT"`
	Reset       bool   `help:"Delete database and warehouse in the data folder first."`
	DatabaseURL string `name:"database-url" help:"Use this PostgreSQL instead of a private one; its role must be able to create roles." placeholder:"URL" env:"DATABASE_URL"`
	NoDownload  bool   `help:"Fail rather than download PostgreSQL when none is found on this machine."`
}

// Run runs everything until the process is told to end.
func (c devCommand) Run(ctx context.Context, env environment) error {
	conf, err := c.load(env)
	if err != nil {
		return err
	}
	return app.Dev(ctx, conf, app.DevOptions{
		Data: c.Data, Listen: c.Listen, Reset: c.Reset, DatabaseURL: c.DatabaseURL, NoDownload: c.NoDownload,
		Mirror: env.get("ICECORE_PG_MIRROR"), Stdout: env.stdout, Stderr: env.stderr,
	})
}
