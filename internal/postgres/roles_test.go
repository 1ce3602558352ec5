package postgres_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/icecore-catalog/icecore/internal/pgtest"
	"github.com/icecore-catalog/icecore/internal/postgres"
)

func code(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code
	}
	return ""
}

func TestEnsureRoles(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	super, err := server.Connect(t.Context(), postgres.SuperRole, "postgres")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = super.Close(t.Context()) }()
	roles := postgres.Roles{Owner: `Own"er`, App: "app role", Database: `ice "core"`, OwnerPassword: "it's", AppPassword: `\'; DROP ROLE x`}
	for range 2 { // the second time changes nothing
		if err := postgres.EnsureRoles(t.Context(), super, roles); err != nil {
			t.Fatal(err)
		}
	}
	connect := func(role, password string) (*pgx.Conn, error) {
		config, err := pgx.ParseConfig(server.URL(postgres.SuperRole, "postgres"))
		if err != nil {
			t.Fatal(err)
		}
		config.User, config.Password, config.Database = role, password, roles.Database
		return pgx.ConnectConfig(t.Context(), config)
	}
	owner, err := connect(roles.Owner, roles.OwnerPassword)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = owner.Close(t.Context()) }()
	app, err := connect(roles.App, roles.AppPassword)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = app.Close(t.Context()) }()
	if _, err := owner.Exec(t.Context(), "CREATE SCHEMA es; CREATE TABLE es.event (n int)", pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Errorf("the owner can't make a schema: %v", err)
	}
	for _, sql := range []string{
		"CREATE SCHEMA mine", "CREATE TABLE public.mine (n int)", "CREATE TEMPORARY TABLE mine (n int)",
		"SELECT * FROM es.event", "CREATE ROLE mine", "CREATE DATABASE mine",
	} {
		if _, err := app.Exec(t.Context(), sql); code(err) != "42501" { // insufficient_privilege
			t.Errorf("the application role may %s: %v", sql, err)
		}
	}
	var encoding, collate string
	err = owner.QueryRow(t.Context(), "SELECT pg_encoding_to_char(encoding), datcollate FROM pg_database WHERE datname = current_database()").Scan(&encoding, &collate)
	if err != nil || encoding != "UTF8" || collate != "C" {
		t.Errorf("the database has encoding %s and collation %s, %v", encoding, collate, err)
	}
}

func TestCheckSettingsAsksTheSession(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, pgtest.Durable())
	if warnings, err := postgres.CheckSettings(t.Context(), db.App); err != nil || len(warnings) > 0 {
		t.Errorf("a durable server as the application role: %v, %v", warnings, err)
	}
	super := db.Connect(t, pgtest.RoleSuper)
	if warnings, err := postgres.CheckSettings(t.Context(), super); err != nil || len(warnings) != 1 {
		t.Errorf("as the superuser: %v, %v", warnings, err)
	}
	// The role's own default counts, not the server's.
	if _, err := super.Exec(t.Context(), "ALTER ROLE icecore_app SET synchronous_commit = off"); err != nil {
		t.Fatal(err)
	}
	fresh := db.Connect(t, pgtest.RoleApp)
	var settings *postgres.SettingsError
	if _, err := postgres.CheckSettings(t.Context(), fresh); !errors.As(err, &settings) || !strings.Contains(err.Error(), "synchronous_commit") {
		t.Errorf("commits that are not awaited: %v", err)
	}
}

func TestCheckSettingsRefusesTheFastTestServer(t *testing.T) {
	t.Parallel()
	var settings *postgres.SettingsError
	_, err := postgres.CheckSettings(t.Context(), pgtest.New(t).App)
	if !errors.As(err, &settings) || len(settings.Faults) != 1 || settings.Faults[0].Setting != "fsync" {
		t.Errorf("fsync = off: %v", err)
	}
}
