package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/icecore-catalog/icecore/internal/marked"
	"github.com/icecore-catalog/icecore/internal/postgres"
)

type options struct {
	binary, out, data string
	window            time.Duration
	rounds, few, many int
	sections          string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	if len(os.Args) == 5 && os.Args[1] == "ceiling" {
		// A process of its own: see runCeiling.
		if err := runCeiling(ctx, os.Args[2], os.Args[3], os.Args[4], poolSize); err != nil {
			fmt.Fprintln(os.Stderr, "ceiling:", err)
			stop()
			os.Exit(1)
		}
		stop()
		return
	}
	var o options
	flag.StringVar(&o.binary, "binary", "bin/icecore", "the server to measure")
	flag.StringVar(&o.out, "out", "docs/performance.md", "file whose generated part is rewritten; empty only prints")
	flag.StringVar(&o.data, "data", "", "folder for the database and the files (default: a temporary one); must be on the disk to measure")
	flag.DurationVar(&o.window, "window", 2*time.Second, "length of one measurement")
	flag.IntVar(&o.rounds, "rounds", 3, "measurements of each kind; the median counts")
	flag.IntVar(&o.few, "few", 1_000, "tables of the small warehouse")
	flag.IntVar(&o.many, "many", 200_000, "tables of the large warehouse")
	flag.StringVar(&o.sections, "sections", "load,protocol,contention,snapshots,scale", "what to measure")
	flag.Parse()
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// poolSize is the number of connections of the ceiling, and of each of the
// subject's two pools.
const poolSize = 16

func run(ctx context.Context, o options) error {
	if o.data == "" {
		folder, err := os.MkdirTemp("", "icecore-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder)
		if err := os.Chmod(folder, 0o755); err != nil {
			return err
		}
		o.data = folder
	}
	server, err := startPostgres(ctx, filepath.Join(o.data, "postgres"))
	if err != nil {
		return err
	}
	defer server.Stop(context.WithoutCancel(ctx))
	owner, application := server.URL(server.Roles().Owner, server.Roles().Database), server.URL(server.Roles().App, server.Roles().Database)
	if err := prepareCeiling(ctx, server); err != nil {
		return err
	}
	env := append(os.Environ(), "ICECORE_DATABASE_URL="+application, "ICECORE_DATABASE_OWNER_URL="+owner, "ICECORE_AUTH=disabled",
		"ICECORE_LOG_LEVEL=error", "ICECORE_FILE_ROOTS="+o.data, "ICECORE_APPEND_POOL="+strconv.Itoa(poolSize))
	migrate := exec.CommandContext(ctx, o.binary, "migrate")
	migrate.Env = env
	if out, err := migrate.CombinedOutput(); err != nil {
		return fmt.Errorf("migrate: %w\n%s", err, out)
	}
	subjectServer, started, err := startSubject(ctx, o.binary, env)
	if err != nil {
		return err
	}
	defer subjectServer.stop()
	idle := subjectServer.settledRSS(ctx)
	ceilingAddr, stopCeiling, err := startCeiling(ctx, server, filepath.Join(o.data, "ceiling"))
	if err != nil {
		return err
	}
	defer stopCeiling()
	warehouse := filepath.Join(o.data, "warehouse")
	if err := os.MkdirAll(warehouse, 0o755); err != nil {
		return err
	}
	s, err := prepare(ctx, subjectServer.addr, "file://"+warehouse)
	if err != nil {
		return err
	}
	b := &bench{subject: s, warehouse: warehouse, ceiling: ceilingAddr, window: o.window, rounds: o.rounds, log: func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, format+"\n", args...)
	}}
	report := []string{header(server, o)}
	for _, section := range []struct {
		name, title string
		measure     func(context.Context) ([]string, error)
	}{
		{"load", "### Loads and commits", b.loadsAndCommits},
		{"protocol", "### The rest of the protocol", b.protocol},
		{"contention", "### Writers that append to one table", b.contention},
		{"snapshots", "### Many snapshots in one table (one client, warm)", b.snapshots},
		{"scale", "### Many tables in one warehouse (8 clients)", func(ctx context.Context) ([]string, error) { return b.scale(ctx, o.few, o.many) }},
	} {
		if !strings.Contains(o.sections, section.name) {
			continue
		}
		quiet(ctx)
		lines, err := section.measure(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", section.name, err)
		}
		report = append(report, section.title, "", strings.Join(lines, "\n"), "")
	}
	report = append(report, "### Start and memory", "",
		"| what | figure | target |\n| --- | ---: | ---: |",
		fmt.Sprintf("| `serve` on a migrated database, exec to `/ready` | %.2f s | ≤ 0.3 s |", started.Seconds()),
		fmt.Sprintf("| resident memory, idle after start | %.0f MB | < 60 MB |", idle),
		fmt.Sprintf("| resident memory after this run | %.0f MB | |", subjectServer.rss()))
	return write(o.out, strings.Join(report, "\n")+"\n")
}

