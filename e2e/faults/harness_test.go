package faults_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/internal/faultproxy"
	"github.com/icecore-catalog/icecore/internal/postgres"
)

// rig is one catalog that may be broken: a durable PostgreSQL of its own, a
// fault proxy before it, and icecore serve processes behind the proxy.
type rig struct {
	t        *testing.T
	database *postgres.Server
	proxy    *faultproxy.Proxy
	files    string // root of the warehouse
	output   *os.File
	env      []string
	served   int // how many instances were started
}

func newRig(t *testing.T) *rig {
	t.Helper()
	folder := reachableFolder(t)
	binaries, err := postgres.Find(t.Context(), postgres.FindOptions{Major: os.Getenv("ICECORE_TEST_PG")})
	if err != nil {
		t.Fatal(err)
	}
	database, err := postgres.Start(t.Context(), postgres.Options{Binaries: binaries, Dir: filepath.Join(folder, "postgres")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := database.Stop(context.Background()); err != nil {
			t.Errorf("stop PostgreSQL: %v", err)
		}
	})
	if err := database.EnsureRoles(t.Context()); err != nil {
		t.Fatal(err)
	}
	proxy, err := faultproxy.Start(t.Context(), database.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	output, err := os.Create(filepath.Join(folder, "icecore.log"))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, database: database, proxy: proxy, files: filepath.Join(folder, "warehouse"), output: output}
	if err := os.MkdirAll(r.files, 0o755); err != nil {
		t.Fatal(err)
	}
	roles := database.Roles()
	application := database.URL(roles.App, roles.Database)
	r.env = append(os.Environ(),
		"ICECORE_DATABASE_OWNER_URL="+database.URL(roles.Owner, roles.Database),
		"ICECORE_DATABASE_URL="+application,
		"ICECORE_AUTH=disabled", "ICECORE_FILE_ROOTS="+r.files)
	r.command("migrate")
	// serve goes through the proxy; operating commands go straight.
	r.env = append(r.env, "SERVE_URL="+strings.Replace(application, database.Addr(), proxy.Addr(), 1))
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := os.ReadFile(output.Name())
			t.Logf("the servers' output ends:\n%s", log[max(0, len(log)-4000):])
		}
	})
	return r
}

// binary is the program under test: ICECORE_BIN, or built by TestMain.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if binary = os.Getenv("ICECORE_BIN"); binary != "" {
		return m.Run()
	}
	folder, err := os.MkdirTemp("", "icecore-faults-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	binary = filepath.Join(folder, "icecore")
	build := exec.Command("go", "build", "-o", binary, "github.com/icecore-catalog/icecore/cmd/icecore")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// reachableFolder is a temporary folder that the database's own user can
// reach when the tests run as root.
func reachableFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "icecore-faults-") //nolint:usetesting // t.TempDir is closed to the database's user
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}

// command runs an operating command straight on the database and returns its
// output.
func (r *rig) command(args ...string) []byte {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), binary, args...)
	cmd.Env = r.env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		r.t.Fatalf("icecore %s: %v\n%s\n%s", strings.Join(args, " "), err, out.Bytes(), errs.Bytes())
	}
	return out.Bytes()
}

// verify proves log, read models and documents against each other.
func (r *rig) verify() {
	r.t.Helper()
	r.command("verify", "--replay")
}

// events reads the whole log once its feed has caught up.
func (r *rig) events() []event {
	r.t.Helper()
	return parseEvents(r.t, r.command("log", "list", "--json", "--limit", "10000000"))
}

// instance is one icecore serve.
type instance struct {
	rig  *rig
	cmd  *exec.Cmd
	addr string
	rest *rest
}

// serve starts a server and waits until it is ready.
func (r *rig) serve(addr string) *instance {
	r.t.Helper()
	if addr == "" {
		l, err := (&net.ListenConfig{}).Listen(r.t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			r.t.Fatal(err)
		}
		addr = l.Addr().String()
		_ = l.Close()
	}
	i := &instance{rig: r, addr: addr, rest: newREST(addr)}
	i.cmd = exec.Command(binary, "serve")
	i.cmd.Env = append(append([]string{}, r.env...), "ICECORE_LISTEN="+addr)
	for _, v := range r.env {
		if url, ok := strings.CutPrefix(v, "SERVE_URL="); ok {
			i.cmd.Env = append(i.cmd.Env, "ICECORE_DATABASE_URL="+url)
		}
	}
	// Every fault strikes both ways of committing, also side by side.
	if r.served++; r.served%2 == 0 {
		i.cmd.Env = append(i.cmd.Env, "ICECORE_SHARED_COMMITS=off")
	}
	i.cmd.Stdout, i.cmd.Stderr = r.output, r.output
	i.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := i.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(i.kill)
	i.waitReady()
	return i
}

// waitReady polls a foreign process, which has no signal to give us.
func (i *instance) waitReady() {
	i.rig.t.Helper()
	var last string
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		response, err := http.Get("http://" + i.addr + "/ready")
		if err != nil {
			last = err.Error()
			continue
		}
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return
		}
		last = fmt.Sprint(response.StatusCode)
	}
	i.rig.t.Fatalf("icecore at %s is not ready: %s", i.addr, last)
}

func (i *instance) signal(s syscall.Signal) {
	if err := i.cmd.Process.Signal(s); err != nil && i.cmd.ProcessState == nil {
		i.rig.t.Errorf("signal %v: %v", s, err)
	}
}

// kill ends the process with SIGKILL and waits for its end. It may be called
// again.
func (i *instance) kill() {
	if i.cmd.ProcessState != nil {
		return
	}
	_ = i.cmd.Process.Kill()
	_ = i.cmd.Wait()
}

// isAppend tells the flights that append to the log, by their seal, from all
// others.
func isAppend(f faultproxy.Flight) bool {
	for _, sql := range f.SQL {
		if strings.Contains(sql, "INSERT INTO es.event (") || strings.Contains(sql, "es.append_shared(") {
			return true
		}
	}
	return false
}
