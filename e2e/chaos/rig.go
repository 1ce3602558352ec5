package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/icecore-catalog/icecore/internal/faultproxy"
	"github.com/icecore-catalog/icecore/internal/postgres"
)

// rig is everything that a run is made of.
type rig struct {
	o        options
	folder   string
	files    string // roots of the warehouses are below it
	database *postgres.Server
	env      []string  // of operating commands, straight to the database
	servers  []*server // two that answer and work, one that works alone
	nats     broker    // nil without
	kafka    broker
	records  []*record // of the consumers
	output   *os.File

	undo []func()
}

// broker is a process that faults strike.
type broker interface {
	Kill() error
	Restart(ctx context.Context) error
	Freeze() error
	Thaw() error
	Stop() error
}

// newRig starts PostgreSQL and the brokers; the servers come after the
// destinations' settings are known.
func newRig(ctx context.Context, o options) (_ *rig, err error) {
	r := &rig{o: o}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	if r.folder, err = os.MkdirTemp("", "icecore-chaos-"); err != nil {
		return nil, err
	}
	if err := os.Chmod(r.folder, 0o755); err != nil { // the database's own user goes through it
		return nil, err
	}
	r.files = filepath.Join(r.folder, "files")
	if err := os.MkdirAll(r.files, 0o755); err != nil {
		return nil, err
	}
	if r.output, err = os.Create(filepath.Join(r.folder, "icecore.log")); err != nil {
		return nil, err
	}
	r.defer_(func() { _ = r.output.Close() })
	binaries, err := postgres.Find(ctx, postgres.FindOptions{Major: os.Getenv("ICECORE_TEST_PG")})
	if err != nil {
		return nil, err
	}
	if r.database, err = postgres.Start(ctx, postgres.Options{Binaries: binaries, Dir: filepath.Join(r.folder, "postgres"), NoSync: true}); err != nil {
		return nil, err
	}
	r.defer_(func() { _ = r.database.Stop(context.WithoutCancel(ctx)) })
	if err := r.database.EnsureRoles(ctx); err != nil {
		return nil, err
	}
	r.env = r.environment(r.database)
	if _, err := r.command(ctx, "migrate"); err != nil {
		return nil, err
	}
	return r, nil
}

// environment is what an operating command needs for a database.
func (r *rig) environment(database *postgres.Server) []string {
	roles := database.Roles()
	return append(os.Environ(),
		"ICECORE_DATABASE_OWNER_URL="+database.URL(roles.Owner, roles.Database),
		"ICECORE_DATABASE_URL="+database.URL(roles.App, roles.Database),
		"ICECORE_AUTH=disabled", "ICECORE_FILE_ROOTS="+r.files)
}

func (r *rig) defer_(f func()) { r.undo = append(r.undo, f) }

// close ends what was started, in the opposite order.
func (r *rig) close() {
	for i := len(r.undo) - 1; i >= 0; i-- {
		r.undo[i]()
	}
	r.undo = nil
}

// discard removes the run's folder.
func (r *rig) discard() { _ = os.RemoveAll(r.folder) }

// command runs an operating command straight on the database and returns its
// output.
func (r *rig) command(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, r.o.binary, args...)
	cmd.Env = r.env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("icecore %s: %w\n%.4000s\n%.4000s", strings.Join(args, " "), err, out.Bytes(), errs.Bytes())
	}
	return out.Bytes(), nil
}

// server is one icecore serve behind a fault proxy of its own.
type server struct {
	rig   *rig
	name  string
	addr  string
	env   []string
	proxy *faultproxy.Proxy

	mu     sync.Mutex
	cmd    *exec.Cmd
	end    chan struct{}
	closed bool
	// again is how often it ended by itself and was started again, as a
	// supervisor does: one that starts while PostgreSQL is away ends.
	again int
}

// serve makes a server and starts it. extra are settings of its own.
func (r *rig) serve(ctx context.Context, name string, extra ...string) (*server, error) {
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	proxy, err := faultproxy.Start(ctx, r.database.Addr())
	if err != nil {
		return nil, err
	}
	r.defer_(func() { _ = proxy.Close() })
	roles := r.database.Roles()
	url := strings.Replace(r.database.URL(roles.App, roles.Database), r.database.Addr(), proxy.Addr(), 1)
	s := &server{rig: r, name: name, addr: addr, proxy: proxy}
	s.env = append(append(append([]string{}, r.env...),
		"ICECORE_LISTEN="+addr, "ICECORE_DATABASE_URL="+url, "ICECORE_LOG_LEVEL=warn",
		"ICECORE_REQUEST_TIMEOUT=6s", "ICECORE_APPEND_TIMEOUT=3s", "ICECORE_BURN_TIMEOUT=2s"), extra...)
	if err := s.start(); err != nil {
		return nil, err
	}
	watching, stop := context.WithCancel(ctx)
	r.defer_(func() {
		stop()
		s.close()
	})
	go s.watch(watching)
	r.servers = append(r.servers, s)
	return s, s.waitReady(ctx)
}

func freeAddr(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func (s *server) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.startLocked()
}

func (s *server) startLocked() error {
	if s.closed || s.cmd != nil {
		return nil
	}
	cmd := exec.Command(s.rig.o.binary, "serve") // ended by kill
	cmd.Env = s.env
	cmd.Stdout, cmd.Stderr = s.rig.output, s.rig.output
	cmd.SysProcAttr = withParent()
	if err := cmd.Start(); err != nil {
		return err
	}
	end := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed on purpose
		close(end)
	}()
	s.cmd, s.end = cmd, end
	return nil
}

// watch starts a server again that ended by itself.
func (s *server) watch(ctx context.Context) {
	for ; ctx.Err() == nil; pause(ctx, 100*time.Millisecond) {
		s.mu.Lock()
		if s.cmd != nil {
			select {
			case <-s.end:
				s.cmd = nil
				s.again++
				_ = s.startLocked() // or at the next turn
			default:
			}
		}
		s.mu.Unlock()
	}
}

// kill ends the process with SIGKILL and waits for its end.
func (s *server) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killLocked()
}

func (s *server) killLocked() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	<-s.end
	s.cmd = nil
}

// close ends the process for good.
func (s *server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.killLocked()
}

func (s *server) signal(sig syscall.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return nil
	}
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// waitReady polls a foreign process, which has no signal to give us.
func (s *server) waitReady(ctx context.Context) error {
	var last string
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline) && ctx.Err() == nil; pause(ctx, 20*time.Millisecond) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.addr+"/ready", nil)
		if err != nil {
			return err
		}
		response, err := (&http.Client{Timeout: 5 * time.Second}).Do(request)
		if err != nil {
			last = err.Error()
			continue
		}
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return nil
		}
		last = response.Status
	}
	return fmt.Errorf("%s at %s is not ready: %s", s.name, s.addr, last)
}
