package app

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"

	"github.com/icecore-catalog/icecore/internal/config"
	"github.com/icecore-catalog/icecore/internal/postgres"
)

// Target is the database that an operating command works on. Its URLs hold
// passwords: do not print it.
type Target struct {
	appURL   string
	ownerURL string // empty if only the application role is known
	config   config.Config
	data     *dataFolder // of a dev server; nil for a database that was named
	stop     func()
}

// ErrNoTarget means that neither a database nor a data folder was named.
var ErrNoTarget = errors.New("which database? Set " + config.Prefix + "DATABASE_URL, or name the folder of a dev server with --data")

// OpenTarget chooses the database: the dev server's in data if that is not
// empty, else the configured one, else the dev server's in [DefaultData] if
// there is such a folder. A PostgreSQL that doesn't run is started until Close.
func OpenTarget(ctx context.Context, c config.Config, data string) (*Target, error) {
	if data == "" && c.Database.URL != "" {
		return &Target{appURL: c.Database.URL.Reveal(), ownerURL: c.Database.OwnerURL.Reveal(), config: c, stop: func() {}}, nil
	}
	if data == "" {
		if _, err := os.Stat(DefaultData); err != nil {
			return nil, ErrNoTarget
		}
		data = DefaultData
	}
	folder, err := openDataFolder(data)
	if err != nil {
		return nil, err
	}
	c.Catalog.FileRoots = append(c.Catalog.FileRoots, folder.warehouse())
	if kept, ok, err := folder.givenURLs(); err != nil {
		return nil, err
	} else if ok {
		return &Target{appURL: kept.App, ownerURL: kept.Owner, config: c, data: &folder, stop: func() {}}, nil
	}
	server, err := folder.open(ctx)
	if err != nil {
		return nil, err
	}
	return &Target{
		appURL:   server.SocketURL(postgres.AppRole, postgres.DefaultDatabase),
		ownerURL: server.SocketURL(postgres.OwnerRole, postgres.DefaultDatabase),
		config:   c,
		data:     &folder,
		stop:     func() { _ = server.Stop(context.WithoutCancel(ctx)) },
	}, nil
}

// Close stops what OpenTarget started.
func (t *Target) Close() { t.stop() }

// owner connects as the role that owns the database.
func (t *Target) owner(ctx context.Context) (*pgx.Conn, error) {
	if t.ownerURL == "" {
		return nil, &config.ValueError{Variable: config.Prefix + "DATABASE_OWNER_URL", Problem: "is needed for this: the role that owns the database"}
	}
	return connect(ctx, config.Prefix+"DATABASE_OWNER_URL", t.ownerURL)
}

// connect opens one connection. variable names the setting in errors; the URL
// itself is never part of one.
func connect(ctx context.Context, variable, url string) (*pgx.Conn, error) {
	c, err := parseURL(variable, url)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", variable, err)
	}
	return conn, nil
}

// parseURL reads a connection string without ever repeating it: it may hold a
// password in a place where the parser does not look for one.
func parseURL(variable, url string) (*pgx.ConnConfig, error) {
	if url == "" {
		return nil, &config.ValueError{Variable: variable, Problem: "is not set"}
	}
	c, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, &config.ValueError{Variable: variable, Problem: "is no PostgreSQL URL (postgres://role@host:5432/database)"}
	}
	if _, named := c.RuntimeParams["application_name"]; !named {
		c.RuntimeParams["application_name"] = "icecore"
	}
	return c, nil
}
