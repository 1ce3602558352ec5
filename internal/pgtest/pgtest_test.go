package pgtest_test

import (
	"bufio"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/icecore-catalog/icecore/internal/pgtest"
	"github.com/icecore-catalog/icecore/internal/postgres"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestDatabasesAreSeparate(t *testing.T) {
	t.Parallel()
	for i := range 6 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			if _, err := db.Owner.Exec(t.Context(), "CREATE TABLE public.only_here (n int)"); err != nil {
				t.Fatal(err)
			}
			// The application role came with the grants of the migrations, and
			// without those that PostgreSQL gives to everybody.
			if _, err := db.App.Exec(t.Context(), "SELECT version FROM icecore_schema.migration"); err != nil {
				t.Error(err)
			}
			if _, err := db.App.Exec(t.Context(), "CREATE TEMPORARY TABLE mine (n int)"); err == nil {
				t.Error("the application role may make temporary tables")
			}
			for role, url := range map[pgtest.Role]string{pgtest.RoleApp: db.URL(pgtest.RoleApp), pgtest.RoleOwner: db.URL(pgtest.RoleOwner)} {
				conn, err := pgx.Connect(t.Context(), url)
				if err != nil {
					t.Fatal(err)
				}
				var user, name string
				err = conn.QueryRow(t.Context(), "SELECT current_user, current_database()").Scan(&user, &name)
				if err != nil || user != string(role) || name != db.Name {
					t.Errorf("%s works as %s in %s, %v", role, user, name, err)
				}
				_ = conn.Close(t.Context())
			}
		})
	}
}

func TestDurableKeepsData(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, pgtest.Durable())
	if _, err := db.Owner.Exec(t.Context(), "CREATE TABLE public.kept (n int)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Server().Kill9(); err != nil {
		t.Fatal(err)
	}
	if err := db.Server().Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn := db.Connect(t, pgtest.RoleOwner)
	if _, err := conn.Exec(t.Context(), "INSERT INTO public.kept VALUES (1)"); err != nil {
		t.Error(err)
	}
	if pgtest.New(t).Server() != nil {
		t.Error("a test may kill the shared server")
	}
}

// again runs one test of this binary in another process.
func again(t *testing.T, test string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$", "-test.v")
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	return cmd
}

// TestHang is run by another process, which TestAKilledRunIsSweptUp kills
// meanwhile; here it has nothing to do.
func TestHang(t *testing.T) {
	if os.Getenv("ICECORE_TEST_HANG") == "" {
		return
	}
	db := pgtest.New(t)
	var dir string
	if err := db.Connect(t, pgtest.RoleSuper).QueryRow(t.Context(), "SHOW data_directory").Scan(&dir); err != nil {
		t.Fatal(err)
	}
	fmt.Println("cluster", filepath.Dir(dir))
	select {}
}

func TestAKilledRunIsSweptUp(t *testing.T) {
	t.Parallel()
	run := again(t, "TestHang", "ICECORE_TEST_HANG=1")
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	var dir string
	for lines := bufio.NewScanner(out); dir == "" && lines.Scan(); {
		if after, ok := strings.CutPrefix(lines.Text(), "cluster "); ok {
			dir = after
		}
	}
	_ = run.Process.Signal(syscall.SIGKILL)
	_ = run.Wait()
	if dir == "" {
		t.Fatal("the other run made no cluster")
	}
	pgtest.Server(t) // any new folder sweeps first
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("%s was left behind", dir)
	}
}

func TestAGivenServerIsUsedAndLeftAsItWas(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	given, err := url.Parse(server.URL(postgres.SuperRole, "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	run := again(t, "TestDatabasesAreSeparate", "ICECORE_TEST_PG="+given.String())
	out, err := run.Output()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestDatabasesAreSeparate") {
		t.Fatalf("%v\n%s", err, out)
	}
	conn, err := pgx.Connect(t.Context(), given.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	var left, logged int
	err = conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_database WHERE datname LIKE 'icecore_test%'").Scan(&left)
	if err != nil || left != 0 {
		t.Errorf("%d databases were left behind, %v", left, err)
	}
	err = conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_roles WHERE rolname LIKE 'icecore%'").Scan(&logged)
	if err != nil || logged != 2 {
		t.Errorf("the tests did not run there: %d roles, %v", logged, err)
	}
}
