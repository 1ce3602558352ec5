package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/icecore-catalog/icecore/e2e/kafka"
	"github.com/icecore-catalog/icecore/e2e/nats"
	"github.com/icecore-catalog/icecore/internal/marked"
	"github.com/icecore-catalog/icecore/internal/postgres"
)

type options struct {
	binary, out string
	window      time.Duration
	rounds      int
	events      int
	sections    string
	rates       string
	kafka       bool
}

func main() {
	nats.Helper()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var o options
	flag.StringVar(&o.binary, "binary", "bin/icecore", "the server to measure")
	flag.StringVar(&o.out, "out", "docs/performance.md", "file whose generated part is rewritten; empty only prints")
	flag.DurationVar(&o.window, "window", 10*time.Second, "length of one measurement")
	flag.IntVar(&o.rounds, "rounds", 3, "measurements of the commit rate, with and without destinations in turns; the median counts")
	flag.IntVar(&o.events, "events", 200_000, "size of the log that is caught up with and rebuilt from")
	flag.StringVar(&o.sections, "sections", "latency,rate,catchup,rebuild", "what to measure")
	flag.StringVar(&o.rates, "rates", "100,1000", "commits a second at which the way to consumers is measured")
	flag.BoolVar(&o.kafka, "kafka", true, "with a Kafka broker (needs a JDK 17 or newer and, once, Maven)")
	flag.Parse()
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// stand is everything that is measured.
type stand struct {
	o        options
	folder   string
	database *postgres.Server
	env      []string
	server   *exec.Cmd
	addr     string // of the server
	prefix   string // path up to and with the warehouse's
	nats     *nats.Broker
	kafka    *kafka.Broker
	tables   int
	values   atomic.Int64 // of commits
	undo     []func()
}

func run(ctx context.Context, o options) error {
	s, err := newStand(ctx, o)
	defer s.close()
	if err != nil {
		return err
	}
	report := []string{fmt.Sprintf("Measured by `./task bench:stream` on %s with %d cores, %s, PostgreSQL %s (fsync on); driver, consumers, server, brokers and database on the same machine.\n",
		time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), runtime.Version(), s.database.Version())}
	for _, section := range []struct {
		name, title string
		measure     func(context.Context) ([]string, error)
	}{
		{"latency", "### From an event to its consumer", s.latency},
		{"rate", "### What destinations cost commits", s.rates},
		{"catchup", "### A destination that begins at nothing", s.catchUp},
		{"rebuild", "### Read models rebuilt from the log", s.rebuild},
	} {
		if !strings.Contains(o.sections, section.name) {
			continue
		}
		lines, err := section.measure(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", section.name, err)
		}
		report = append(report, section.title, "", strings.Join(lines, "\n"), "")
	}
	return write(o.out, strings.Join(report, "\n"))
}

// write puts the report between the markers of the file.
func write(path, report string) error {
	fmt.Println(report)
	if path == "" {
		return nil
	}
	return marked.Write(path, "bench:stream", report)
}

func newStand(ctx context.Context, o options) (*stand, error) {
	s := &stand{o: o}
	var err error
	if s.folder, err = os.MkdirTemp("", "icecore-bench-"); err != nil {
		return s, err
	}
	s.later(func() { _ = os.RemoveAll(s.folder) })
	if err := os.Chmod(s.folder, 0o755); err != nil {
		return s, err
	}
	warehouse := filepath.Join(s.folder, "warehouse")
	if err := os.MkdirAll(warehouse, 0o755); err != nil {
		return s, err
	}
	binaries, err := postgres.Find(ctx, postgres.FindOptions{})
	if err != nil {
		return s, err
	}
	if s.database, err = postgres.Start(ctx, postgres.Options{Binaries: binaries, Dir: filepath.Join(s.folder, "postgres")}); err != nil {
		return s, err
	}
	s.later(func() { _ = s.database.Stop(context.WithoutCancel(ctx)) })
	if err := s.database.EnsureRoles(ctx); err != nil {
		return s, err
	}
	roles := s.database.Roles()
	s.env = append(os.Environ(), "ICECORE_DATABASE_URL="+s.database.URL(roles.App, roles.Database), "ICECORE_DATABASE_OWNER_URL="+s.database.URL(roles.Owner, roles.Database),
		"ICECORE_AUTH=disabled", "ICECORE_LOG_LEVEL=error", "ICECORE_FILE_ROOTS="+s.folder, "ICECORE_DESTINATION_FOLDER="+s.folder)
	if _, err := s.command(ctx, "migrate"); err != nil {
		return s, err
	}
	if s.nats, err = nats.Start(ctx, filepath.Join(s.folder, "nats")); err != nil {
		return s, err
	}
	s.later(func() { _ = s.nats.Kill() })
	if o.kafka {
		if s.kafka, err = kafka.Start(ctx, kafka.Options{Dir: filepath.Join(s.folder, "kafka")}); err != nil {
			return s, err
		}
		s.later(func() { _ = s.kafka.Kill() })
	}
	if err := s.serve(ctx); err != nil {
		return s, err
	}
	s.later(s.stopServer)
	return s, s.prepare(ctx, warehouse)
}

func (s *stand) later(f func()) { s.undo = append(s.undo, f) }

func (s *stand) close() {
	for i := len(s.undo) - 1; i >= 0; i-- {
		s.undo[i]()
	}
}

// command runs an operating command and returns its output.
func (s *stand) command(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, s.o.binary, args...)
	cmd.Env = s.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("icecore %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// serve starts the server and waits until it is ready.
func (s *stand) serve(ctx context.Context) error {
	if s.addr == "" {
		addr, err := freeAddr(ctx)
		if err != nil {
			return err
		}
		s.addr = addr
	}
	cmd := exec.Command(s.o.binary, "serve")
	cmd.Env = append(s.env, "ICECORE_LISTEN="+s.addr)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	s.server = cmd
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.addr+"/ready", nil)
		if err != nil {
			return err
		}
		if response, err := http.DefaultClient.Do(request); err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return errors.New("serve is not ready")
		}
	}
}

func (s *stand) stopServer() {
	if s.server != nil {
		_ = s.server.Process.Signal(syscall.SIGTERM)
		_ = s.server.Wait()
		s.server = nil
	}
}
