package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/internal/pgtest"
)

// asProgram makes the test binary behave as icecore itself: the tests run it
// as a process of its own, with signals, exit codes and all.
const asProgram = "RUN_AS_ICECORE"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	pgtest.Main(m)
}

// deadline bounds every wait for a process: the machine may be busy.
const deadline = time.Minute

// program prepares icecore with arguments and settings; nothing of the
// environment that it could take for a setting is passed on.
func program(t *testing.T, settings []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "ICECORE_") && !strings.HasPrefix(kv, "DATABASE_URL=") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(append(cmd.Env, asProgram+"=1"), settings...)
	cmd.Dir = t.TempDir()
	return cmd
}

// result is how a run ended.
type result struct {
	code           int
	stdout, stderr string
}

// icecore runs it to its end.
func icecore(t *testing.T, settings []string, args ...string) result {
	t.Helper()
	cmd := program(t, settings, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// running is icecore as a server.
type running struct {
	cmd  *exec.Cmd
	url  string
	took time.Duration // from the start of the process until it served
	done chan struct{}

	mu  sync.Mutex
	out bytes.Buffer
}

var serves = regexp.MustCompile(`(?:serves (http://[0-9.:]+)|"address":"([0-9.:]+)")`)

// start runs a server and waits until it says where it serves.
func start(t *testing.T, settings []string, args ...string) *running {
	t.Helper()
	r := &running{cmd: program(t, settings, args...), done: make(chan struct{})}
	read, write := io.Pipe()
	r.cmd.Stdout, r.cmd.Stderr = write, write
	begin := time.Now()
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = r.cmd.Wait()
		_ = write.Close()
		close(r.done)
	}()
	found := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(read); lines.Scan(); {
			r.mu.Lock()
			r.out.WriteString(lines.Text() + "\n")
			r.mu.Unlock()
			if m := serves.FindStringSubmatch(lines.Text()); m != nil {
				select {
				case found <- strings.TrimPrefix(m[1], "http://") + m[2]:
				default:
				}
			}
		}
	}()
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		<-r.done
	})
	select {
	case addr := <-found:
		r.url, r.took = "http://"+addr, time.Since(begin)
	case <-r.done:
		t.Fatalf("icecore %s ended: %s", strings.Join(args, " "), r.output())
	case <-time.After(deadline):
		t.Fatalf("icecore %s does not serve: %s", strings.Join(args, " "), r.output())
	}
	return r
}

func (r *running) output() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.String()
}

// stop signals the process and returns its exit code.
func (r *running) stop(t *testing.T, signal syscall.Signal) int {
	t.Helper()
	if err := r.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	r.wait(t)
	return r.cmd.ProcessState.ExitCode()
}

func (r *running) wait(t *testing.T) {
	t.Helper()
	select {
	case <-r.done:
	case <-time.After(deadline):
		t.Fatalf("it does not end: %s", r.output())
	}
}

// call does one request and decodes its JSON answer into answer, if not nil.
func (r *running) call(t *testing.T, method, path, body string, answer any) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, r.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", method, path, err, r.output())
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer != nil {
		if err := json.Unmarshal(text, answer); err != nil {
			t.Fatalf("%s %s: %d %s", method, path, response.StatusCode, text)
		}
	}
	return response.StatusCode
}

// catalogPath returns the root of the warehouse's routes.
func (r *running) catalogPath(t *testing.T, warehouse string) string {
	t.Helper()
	var config struct{ Defaults, Overrides map[string]string }
	if status := r.call(t, http.MethodGet, "/catalog/v1/config?warehouse="+warehouse, "", &config); status != http.StatusOK {
		t.Fatalf("config: %d", status)
	}
	prefix := config.Overrides["prefix"]
	if prefix == "" {
		prefix = config.Defaults["prefix"]
	}
	return "/catalog/v1/" + prefix
}

// folder makes a folder that PostgreSQL's unprivileged user can reach.
func folder(t *testing.T) string {
	t.Helper()
	return filepath.Join(pgtest.Dir(t), "data")
}
