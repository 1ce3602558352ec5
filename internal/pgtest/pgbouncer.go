package pgtest

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/icecore-catalog/icecore/internal/postgres"
)

// A Bouncer is a running PgBouncer in front of one test database.
type Bouncer struct {
	program, dir string
	port         int
	database     string
	cmd          *exec.Cmd
}

// bouncerPool is how many server connections a Bouncer has for each role: few,
// so that clients share them. In session mode nothing is shared: there it has
// what one server opens, and some more.
func bouncerPool(mode string) int {
	if mode == "session" {
		return 32
	}
	return 3
}

// PgBouncer starts PgBouncer in front of a database. The mode is PgBouncer's
// pool_mode: "session", "transaction" or "statement". A maxPrepared above 0 sets
// max_prepared_statements, which needs PgBouncer 1.21. It is stopped after the
// test. Without PgBouncer (Debian: apt-get install pgbouncer) the test is
// skipped, and under CI=true it fails.
func PgBouncer(t testing.TB, db *DB, mode string, maxPrepared int) *Bouncer {
	t.Helper()
	b := &Bouncer{program: findBouncer(t, maxPrepared), dir: Dir(t), database: db.Name}
	var err error
	if b.port, err = postgres.FreePort(t.Context()); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	b.configure(t, db, mode, maxPrepared)
	b.Start(t)
	t.Cleanup(func() { b.Stop(t) })
	return b
}

func findBouncer(t testing.TB, maxPrepared int) string {
	t.Helper()
	lacking := func(format string, args ...any) {
		t.Helper()
		if os.Getenv("CI") == "true" {
			t.Fatalf("pgtest: "+format, args...)
		}
		t.Skipf("pgtest: "+format, args...)
	}
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer" // not on everybody's PATH
		if _, err := os.Stat(program); err != nil {
			lacking("PgBouncer is not installed; Debian: apt-get install -y pgbouncer")
		}
	}
	if maxPrepared > 0 {
		out, err := exec.Command(program, "--version").Output()
		var major, minor int
		if _, scanErr := fmt.Sscanf(string(out), "PgBouncer %d.%d", &major, &minor); err != nil || scanErr != nil || major == 1 && minor < 21 {
			lacking("prepared statements need PgBouncer 1.21, not %q", strings.SplitN(string(out), "\n", 2)[0])
		}
	}
	return program
}

func (b *Bouncer) configure(t testing.TB, db *DB, mode string, maxPrepared int) {
	t.Helper()
	server, err := pgx.ParseConfig(db.cluster.socketURL(RoleApp, db.Name))
	if err != nil {
		t.Fatal("pgtest: the connection string is not valid")
	}
	lines := []string{
		"[databases]",
		fmt.Sprintf("%s = host=%s port=%d dbname=%s", db.Name, server.Host, server.Port, db.Name),
		"[pgbouncer]",
		"listen_addr = 127.0.0.1",
		fmt.Sprintf("listen_port = %d", b.port),
		"unix_socket_dir =",
		"auth_type = trust",
		"auth_file = " + filepath.Join(b.dir, "users.txt"),
		"pool_mode = " + mode,
		"max_client_conn = 500",
		fmt.Sprintf("default_pool_size = %d", bouncerPool(mode)),
		"server_reset_query = DISCARD ALL",
		"server_round_robin = 1", // a client meets another session soon
		"logfile = " + filepath.Join(b.dir, "pgbouncer.log"),
	}
	if maxPrepared > 0 {
		lines = append(lines, fmt.Sprintf("max_prepared_statements = %d", maxPrepared))
	}
	var users strings.Builder
	for _, role := range []Role{RoleApp, RoleOwner, RoleSuper} {
		config, err := pgx.ParseConfig(db.URL(role))
		if err != nil {
			t.Fatal("pgtest: the connection string is not valid")
		}
		fmt.Fprintf(&users, "%q %q\n", config.User, config.Password)
	}
	for name, text := range map[string]string{"pgbouncer.ini": strings.Join(lines, "\n") + "\n", "users.txt": users.String(), "pgbouncer.log": ""} {
		path := filepath.Join(b.dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatalf("pgtest: %v", err)
		}
		if err := os.Chmod(path, 0o666); err != nil { // another user reads and writes it
			t.Fatalf("pgtest: %v", err)
		}
	}
}

// Start starts a stopped PgBouncer on its old port.
func (b *Bouncer) Start(t testing.TB) {
	t.Helper()
	b.cmd = exec.Command(b.program, "-q", filepath.Join(b.dir, "pgbouncer.ini"))
	b.cmd.Dir = "/"
	postgres.Unprivileged(b.cmd)
	if err := b.cmd.Start(); err != nil {
		t.Fatalf("pgtest: start PgBouncer: %v", err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		conn, err := net.Dial("tcp", b.Addr())
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(filepath.Join(b.dir, "pgbouncer.log"))
			t.Fatalf("pgtest: PgBouncer does not answer: %s", log)
		}
	}
}

// Stop breaks all connections through PgBouncer and stops it.
func (b *Bouncer) Stop(t testing.TB) {
	t.Helper()
	if b.cmd == nil {
		return
	}
	if err := b.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("pgtest: stop PgBouncer: %v", err)
	}
	_ = b.cmd.Wait() // it was told to end
	b.cmd = nil
}

// Addr is the host and port of PgBouncer.
func (b *Bouncer) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(b.port)) }

// URL is the connection string of a role through PgBouncer.
func (b *Bouncer) URL(role Role) string {
	u := url.URL{Scheme: "postgres", User: url.User(string(role)), Host: b.Addr(), Path: "/" + b.database, RawQuery: "sslmode=disable"}
	return u.String()
}
