package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/internal/pgtest"
	"github.com/icecore-catalog/icecore/internal/postgres"
)

// dev starts icecore dev on a free port.
func dev(t *testing.T, data string, args ...string) *running {
	t.Helper()
	return start(t, nil, append([]string{"dev", "--data", data, "--listen", "127.0.0.1:0"}, args...)...)
}

// postmaster returns the process id of the folder's PostgreSQL, 0 if none runs.
func postmaster(t *testing.T, data string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(data, "postgres", "pgdata", "postmaster.pid"))
	if os.IsNotExist(err) {
		return 0
	} else if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.SplitN(string(text), "\n", 2)[0])
	if err != nil {
		t.Fatal(err)
	}
	if syscall.Kill(pid, 0) != nil {
		return 0
	}
	return pid
}

// cluster is a file that only the making of a cluster writes.
func cluster(t *testing.T, data string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(filepath.Join(data, "postgres", "pgdata", "PG_VERSION"))
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// gone waits until a process that is not our child has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(deadline); syscall.Kill(pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d is still there", pid)
		}
	}
}

func createNamespace(t *testing.T, r *running, name string) {
	t.Helper()
	root := r.catalogPath(t, "demo")
	if status := r.call(t, http.MethodPost, root+"/namespaces", `{"namespace":["`+name+`"]}`, nil); status != http.StatusOK {
		t.Fatalf("create namespace: %d\n%s", status, r.output())
	}
}

func TestDevKeepsItsDataAndLeavesNoProcess(t *testing.T) {
	t.Parallel()
	data := folder(t)
	first := dev(t, data)
	if status := first.call(t, http.MethodGet, "/ready", "", nil); status != http.StatusOK {
		t.Errorf("ready: %d", status)
	}
	for _, want := range []string{"Authentication is off", "load_catalog", "ATTACH 'demo'", "spark.sql.catalog.demo.uri", "iceberg.rest-catalog.uri"} {
		if !strings.Contains(first.output(), want) {
			t.Errorf("dev does not print %q", want)
		}
	}
	createNamespace(t, first, "kept")
	database := postmaster(t, data)
	if database == 0 {
		t.Fatal("no PostgreSQL runs")
	}

	second := icecore(t, nil, "dev", "--data", data, "--listen", "127.0.0.1:0")
	if second.code != exitFailure || !strings.Contains(second.stderr, "another icecore dev runs on it") {
		t.Errorf("a second dev on the folder: %d %s", second.code, second.stderr)
	}
	if list := icecore(t, nil, "log", "list", "--data", data); list.code != 0 || !strings.Contains(list.stdout, "kept") {
		t.Errorf("log list beside the server: %d %s%s", list.code, list.stdout, list.stderr)
	}

	// Operating commands work beside the server, which goes on changing things.
	for i, args := range [][]string{{"verify"}, {"rebuild"}, {"verify", "--replay"}} {
		if r := icecore(t, nil, append(args, "--data", data)...); r.code != 0 {
			t.Errorf("%s beside the server: %d %s%s", strings.Join(args, " "), r.code, r.stdout, r.stderr)
		}
		if pid := postmaster(t, data); pid != database {
			t.Errorf("%s beside the server: PostgreSQL is %d, was %d", strings.Join(args, " "), pid, database)
		}
		createNamespace(t, first, "after"+strconv.Itoa(i))
	}
	made := cluster(t, data)

	if code := first.stop(t, syscall.SIGINT); code != 0 {
		t.Errorf("Ctrl-C: exit code %d\n%s", code, first.output())
	}
	gone(t, database)

	// Without the server, operating commands start PostgreSQL for themselves.
	for _, args := range [][]string{{"log", "list"}, {"verify"}, {"verify", "--replay"}, {"rebuild"}, {"migrate", "--status"}} {
		if r := icecore(t, nil, append(args, "--data", data)...); r.code != 0 {
			t.Errorf("%s: %d %s%s", strings.Join(args, " "), r.code, r.stdout, r.stderr)
		}
		if pid := postmaster(t, data); pid != 0 {
			t.Errorf("%s left PostgreSQL running", strings.Join(args, " "))
		}
	}

	again := dev(t, data)
	t.Logf("first start %s, second start %s", first.took, again.took)
	if now := cluster(t, data); !os.SameFile(now, made) || !now.ModTime().Equal(made.ModTime()) {
		t.Error("the second start made a new cluster")
	}
	// Two seconds are what is promised; a busy machine takes some more.
	if limit := 20 * time.Second; again.took > limit {
		t.Errorf("the second start took %s", again.took)
	}
	root := again.catalogPath(t, "demo")
	if status := again.call(t, http.MethodHead, root+"/namespaces/kept", "", nil); status != http.StatusNoContent {
		t.Errorf("the namespace is gone: %d", status)
	}
	if code := again.stop(t, syscall.SIGTERM); code != 0 {
		t.Errorf("SIGTERM: exit code %d", code)
	}

	reset := dev(t, data, "--reset")
	createNamespace(t, reset, "after the reset")
	wantEvents(t, data, `"after the reset"`) // the old log's events are gone
	root = reset.catalogPath(t, "demo")
	if status := reset.call(t, http.MethodHead, root+"/namespaces/kept", "", nil); status != http.StatusNotFound {
		t.Errorf("--reset kept the namespace: %d", status)
	}
}

