package schema

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// DB is a connection or a pool of the owner role.
type DB interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// Options of [Migrate].
type Options struct {
	// AppRole is the role that the server works as; it must exist and is what
	// the placeholder :app stands for. Required.
	AppRole string
	// Files holds the migrations; nil means those of this binary.
	Files fs.FS
	// Applied, if set, is called after each migration has been committed.
	Applied func(Migration)
	// Waiting, if set, is called each time when a lock was not to be had: somebody
	// reads or writes what the next migration changes. It is tried again.
	Waiting func()
}

// A State compares a database with the migrations.
type State struct {
	// Current is the highest applied version, 0 for an empty database.
	Current int
	// Target is the highest version of the files.
	Target int
	// Pending are the files that are not applied yet, in order.
	Pending []Migration
}

// Ready reports whether the database is what this binary works with.
func (s State) Ready() bool { return len(s.Pending) == 0 }

// ChangedError says that a file is not what was applied under its number.
type ChangedError struct {
	// Applied is what the database recorded, File what the binary holds.
	Applied, File Migration
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("migration %s was changed after it had been applied (recorded as %s, SHA-256 %.12s…, now %.12s…): put the old file back and add a new one",
		e.File, e.Applied, e.Applied.SHA256, e.File.SHA256)
}

// NewerError says that the database was migrated by a newer binary.
type NewerError struct {
	// Database and Binary are the highest versions of each.
	Database, Binary int
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("the database is at migration %d, newer than this binary, which knows migrations up to %d: run the newer binary", e.Database, e.Binary)
}

// OrderError says that a file comes before one that is already applied.
type OrderError struct {
	// File is the file that was not applied, Current the highest applied version.
	File    Migration
	Current int
}

func (e *OrderError) Error() string {
	return fmt.Sprintf("migration %s was not applied, although the database is already at %d: give it a higher number", e.File, e.Current)
}

// AppRoleError says that the database was migrated for another application
// role, which alone has the grants.
type AppRoleError struct {
	// Recorded is the role of the earlier migrations, Wanted the given one.
	Recorded, Wanted string
}

func (e *AppRoleError) Error() string {
	return fmt.Sprintf("the database was migrated for the application role %q, not %q: use that, or GRANT %s TO %s",
		e.Recorded, e.Wanted, pgx.Identifier{e.Recorded}.Sanitize(), pgx.Identifier{e.Wanted}.Sanitize())
}

// lockKey is the advisory lock of the migrations; any constant will do, so long
// as it stays. It spells "icecore" in ASCII.
const lockKey int64 = 0x69636563_6f7265

// bookkeeping is idempotent and runs under the lock.
const bookkeeping = `
CREATE SCHEMA IF NOT EXISTS icecore_schema;
CREATE TABLE IF NOT EXISTS icecore_schema.migration (
	version    integer PRIMARY KEY,
	name       text NOT NULL,
	sha256     text NOT NULL,
	app_role   text NOT NULL,
	applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
GRANT USAGE ON SCHEMA icecore_schema TO :app;
GRANT SELECT ON icecore_schema.migration TO :app;
`

// Migrate applies the missing migrations as the owner role and returns how the
// database then stands. It may run on any number of instances at once: one
// works, the others wait for it. Errors are [ChangedError], [NewerError],
// [OrderError], [AppRoleError], or PostgreSQL's own, with the file's name.
func Migrate(ctx context.Context, db DB, o Options) (State, error) {
	files, err := o.files()
	if err != nil {
		return State{}, err
	}
	if o.AppRole == "" {
		return State{}, errors.New("migrate: no application role was named")
	}
	for try := 1; ; try++ {
		state, applied, err := step(ctx, db, files, o.AppRole)
		if lockNotHad(err) && try < maxLockTries {
			if o.Waiting != nil {
				o.Waiting()
			}
			select {
			case <-ctx.Done():
			case <-time.After(min(time.Duration(try)*lockPause, maxLockPause)):
			}
			continue
		}
		if err != nil {
			return State{}, fmt.Errorf("migrate: %w", err)
		}
		if applied == nil {
			return state, nil
		}
		if o.Applied != nil {
			o.Applied(*applied)
		}
		try = 0
	}
}

// A migration runs beside servers. While it waits for a lock that shuts others
// out, everybody who comes after it waits, too; so it gives up early, lets
// them pass, and tries again (design 3.7: one old reader stopped all commits).
const (
	lockTimeout  = "500ms"
	lockPause    = 100 * time.Millisecond
	maxLockPause = 2 * time.Second
	maxLockTries = 100
)

func lockNotHad(err error) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && pgErr.Code == "55P03"
}

