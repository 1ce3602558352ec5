package natstest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/internal/nats"
)

// asked tells a test binary to be a server, and which.
const asked = "ICECORE_NATSTEST_PROCESS"

// Child makes this process a server if [StartProcess] started it as one, and
// then never returns. A package that uses StartProcess calls it first in its
// TestMain.
func Child() {
	text, ok := os.LookupEnv(asked)
	if !ok {
		return
	}
	var o nats.Options
	err := json.Unmarshal([]byte(text), &o)
	var server *nats.Server
	if err == nil {
		o.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
		server, err = nats.Start(context.Background(), o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "natstest:", err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, server.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends, however it does
	server.Stop()
	os.Exit(0)
}

// Process is a server as a process of its own.
type Process struct {
	options nats.Options
	command *exec.Cmd
	stdin   io.Closer
	addr    string
}

// StartProcess runs a server as a process, on a folder of the test's, which goes
// with the test; see [Child].
func StartProcess(t testing.TB, config string) *Process {
	t.Helper()
	p := &Process{options: options(t, config)}
	p.Start(t)
	t.Cleanup(p.end)
	return p
}

// Start starts a process that was killed, on the same folder, at another port.
func (p *Process) Start(t testing.TB) {
	t.Helper()
	text, err := json.Marshal(p.options)
	if err != nil {
		t.Fatal(err)
	}
	p.command = exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0]) //nolint:gosec // ourselves
	p.command.Env = append(os.Environ(), asked+"="+string(text))
	p.command.Stderr = os.Stderr
	stdin, err := p.command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	p.stdin = stdin
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "127.0.0.1:") {
		p.end()
		t.Fatalf("natstest: the process said %q, %v; does TestMain call natstest.Child?", line, err)
	}
	p.addr = strings.TrimSpace(line)
}

// Addr is its host and port, until it is killed.
func (p *Process) Addr() string { return p.addr }

// URL is where clients connect to, until it is killed.
func (p *Process) URL() string { return "nats://" + p.addr }

// Kill ends the process with SIGKILL, whatever it does.
func (p *Process) Kill(t testing.TB) {
	t.Helper()
	if err := p.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.end()
}

func (p *Process) end() {
	_ = p.command.Process.Kill()
	_ = p.stdin.Close()
	_ = p.command.Wait() // of a killed process: an error that says so
}