func header(server *postgres.Server, o options) string {
	return fmt.Sprintf("Measured by `./task bench:http` on %s with %d cores, %s, PostgreSQL %s (fsync on), driver, server, ceiling and database on the same machine. "+
		"Each figure is the median of %d windows of %s, ours and the ceiling in turns. Read the ratios.\n",
		time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), runtime.Version(), server.Version(), o.rounds, o.window)
}

// write puts the report between the markers of the file.
func write(path, report string) error {
	fmt.Println(report)
	if path == "" {
		return nil
	}
	return marked.Write(path, "bench:http", report)
}

func startPostgres(ctx context.Context, dir string) (*postgres.Server, error) {
	binaries, err := postgres.Find(ctx, postgres.FindOptions{})
	if err != nil {
		return nil, err
	}
	server, err := postgres.Start(ctx, postgres.Options{Binaries: binaries, Dir: dir})
	if err != nil {
		return nil, err
	}
	return server, server.EnsureRoles(ctx)
}

func prepareCeiling(ctx context.Context, server *postgres.Server) error {
	conn, err := server.Connect(ctx, postgres.SuperRole, "postgres")
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE ceiling")
	if closeErr := conn.Close(ctx); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	if conn, err = server.Connect(ctx, postgres.SuperRole, "ceiling"); err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, ceilingSchema)
	return err
}

// process is a server under measurement.
type process struct {
	cmd  *exec.Cmd
	addr string
}

func freeAddr(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// startSubject starts serve and returns how long it took to be ready.
func startSubject(ctx context.Context, binary string, env []string) (*process, time.Duration, error) {
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, 0, err
	}
	cmd := exec.Command(binary, "serve")
	cmd.Env = append(env, "ICECORE_LISTEN="+addr)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, 0, err
	}
	p := &process{cmd: cmd, addr: addr}
	for deadline := start.Add(30 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/ready", nil)
		if err != nil {
			return nil, 0, err
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return p, time.Since(start), nil
			}
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			p.stop()
			return nil, 0, errors.New("serve is not ready")
		}
	}
}

func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Wait()
}

// rss is the resident memory in megabytes, as Linux tells it; 0 elsewhere.
func (p *process) rss() float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, _ := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "kB")), 64)
			return kb / 1000
		}
	}
	return 0
}

// settledRSS waits until a fresh process idles.
func (p *process) settledRSS(ctx context.Context) float64 {
	select {
	case <-time.After(3 * time.Second):
	case <-ctx.Done():
	}
	return p.rss()
}

func startCeiling(ctx context.Context, server *postgres.Server, folder string) (addr string, stop func(), err error) {
	if addr, err = freeAddr(ctx); err != nil {
		return "", nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command(self, "ceiling", addr, server.URL(postgres.SuperRole, "ceiling"), folder)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return "", nil, fmt.Errorf("the ceiling did not start: %w", err)
	}
	return addr, func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}, nil
}