// Status compares the database with the files. Any role may ask that may read
// the bookkeeping. Errors are those of [Migrate].
func Status(ctx context.Context, db DB, o Options) (State, error) {
	files, err := o.files()
	if err != nil {
		return State{}, err
	}
	tx, err := db.Begin(ctx)
	if err != nil {
		return State{}, fmt.Errorf("read the migration status: %w", err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	var exists bool
	err = tx.QueryRow(ctx, "SELECT to_regclass('icecore_schema.migration') IS NOT NULL", pgx.QueryExecModeExec).Scan(&exists)
	if err != nil {
		return State{}, fmt.Errorf("read the migration status: %w", err)
	}
	var applied []record
	if exists {
		if applied, err = readRecords(ctx, tx); err != nil {
			return State{}, fmt.Errorf("read the migration status: %w", err)
		}
	}
	return compare(files, applied, o.AppRole)
}

func (o Options) files() ([]Migration, error) {
	if o.Files == nil {
		return load(Migrations())
	}
	return load(o.Files)
}

// step applies at most one migration and says which.
func step(ctx context.Context, db DB, files []Migration, appRole string) (State, *Migration, error) {
	tx, err := db.Begin(ctx)
	if err != nil {
		return State{}, nil, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if err := prepare(ctx, tx, appRole); err != nil {
		return State{}, nil, err
	}
	applied, err := readRecords(ctx, tx)
	if err != nil {
		return State{}, nil, err
	}
	state, err := compare(files, applied, appRole)
	if err != nil || state.Ready() {
		if err == nil {
			err = tx.Commit(ctx) // keeps the bookkeeping table when there is no file
		}
		return state, nil, err
	}
	next := state.Pending[0]
	if _, err := tx.Exec(ctx, "SELECT set_config('lock_timeout', $1, true)", pgx.QueryExecModeExec, lockTimeout); err != nil {
		return State{}, nil, err
	}
	if err := runScript(ctx, tx, next.render(appRole)); err != nil {
		return State{}, nil, fmt.Errorf("%s: %w", next, locate(next.sql, err))
	}
	_, err = tx.Exec(ctx, "INSERT INTO icecore_schema.migration (version, name, sha256, app_role) VALUES ($1, $2, $3, $4)",
		pgx.QueryExecModeExec, next.Version, next.Name, next.SHA256, appRole)
	if err != nil {
		return State{}, nil, fmt.Errorf("%s: record it: %w", next, err)
	}
	if err := tx.Commit(ctx); err != nil {
		return State{}, nil, fmt.Errorf("%s: commit it: %w", next, err)
	}
	return state, &next, nil
}

// prepare takes the lock and makes the bookkeeping.
func prepare(ctx context.Context, tx pgx.Tx, appRole string) error {
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", pgx.QueryExecModeExec, lockKey); err != nil {
		return fmt.Errorf("wait for another migration: %w", err)
	}
	var roleExists, made bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = $1),
		to_regclass('icecore_schema.migration') IS NOT NULL`, pgx.QueryExecModeExec, appRole).Scan(&roleExists, &made)
	if err != nil {
		return err
	}
	if !roleExists {
		return fmt.Errorf("the application role %q does not exist: CREATE ROLE %s LOGIN", appRole, pgx.Identifier{appRole}.Sanitize())
	}
	if made {
		return nil
	}
	if err := runScript(ctx, tx, Migration{sql: bookkeeping}.render(appRole)); err != nil {
		return fmt.Errorf("make the bookkeeping: %w", err)
	}
	return nil
}

// runScript sends several statements as one simple query.
func runScript(ctx context.Context, tx pgx.Tx, sql string) error {
	_, err := tx.Conn().PgConn().Exec(ctx, sql).ReadAll()
	if err != nil {
		return err
	}
	// A script that ends the transaction would be applied without its record.
	if tx.Conn().PgConn().TxStatus() != 'T' {
		return errors.New("the file ends the transaction it runs in")
	}
	return nil
}

// locate adds the line of a syntax error. Positions count from 1, in
// characters, and the placeholder moves them by little.
func locate(sql string, err error) error {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || pgErr.Position <= 0 {
		return err
	}
	line, left := 1, int(pgErr.Position)
	for _, r := range sql {
		if left--; left <= 0 {
			break
		}
		if r == '\n' {
			line++
		}
	}
	return fmt.Errorf("near line %d: %w", line, err)
}

// A record is one row of the bookkeeping.
type record struct {
	Migration
	appRole string
}

func readRecords(ctx context.Context, tx pgx.Tx) ([]record, error) {
	rows, err := tx.Query(ctx, "SELECT version, name, sha256, app_role FROM icecore_schema.migration ORDER BY version", pgx.QueryExecModeExec)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (record, error) {
		var r record
		err := row.Scan(&r.Version, &r.Name, &r.SHA256, &r.appRole)
		return r, err
	})
}

// compare judges a database. An empty appRole is not compared.
func compare(files []Migration, applied []record, appRole string) (State, error) {
	var state State
	if n := len(files); n > 0 {
		state.Target = files[n-1].Version
	}
	if n := len(applied); n > 0 {
		state.Current = applied[n-1].Version
		if last := applied[n-1]; appRole != "" && last.appRole != appRole {
			return state, &AppRoleError{Recorded: last.appRole, Wanted: appRole}
		}
	}
	if state.Current > state.Target {
		return state, &NewerError{Database: state.Current, Binary: state.Target}
	}
	known := make(map[int]Migration, len(applied))
	for _, r := range applied {
		known[r.Version] = r.Migration
	}
	for _, file := range files {
		old, done := known[file.Version]
		switch {
		case done && (old.SHA256 != file.SHA256 || old.Name != file.Name):
			return state, &ChangedError{Applied: old, File: file}
		case done:
			delete(known, file.Version)
		case file.Version < state.Current:
			return state, &OrderError{File: file, Current: state.Current}
		default:
			state.Pending = append(state.Pending, file)
		}
	}
	for version, old := range known {
		return state, fmt.Errorf("migration %s was applied, but this binary has no migration %d", old, version)
	}
	return state, nil
}
