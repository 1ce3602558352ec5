package schema_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/icecore-catalog/icecore/internal/pgtest"
	"github.com/icecore-catalog/icecore/schema"
)

// files makes a file system of name and content, alternately.
func files(namesAndContents ...string) fstest.MapFS {
	fs := fstest.MapFS{}
	for i := 0; i < len(namesAndContents); i += 2 {
		fs[namesAndContents[i]] = &fstest.MapFile{Data: []byte(namesAndContents[i+1])}
	}
	return fs
}

var (
	one = []string{"0001_one.sql", "CREATE SCHEMA es;\nGRANT USAGE ON SCHEMA es TO :app;\nCREATE TABLE es.a (n int);"}
	two = []string{"0002_two.sql", "ALTER TABLE es.a ADD COLUMN m int; GRANT SELECT ON es.a TO :app;"}
	six = []string{"0006_six.sql", "CREATE TABLE es.six (n int)"}
)

func join(parts ...[]string) (all []string) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// empty is a database without any migration.
func empty(t *testing.T) *pgtest.DB {
	t.Helper()
	return pgtest.New(t, pgtest.Empty())
}

func migrate(t *testing.T, db *pgtest.DB, parts ...[]string) (schema.State, error) {
	t.Helper()
	return schema.Migrate(t.Context(), db.Owner, schema.Options{AppRole: string(pgtest.RoleApp), Files: files(join(parts...)...)})
}

func mustMigrate(t *testing.T, db *pgtest.DB, parts ...[]string) schema.State {
	t.Helper()
	state, err := migrate(t, db, parts...)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func TestMigrateAppliesWhatIsMissingInOrder(t *testing.T) {
	t.Parallel()
	db := empty(t)
	if state := mustMigrate(t, db, one); state.Current != 1 || !state.Ready() {
		t.Fatalf("after the first file: %+v", state)
	}
	var applied []string
	state, err := schema.Migrate(t.Context(), db.Owner, schema.Options{AppRole: string(pgtest.RoleApp), Files: files(join(one, two, six)...),
		Applied: func(m schema.Migration) { applied = append(applied, m.String()) }})
	if err != nil {
		t.Fatal(err)
	}
	if state.Current != 6 || state.Target != 6 || !state.Ready() || strings.Join(applied, " ") != "0002_two 0006_six" {
		t.Errorf("after all files: %+v, applied %v", state, applied)
	}
	if state := mustMigrate(t, db, one, two, six); state.Current != 6 {
		t.Errorf("a second time: %+v", state)
	}
}

// A migration behind an old reader lets the others pass, and gets through when
// the reader has gone.
func TestAMigrationStandsInNobodysWay(t *testing.T) {
	t.Parallel()
	db := empty(t)
	mustMigrate(t, db, one)
	reader, err := db.Owner.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Exec(t.Context(), "SELECT FROM es.a"); err != nil {
		t.Fatal(err)
	}
	waits := make(chan struct{}, 200)
	done := make(chan error, 1)
	go func() {
		_, err := schema.Migrate(t.Context(), db.Owner, schema.Options{
			AppRole: string(pgtest.RoleApp), Files: files(join(one, two)...), Waiting: func() { waits <- struct{}{} },
		})
		done <- err
	}()
	for range 2 { // it gave up twice, and whoever came in between passed
		<-waits
		if _, err := db.Owner.Exec(t.Context(), "SELECT FROM es.a"); err != nil {
			t.Fatal(err)
		}
	}
	if err := reader.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if state := mustMigrate(t, db, one, two); state.Current != 2 {
		t.Errorf("%+v", state)
	}
}

func TestTheApplicationRoleHasWhatFilesGrant(t *testing.T) {
	t.Parallel()
	db := empty(t)
	mustMigrate(t, db, one, two, six)
	if _, err := db.App.Exec(t.Context(), "SELECT n, m FROM es.a"); err != nil {
		t.Errorf("granted, but: %v", err)
	}
	for _, sql := range []string{"INSERT INTO es.a VALUES (1)", "SELECT * FROM es.six", "UPDATE icecore_schema.migration SET version = 9"} {
		if _, err := db.App.Exec(t.Context(), sql); code(err) != "42501" { // insufficient_privilege
			t.Errorf("%s as the application role: %v", sql, err)
		}
	}
	// It may look, so that a server can refuse the wrong database.
	state, err := schema.Status(t.Context(), db.App, schema.Options{Files: files(join(one, two, six)...)})
	if err != nil || state.Current != 6 || !state.Ready() {
		t.Errorf("status as the application role: %+v, %v", state, err)
	}
}

func code(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code
	}
	return ""
}

func TestStatusOfAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	db := empty(t)
	state, err := schema.Status(t.Context(), db.App, schema.Options{Files: files(join(one, two)...)})
	if err != nil || state.Current != 0 || state.Target != 2 || len(state.Pending) != 2 || state.Ready() {
		t.Errorf("%+v, %v", state, err)
	}
	var made bool
	if err := db.Owner.QueryRow(t.Context(), "SELECT to_regnamespace('icecore_schema') IS NOT NULL").Scan(&made); err != nil || made {
		t.Errorf("Status made the bookkeeping: %v, %v", made, err)
	}
}

func TestAFailedFileLeavesNothing(t *testing.T) {
	t.Parallel()
	db := empty(t)
	broken := []string{"0002_broken.sql", "CREATE TABLE es.b (n int);\n\nCREATE TABLE oops (n sorry);"}
	_, err := migrate(t, db, one, broken)
	if err == nil || !strings.Contains(err.Error(), "0002_broken") || !strings.Contains(err.Error(), "line 3") {
		t.Fatalf("the error is %v", err)
	}
	var b bool
	if err := db.Owner.QueryRow(t.Context(), "SELECT to_regclass('es.b') IS NOT NULL").Scan(&b); err != nil || b {
		t.Errorf("half of the file was applied: %v, %v", b, err)
	}
	if state := mustMigrate(t, db, one, two); state.Current != 2 {
		t.Errorf("after the repair: %+v", state)
	}
}

func TestAFileMayNotEndItsTransaction(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"COMMIT", "ROLLBACK"} {
		db := empty(t)
		if _, err := migrate(t, db, []string{"0001_end.sql", "CREATE TABLE a (n int); " + end + ";"}); err == nil || !strings.Contains(err.Error(), "ends the transaction") {
			t.Errorf("%s: %v", end, err)
		}
	}
}

func TestAWrongDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	app := string(pgtest.RoleApp)
	changed := []string{"0001_one.sql", one[1] + " "}
	renamed := []string{"0001_uno.sql", one[1]}
	for _, c := range []struct {
		name  string
		files [][]string
		role  string
		check func(error) bool
	}{
		{"a changed file", [][]string{changed, six}, app, is[*schema.ChangedError]},
		{"a renamed file", [][]string{renamed, six}, app, is[*schema.ChangedError]},
		{"a newer database", [][]string{one}, app, is[*schema.NewerError]},
		{"no files", nil, app, is[*schema.NewerError]},
		{"a file in between", [][]string{one, two, six}, app, is[*schema.OrderError]},
		{"a file is gone", [][]string{six}, app, func(err error) bool { return strings.Contains(err.Error(), "0001_one was applied") }},
		{"another role", [][]string{one, six}, string(pgtest.RoleOwner), is[*schema.AppRoleError]},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db := empty(t)
			mustMigrate(t, db, one, six)
			o := schema.Options{AppRole: c.role, Files: files(join(c.files...)...)}
			if _, err := schema.Migrate(t.Context(), db.Owner, o); err == nil || !c.check(err) {
				t.Errorf("Migrate: %v", err)
			}
			if _, err := schema.Status(t.Context(), db.Owner, o); err == nil || !c.check(err) {
				t.Errorf("Status: %v", err)
			}
		})
	}
}

func is[E error](err error) bool {
	var target E
	return errors.As(err, &target)
}

func TestAnUnknownApplicationRoleIsRefused(t *testing.T) {
	t.Parallel()
	db := empty(t)
	for _, role := range []string{"", "nobody of that name"} {
		if _, err := schema.Migrate(t.Context(), db.Owner, schema.Options{AppRole: role, Files: files(one...)}); err == nil || !strings.Contains(err.Error(), "application role") {
			t.Errorf("role %q: %v", role, err)
		}
	}
}

