package postgres_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/icecore-catalog/icecore/internal/pgtest"
	"github.com/icecore-catalog/icecore/internal/postgres"
)

// start starts the cluster of a folder, a copy of a fresh one if there is none.
func start(t *testing.T, dir string) *postgres.Server {
	t.Helper()
	pgtest.Seed(t, dir)
	server, err := postgres.Start(t.Context(), postgres.Options{Binaries: pgtest.Binaries(t), Dir: dir, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func exec1(t *testing.T, server *postgres.Server, sql string) {
	t.Helper()
	conn, err := server.Connect(t.Context(), postgres.SuperRole, "postgres")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if _, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
}

func count(t *testing.T, server *postgres.Server) (n int) {
	t.Helper()
	conn, err := server.Connect(t.Context(), postgres.SuperRole, "postgres")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM kept").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestStartMakesAClusterAndKeepsItWithItsPort(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(pgtest.Dir(t), "data")
	first := start(t, dir)
	exec1(t, first, "CREATE TABLE kept (n int); INSERT INTO kept VALUES (1)")
	url := first.URL(postgres.SuperRole, "postgres")
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if first.PID() != 0 {
		t.Error("a stopped server has a process id")
	}
	second := start(t, dir)
	if got := second.URL(postgres.SuperRole, "postgres"); got != url && unused(t, first.Addr()) {
		t.Error("the connection string changed with a restart")
	}
	if n := count(t, second); n != 1 {
		t.Errorf("%d rows were kept", n)
	}
	if err := second.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestTCPNeedsThePasswordAndOthersCannotReadIt(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(pgtest.Dir(t), "data")
	server := start(t, dir)
	if err := server.EnsureRoles(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{postgres.SuperRole, postgres.OwnerRole, postgres.AppRole} {
		conn, err := pgx.Connect(t.Context(), server.URL(role, postgres.DefaultDatabase))
		if err != nil {
			t.Fatalf("%s can't connect: %v", role, err)
		}
		_ = conn.Close(t.Context())
		without := fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", role, server.Addr(), postgres.DefaultDatabase)
		if conn, err := pgx.Connect(t.Context(), without); err == nil {
			_ = conn.Close(t.Context())
			t.Errorf("%s connects over TCP without a password", role)
		}
	}
	for name, want := range map[string]os.FileMode{"credentials": 0o600, "run": 0o700, "pgdata": 0o700, "postgres.log": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %o, not %o", name, info.Mode().Perm(), want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "run", "password")); !errors.Is(err, os.ErrNotExist) {
		t.Error("initdb's password file was left behind")
	}
}

func TestAFolderHasOneOwner(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(pgtest.Dir(t), "data")
	server := start(t, dir)
	_, err := postgres.Start(t.Context(), postgres.Options{Binaries: pgtest.Binaries(t), Dir: dir})
	var inUse *postgres.InUseError
	if !errors.As(err, &inUse) || inUse.PID != os.Getpid() {
		t.Fatalf("a second owner got %v", err)
	}
	joined, err := postgres.Open(t.Context(), postgres.Options{Binaries: pgtest.Binaries(t), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if !joined.Attached() || joined.PID() != server.PID() || joined.Addr() != server.Addr() {
		t.Error("Open did not join the running server")
	}
	exec1(t, joined, "SELECT 1")
	if err := joined.Kill9(); !errors.Is(err, postgres.ErrAttached) {
		t.Errorf("an attached server could be killed: %v", err)
	}
	if err := joined.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	exec1(t, server, "SELECT 1") // still there
	if err := server.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := postgres.Attach(t.Context(), dir); err == nil {
		t.Error("a stopped server could be joined")
	}
	alone, err := postgres.Open(t.Context(), postgres.Options{Binaries: pgtest.Binaries(t), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if alone.Attached() {
		t.Error("nobody owns the folder, but Open attached to it")
	}
	if err := alone.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// runHelper starts a process that owns a cluster, and returns the server's
// process id.
func runHelper(t *testing.T, dir string) (*exec.Cmd, int) {
	t.Helper()
	helper := exec.Command(os.Args[0])
	helper.Env = append(os.Environ(), helperDir+"="+dir, "ICECORE_TEST_HELPER_BIN="+pgtest.Binaries(t).Dir)
	out, err := helper.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = helper.Process.Kill()
		_ = helper.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	var pid int
	if n, _ := fmt.Sscanf(line, "ready %d", &pid); err != nil || n != 1 {
		t.Fatalf("the helper said %q, %v", line, err)
	}
	return helper, pid
}

func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// waitGone waits for the end of a foreign process, which nothing announces.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !gone(pid); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d outlived its owner", pid)
		}
	}
}

func TestStartTakesOverWhatAKilledOwnerLeft(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(pgtest.Dir(t), "data")
	helper, old := runHelper(t, dir)
	if err := helper.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = helper.Wait()
	server := start(t, dir)
	waitGone(t, old)
	exec1(t, server, "SELECT 1")
	if err := server.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Where the kernel does not stop the server with its owner, it is found alive,
// perhaps too sick to stop by itself.
func TestStartTakesOverAServerThatDoesNotReact(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(pgtest.Dir(t), "data")
	orphan := start(t, dir)
	exec1(t, orphan, "CREATE TABLE kept (n int); INSERT INTO kept VALUES (1)")
	postgres.Disown(orphan)
	if err := syscall.Kill(orphan.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	// The caller's patience ends at once, so the last step comes quickly.
	if _, err := postgres.Start(ctx, postgres.Options{Binaries: pgtest.Binaries(t), Dir: dir}); err == nil {
		t.Fatal("a start succeeded after its deadline")
	}
	server := start(t, dir)
	if n := count(t, server); n != 1 {
		t.Errorf("%d rows survived the take-over", n)
	}
	if err := server.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestTheServerDiesWithItsOwner(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("only Linux tells a child of its parent's death")
	}
	helper, pid := runHelper(t, filepath.Join(pgtest.Dir(t), "data"))
	if err := helper.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = helper.Wait()
	waitGone(t, pid)
}

func TestACommitSurvivesKill9(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	exec1(t, server, "CREATE TABLE kept (n int)")
	for n := range 3 {
		exec1(t, server, fmt.Sprintf("INSERT INTO kept VALUES (%d)", n))
		old, addr := server.PID(), server.Addr()
		if err := server.Kill9(); err != nil {
			t.Fatal(err)
		}
		if server.PID() != 0 || !gone(old) {
			t.Fatal("the server outlived a kill")
		}
		if err := server.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if server.Addr() != addr && unused(t, addr) { // somebody may have taken it meanwhile
			t.Error("the address changed with a restart")
		}
		if got := count(t, server); got != n+1 {
			t.Fatalf("%d rows after crash %d", got, n+1)
		}
	}
}

func TestDoneTellsOfADeath(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	done := server.Done()
	if err := syscall.Kill(server.PID(), syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("nobody noticed that the server ended")
	}
}

func TestAnotherMajorVersionIsRefused(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(pgtest.Dir(t), "data")
	if err := start(t, dir).Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := pgtest.Binaries(t)
	made := other.Major()
	other.Version = "99.1"
	_, err := postgres.Start(t.Context(), postgres.Options{Binaries: other, Dir: dir})
	var version *postgres.VersionError
	if !errors.As(err, &version) || version.Data != made || version.Binaries != 99 {
		t.Fatalf("a cluster of version %d was opened by version 99: %v", made, err)
	}
	if major, err := postgres.DataMajor(dir); err != nil || major != made {
		t.Errorf("DataMajor is %d, %v", major, err)
	}
}

func TestABusyPortIsReplaced(t *testing.T) {
	t.Parallel()
	base := pgtest.Dir(t)
	holder := start(t, filepath.Join(base, "holder"))
	dir := filepath.Join(base, "data")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "port"), fmt.Appendln(nil, holder.Port()), 0o644); err != nil {
		t.Fatal(err)
	}
	server := start(t, dir)
	if server.Port() == holder.Port() {
		t.Error("two servers on one port")
	}
	for _, s := range []*postgres.Server{server, holder} {
		if err := s.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAFailedStartTellsTheServersWords(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(pgtest.Dir(t), "data")
	pgtest.Seed(t, dir)
	o := postgres.Options{Binaries: pgtest.Binaries(t), Dir: dir, NoSync: true, Settings: map[string]string{"shared_buffers": "much"}}
	_, err := postgres.Start(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "shared_buffers") {
		t.Fatalf("the error is %v", err)
	}
	// The folder is free again.
	if err := start(t, dir).Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestALongPathHasNoSocketButWorks(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(pgtest.Dir(t), strings.Repeat("long-", 18))
	server := start(t, dir)
	if server.SocketURL(postgres.SuperRole, "postgres") != server.URL(postgres.SuperRole, "postgres") {
		t.Error("a socket path longer than an address was offered")
	}
	exec1(t, server, "SELECT 1")
	if err := server.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestStandbyFollowsAndIsPromoted(t *testing.T) {
	t.Parallel()
	primary := pgtest.Server(t)
	exec1(t, primary, "CREATE TABLE kept (n int); INSERT INTO kept VALUES (1)")
	standby, err := postgres.StartStandby(t.Context(), primary, filepath.Join(pgtest.Dir(t), "standby"), nil)
	if err != nil {
		t.Fatal(err)
	}
	exec1(t, primary, "INSERT INTO kept VALUES (2)")
	if err := standby.CatchUp(t.Context(), primary); err != nil {
		t.Fatal(err)
	}
	if n := count(t, standby); n != 2 {
		t.Fatalf("the standby has %d rows", n)
	}
	if err := primary.Kill9(); err != nil {
		t.Fatal(err)
	}
	if err := standby.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	exec1(t, standby, "INSERT INTO kept VALUES (3)")
	if n := count(t, standby); n != 3 {
		t.Errorf("the new primary has %d rows", n)
	}
	if err := standby.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := count(t, standby); n != 3 {
		t.Errorf("after a restart the new primary has %d rows", n)
	}
	if err := standby.Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// unused reports whether nobody listens on an address.
func unused(t *testing.T, addr string) bool {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", addr)
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}
