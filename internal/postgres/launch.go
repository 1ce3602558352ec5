package postgres

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// launch starts the prepared cluster, on its kept port if that is free.
func (s *Server) launch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		if port := s.Port(); port == 0 || !portFree(ctx, port) {
			port, err := FreePort(ctx)
			if err != nil {
				return err
			}
			if err := writeWhole(filepath.Join(s.dir, "port"), fmt.Appendf(nil, "%d\n", port), 0o644); err != nil {
				return fmt.Errorf("keep the port: %w", err)
			}
			s.setPort(port)
		}
		err := s.spawn(ctx)
		if err == nil {
			return nil
		}
		switch {
		case ctx.Err() != nil:
			return err
		case strings.Contains(err.Error(), "could not bind") && attempt < 5:
			// Somebody took the port between the look and the start.
			s.setPort(0)
		case strings.Contains(err.Error(), "shared memory block") || strings.Contains(err.Error(), "lock file"):
			// Children of a killed server take a moment to notice.
			if poll(ctx, timeAfter(50*time.Millisecond)) != nil {
				return err
			}
		default:
			return err
		}
	}
}

// timeAfter is a condition for poll that holds after d.
func timeAfter(d time.Duration) func() bool {
	timer := time.NewTimer(d)
	return func() bool {
		select {
		case <-timer.C:
			return true
		default:
			return false
		}
	}
}

func portFree(ctx context.Context, port int) bool {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// FreePort finds a port of 127.0.0.1 that nobody listens on, below those that
// the system gives to outgoing connections: one of these would be gone when a
// server that was down for a while wants it back.
func FreePort(ctx context.Context) (int, error) {
	const from, to = 15500, 32000
	for range 50 {
		port := from + rand.IntN(to-from) //nolint:gosec // any will do
		if portFree(ctx, port) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("find a free port between %d and %d: all that were tried are in use", from, to)
}

// spawn runs the server process and waits until it answers. When the one before
// it was killed, some of its processes may still be ending, and PostgreSQL
// refuses to work beside them: that passes.
func (s *Server) spawn(ctx context.Context) error {
	const attempts, pause = 40, 250 * time.Millisecond
	for attempt := 1; ; attempt++ {
		err := s.tryToSpawn(ctx)
		if err == nil || attempt == attempts || !strings.Contains(err.Error(), "pre-existing shared memory block") {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// tryToSpawn is one try of spawn.
func (s *Server) tryToSpawn(ctx context.Context) error {
	tool, err := s.BinTool("postgres")
	if err != nil {
		return err
	}
	flags := os.O_CREATE | os.O_RDWR | os.O_APPEND
	if info, err := os.Stat(s.logPath()); err == nil && info.Size() > maxLog {
		flags |= os.O_TRUNC
	}
	logFile, err := os.OpenFile(s.logPath(), flags, 0o600)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	defer func() { _ = logFile.Close() }()
	logStart, err := logFile.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	cmd := exec.Command(tool, s.args()...) //nolint:noctx // it outlives the start; Stop ends it
	cmd.Dir = "/"
	cmd.Env = serverEnv()
	cmd.Stdout, cmd.Stderr = logFile, logFile
	runAs(cmd, s.account)
	detach(cmd)
	dieWithParent(cmd)
	done := make(chan struct{})
	started := make(chan error, 1)
	go func() {
		// The kernel sends the parent-death signal when this *thread* ends, so the
		// goroutine keeps it for as long as the server lives.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(done)
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start postgres: %w", err)
	}
	s.mu.Lock()
	s.cmd, s.done = cmd, done
	s.mu.Unlock()
	err = poll(ctx, func() bool {
		if s.ended() {
			return true
		}
		p, err := readPostmaster(s.pgdata())
		return err == nil && p.pid == cmd.Process.Pid && (p.status == "ready" || p.status == "standby")
	})
	if err == nil && !s.ended() {
		err = s.ping(ctx)
	}
	if err == nil && !s.ended() {
		return nil
	}
	if !s.ended() {
		_ = stopPostmaster(context.WithoutCancel(ctx), cmd.Process.Pid, s.ended)
		return fmt.Errorf("postgres did not get ready: %w", err)
	}
	return fmt.Errorf("postgres ended while starting: %s", logTail(s.logPath(), logStart))
}

func (s *Server) args() []string {
	settings := map[string]string{
		"listen_addresses":        "127.0.0.1",
		"port":                    strconv.Itoa(s.Port()),
		"unix_socket_directories": s.usableSocketDir(),
		"timezone":                "UTC",
		"log_timezone":            "UTC",
	}
	maps.Copy(settings, s.o.Settings)
	args := []string{"-D", s.pgdata()}
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", key+"="+settings[key])
	}
	return args
}

// usableSocketDir is the socket folder, or "" if the socket's path would be
// longer than an address may be (108 bytes on Linux, 104 elsewhere), or hold
// what the setting would split at.
func (s *Server) usableSocketDir() string {
	path := filepath.Join(s.socketDir(), ".s.PGSQL.65535")
	if len(path) >= 104 || strings.ContainsAny(path, `,"@`) {
		return ""
	}
	return s.socketDir()
}

func (s *Server) ping(ctx context.Context) error {
	conn, err := s.Connect(ctx, SuperRole, "postgres")
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

func logTail(path string, from int64) string {
	file, err := os.Open(path)
	if err != nil {
		return "no log"
	}
	defer func() { _ = file.Close() }()
	if end, err := file.Seek(0, io.SeekEnd); err == nil && end-from > 4096 {
		from = end - 4096
	}
	data, _ := io.ReadAll(io.NewSectionReader(file, from, 4096))
	return string(bytes.TrimSpace(data))
}
