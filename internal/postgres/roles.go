package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Roles names the two roles and the database that icecore works with, design
// section 3.7.
type Roles struct {
	// Owner owns the database and runs the migrations.
	Owner string
	// App is the role of the running server.
	App string
	// Database is created when it is missing; empty means none.
	Database string
	// OwnerPassword and AppPassword are set when not empty.
	OwnerPassword, AppPassword string
}

// EnsureRoles creates what is missing of the roles and the database, and takes
// from everybody what the database grants to everybody by default. The
// connection must belong to a superuser, or to a role that may create roles and
// databases. It may be called any number of times.
func EnsureRoles(ctx context.Context, conn *pgx.Conn, r Roles) error {
	for _, role := range []struct{ name, password string }{{r.Owner, r.OwnerPassword}, {r.App, r.AppPassword}} {
		if err := ensureRole(ctx, conn, role.name, role.password); err != nil {
			return fmt.Errorf("make the role %s: %w", role.name, err)
		}
	}
	if r.Database == "" {
		return nil
	}
	if err := ensureDatabase(ctx, conn, r); err != nil {
		return fmt.Errorf("make the database %s: %w", r.Database, err)
	}
	return nil
}

func ensureRole(ctx context.Context, conn *pgx.Conn, name, password string) error {
	var exists bool
	err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = $1)", pgx.QueryExecModeExec, name).Scan(&exists)
	if err != nil {
		return err
	}
	verb := "ALTER"
	if !exists {
		verb = "CREATE"
	}
	sql := verb + " ROLE " + quote(name) + " LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS"
	if password != "" {
		sql += " PASSWORD " + literal(password)
	} else if exists {
		return nil
	}
	_, err = conn.Exec(ctx, sql)
	return err
}

func ensureDatabase(ctx context.Context, conn *pgx.Conn, r Roles) error {
	var exists bool
	err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_catalog.pg_database WHERE datname = $1)", pgx.QueryExecModeExec, r.Database).Scan(&exists)
	if err != nil {
		return err
	}
	if !exists {
		_, err := conn.Exec(ctx, "CREATE DATABASE "+quote(r.Database)+" OWNER "+quote(r.Owner)+
			" ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0")
		if err != nil {
			return err
		}
	}
	return SealDatabase(ctx, conn, r)
}

// SealDatabase takes from everybody what PostgreSQL grants to everybody on a
// new database (connect, temporary tables) and lets the application role
// connect. A clone of a database needs it again, for grants on a database are
// not copied.
func SealDatabase(ctx context.Context, conn *pgx.Conn, r Roles) error {
	_, err := conn.Exec(ctx, "REVOKE ALL ON DATABASE "+quote(r.Database)+" FROM PUBLIC; GRANT CONNECT ON DATABASE "+
		quote(r.Database)+" TO "+quote(r.App), pgx.QueryExecModeSimpleProtocol)
	return err
}

func quote(identifier string) string { return pgx.Identifier{identifier}.Sanitize() }

// literal quotes a string for standard_conforming_strings = on, the default.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
