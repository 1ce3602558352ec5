package app

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"github.com/icecore-catalog/icecore/internal/postgres"
)

// urls is how a dev server reaches a database that it was given, kept in its
// data folder for the operating commands. It holds passwords.
type urls struct{ App, Owner string }

func (d dataFolder) urlsFile() string { return filepath.Join(d.root, "database.json") }

// given prepares a PostgreSQL that somebody else runs: a database icecore on
// it, with the two roles, whose passwords are new at each start.
func (d dataFolder) given(ctx context.Context, text string) (devDatabase, error) {
	c, err := parseURL("--database-url", text)
	if err != nil {
		return devDatabase{}, err
	}
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return devDatabase{}, fmt.Errorf("--database-url: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	roles := postgres.Roles{
		Owner: postgres.OwnerRole, App: postgres.AppRole, Database: postgres.DefaultDatabase,
		OwnerPassword: rand.Text(), AppPassword: rand.Text(),
	}
	if err := postgres.EnsureRoles(ctx, conn, roles); err != nil {
		return devDatabase{}, fmt.Errorf("--database-url: %w", err)
	}
	app, err := withUser(text, roles.App, roles.AppPassword, roles.Database)
	if err != nil {
		return devDatabase{}, err
	}
	owner, err := withUser(text, roles.Owner, roles.OwnerPassword, roles.Database)
	if err != nil {
		return devDatabase{}, err
	}
	kept, err := json.Marshal(urls{app, owner})
	if err != nil {
		return devDatabase{}, err
	}
	if err := os.WriteFile(d.urlsFile(), kept, 0o600); err != nil {
		return devDatabase{}, fmt.Errorf("keep the database's address: %w", err)
	}
	return devDatabase{
		appURL: app, ownerURL: owner, stop: func() {},
		about: fmt.Sprintf("PostgreSQL at %s:%d, database %s", c.Host, c.Port, roles.Database),
	}, nil
}

// withUser puts another role and database into a URL.
func withUser(text, role, password, database string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return "", errors.New("--database-url: dev needs the URL form, postgres://role:password@host:5432/database")
	}
	u.User, u.Path = url.UserPassword(role, password), "/"+database
	query := u.Query()
	for _, name := range []string{"user", "password", "dbname"} {
		query.Del(name)
	}
	u.RawQuery = query.Encode()
	return u.String(), nil
}

// givenURLs returns what given kept, if dev ran on a given database last.
func (d dataFolder) givenURLs() (urls, bool, error) {
	text, err := os.ReadFile(d.urlsFile())
	if errors.Is(err, os.ErrNotExist) {
		return urls{}, false, nil
	}
	if err != nil {
		return urls{}, false, fmt.Errorf("read the database's address: %w", err)
	}
	var u urls
	if err := json.Unmarshal(text, &u); err != nil {
		return urls{}, false, fmt.Errorf("%s is damaged", d.urlsFile())
	}
	return u, true, nil
}