func TestBadNamesAreRefused(t *testing.T) {
	t.Parallel()
	db := empty(t)
	for _, names := range [][]string{
		{"1_one.sql"}, {"0001-one.sql"}, {"0001_One.sql"}, {"0001_one.txt"}, {"0000_zero.sql"}, {"0001_one.sql", "0001_two.sql"}, {"README.md"},
	} {
		var all []string
		for _, n := range names {
			all = append(all, n, "SELECT 1")
		}
		if _, err := schema.Migrate(t.Context(), db.Owner, schema.Options{AppRole: string(pgtest.RoleApp), Files: files(all...)}); err == nil {
			t.Errorf("%q were accepted", names)
		}
	}
}

// Several instances start at once, each over connections of its own.
func TestInstancesMigrateTogether(t *testing.T) {
	t.Parallel()
	db := empty(t)
	parts := []string{}
	for n := 1; n <= 12; n++ {
		parts = append(parts, fmt.Sprintf("%04d_n.sql", n), fmt.Sprintf("CREATE TABLE t%d (n int); SELECT pg_sleep(0.002)", n))
	}
	var applied atomic.Int32
	var group sync.WaitGroup
	for range 6 {
		conn := db.Connect(t, pgtest.RoleOwner)
		group.Go(func() {
			state, err := schema.Migrate(context.Background(), conn, schema.Options{AppRole: string(pgtest.RoleApp), Files: files(parts...),
				Applied: func(schema.Migration) { applied.Add(1) }})
			if err != nil || !state.Ready() || state.Current != 12 {
				t.Errorf("%+v, %v", state, err)
			}
		})
	}
	group.Wait()
	if n := applied.Load(); n != 12 {
		t.Errorf("12 files were applied %d times", n)
	}
}

func TestThePlaceholderIsAWord(t *testing.T) {
	t.Parallel()
	db := empty(t)
	if _, err := db.Connect(t, pgtest.RoleSuper).Exec(t.Context(), `DO $$ BEGIN CREATE ROLE "odd ""role"; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$`); err != nil {
		t.Fatal(err)
	}
	sql := `CREATE DOMAIN app AS text; CREATE DOMAIN apples AS text;
CREATE TABLE a (n text DEFAULT 'x'::app, m text DEFAULT 'y'::apples);
GRANT SELECT ON a TO :app;
GRANT INSERT ON a TO
:app, :app;`
	if _, err := schema.Migrate(t.Context(), db.Owner, schema.Options{AppRole: `odd "role`, Files: files("0001_a.sql", sql)}); err != nil {
		t.Fatal(err)
	}
	var may bool
	if err := db.Owner.QueryRow(t.Context(), `SELECT has_table_privilege('odd "role', 'a', 'SELECT') AND has_table_privilege('odd "role', 'a', 'INSERT')`).Scan(&may); err != nil || !may {
		t.Errorf("the odd role has its grants: %v, %v", may, err)
	}
}

// The files of this binary, as the owner and on a database of its own.
func TestOwnMigrations(t *testing.T) {
	t.Parallel()
	db := empty(t)
	o := schema.Options{AppRole: string(pgtest.RoleApp)}
	state, err := schema.Migrate(t.Context(), db.Owner, o)
	if err != nil || !state.Ready() || state.Current != state.Target || state.Target == 0 {
		t.Fatalf("%+v, %v", state, err)
	}
	// The owner is all that is needed: it is no superuser.
	var super bool
	err = db.Owner.QueryRow(t.Context(), "SELECT rolsuper OR rolcreaterole OR rolcreatedb FROM pg_roles WHERE rolname = current_user").Scan(&super)
	if err != nil || super {
		t.Errorf("the owner is more than an owner: %v, %v", super, err)
	}
	// No extension is needed, and nothing is where others could shadow it.
	rows, err := db.Owner.Query(t.Context(), `SELECT extname FROM pg_extension WHERE extname <> 'plpgsql'
		UNION ALL SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace`)
	if err != nil {
		t.Fatal(err)
	}
	strays, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(strays) > 0 {
		t.Errorf("strays: %v, %v", strays, err)
	}
}
