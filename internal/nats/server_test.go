package nats_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	natsgo "github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/icecore-catalog/icecore/internal/nats"
)

// buffer is written by the server's goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func start(t *testing.T, o nats.Options) *nats.Server {
	t.Helper()
	s, err := nats.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

func stream(t *testing.T, url string) (natsjs.JetStream, *natsgo.Conn) {
	t.Helper()
	nc, err := natsgo.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js, nc
}

func TestStreamsOutliveAStop(t *testing.T) {
	t.Parallel()
	var log buffer
	o := nats.Options{Dir: filepath.Join(t.TempDir(), "a", "b"), Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	s := start(t, o)
	if second, err := nats.Start(t.Context(), o); !errors.Is(err, nats.ErrFolderInUse) {
		t.Errorf("a second server on the folder: %v, %v; want ErrFolderInUse", second, err)
	}
	if !strings.HasPrefix(s.URL(), "nats://127.0.0.1:") {
		t.Errorf("URL = %q, want one on the loopback interface", s.URL())
	}
	js, _ := stream(t, s.URL())
	if _, err := js.CreateStream(t.Context(), natsjs.StreamConfig{Name: "s", Subjects: []string{"s.>"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "s.x", []byte("kept")); err != nil {
		t.Fatal(err)
	}
	o.Listen = s.Addr()
	s.Stop()
	s.Stop() // again
	if !strings.Contains(log.String(), "nats: ") {
		t.Error("the server said nothing into our log")
	}

	s = start(t, o)
	if s.Addr() != o.Listen {
		t.Errorf("listens on %s, was told %s", s.Addr(), o.Listen)
	}
	js, _ = stream(t, s.URL())
	kept, err := js.Stream(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	if m, err := kept.GetMsg(t.Context(), 1); err != nil || string(m.Data) != "kept" {
		t.Errorf("message 1 = %v, %v", m, err)
	}
}

func TestAStartThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("no: { such"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]nats.Options{
		"port taken":         {Dir: t.TempDir(), Listen: l.Addr().String()},
		"no port":            {Dir: t.TempDir(), Listen: "127.0.0.1"},
		"port out of range":  {Dir: t.TempDir(), Listen: "127.0.0.1:70000"},
		"folder is a file":   {Dir: file},
		"configuration":      {Dir: t.TempDir(), Config: file},
		"no configuration":   {Dir: t.TempDir(), Config: file + "2"},
		"folder cannot hold": {Dir: filepath.Join(file, "below")},
	} {
		s, err := nats.Start(t.Context(), o)
		if err == nil {
			s.Stop()
			t.Errorf("%s: it started", name)
		}
		if name == "port taken" && !errors.Is(err, nats.ErrInUse) {
			t.Errorf("%s: %v, want ErrInUse", name, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := nats.Start(ended, nats.Options{Dir: t.TempDir()}); err == nil {
		s.Stop() // it was quicker than the look at the context
	} else if !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}
}

// The process decides what a signal does, and nobody else.
func TestSignalsAreLeftToTheProcess(t *testing.T) { //nolint:paralleltest // signals are the process's
	got := make(chan os.Signal, 1)
	signal.Notify(got, syscall.SIGTERM)
	defer signal.Stop(got)
	s := start(t, nats.Options{Dir: t.TempDir()})
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := self.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-got
	if _, nc := stream(t, s.URL()); !nc.IsConnected() {
		t.Error("the server went at a signal")
	}
}