func TestDevTakesOverWhatAKilledOneLeft(t *testing.T) {
	t.Parallel()
	data := folder(t)
	first := dev(t, data)
	createNamespace(t, first, "acknowledged")
	database, broker := postmaster(t, data), natsURL(t, data)
	first.stop(t, syscall.SIGKILL)

	second := dev(t, data)
	if pid := postmaster(t, data); pid == 0 || pid == database {
		t.Errorf("PostgreSQL %d, before %d", pid, database)
	}
	root := second.catalogPath(t, "demo")
	if status := second.call(t, http.MethodHead, root+"/namespaces/acknowledged", "", nil); status != http.StatusNoContent {
		t.Errorf("an acknowledged change is gone: %d", status)
	}
	wantEvents(t, data, `"acknowledged"`)
	if now := natsURL(t, data); now != broker {
		t.Errorf("NATS moved from %s to %s", broker, now)
	}
	if r := icecore(t, nil, "verify", "--data", data); r.code != 0 {
		t.Errorf("verify: %d %s%s", r.code, r.stdout, r.stderr)
	}
	database = postmaster(t, data)
	second.stop(t, syscall.SIGINT)
	gone(t, database)
}

func TestDevEndsWhenItsDatabaseIsGone(t *testing.T) {
	t.Parallel()
	data := folder(t)
	r := dev(t, data)
	if err := syscall.Kill(postmaster(t, data), syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	r.wait(t)
	if code := r.cmd.ProcessState.ExitCode(); code != exitFailure || !strings.Contains(r.output(), "PostgreSQL has ended") {
		t.Errorf("exit code %d\n%s", code, r.output())
	}
}

func TestDevOnATakenPortStartsNothing(t *testing.T) {
	t.Parallel()
	data := folder(t)
	r := dev(t, data)
	other := folder(t)
	second := icecore(t, nil, "dev", "--data", other, "--listen", strings.TrimPrefix(r.url, "http://"))
	if second.code != exitFailure || !strings.Contains(second.stderr, "--listen") {
		t.Errorf("%d %s", second.code, second.stderr)
	}
	if _, err := os.Stat(other); !os.IsNotExist(err) {
		t.Errorf("it made its data folder all the same: %v", err)
	}
}

func TestDevOnAGivenDatabase(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	data := folder(t)
	first := dev(t, data, "--database-url", server.URL(postgres.SuperRole, "postgres"))
	if !strings.Contains(first.output(), "database icecore") {
		t.Errorf("it does not say which database: %s", first.output())
	}
	createNamespace(t, first, "given")
	if pid := postmaster(t, data); pid != 0 {
		t.Error("a private PostgreSQL runs all the same")
	}
	for _, args := range [][]string{{"log", "list"}, {"verify"}} {
		if r := icecore(t, nil, append(args, "--data", data)...); r.code != 0 {
			t.Errorf("%s: %d %s%s", strings.Join(args, " "), r.code, r.stdout, r.stderr)
		}
	}
	if code := first.stop(t, syscall.SIGINT); code != 0 {
		t.Errorf("exit code %d\n%s", code, first.output())
	}
	again := dev(t, data, "--database-url", server.URL(postgres.SuperRole, "postgres"))
	root := again.catalogPath(t, "demo")
	if status := again.call(t, http.MethodHead, root+"/namespaces/given", "", nil); status != http.StatusNoContent {
		t.Errorf("the namespace is gone: %d", status)
	}
}
