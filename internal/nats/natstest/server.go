package natstest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/icecore-catalog/icecore/internal/nats"
)

// Server is a server in this process that can be stopped and started again on
// the same folder.
type Server struct {
	options nats.Options
	server  *nats.Server
}

// Start runs a server on a folder of the test's. config is in nats-server's
// language, for what a test needs beside (TLS, users, a cluster, limits).
func Start(t testing.TB, config string) *Server {
	t.Helper()
	s := &Server{options: options(t, config)}
	s.Start(t)
	t.Cleanup(func() { s.server.Stop() })
	return s
}

func options(t testing.TB, config string) nats.Options {
	t.Helper()
	dir := t.TempDir()
	o := nats.Options{Dir: filepath.Join(dir, "streams")}
	if config != "" {
		o.Config = filepath.Join(dir, "nats.conf")
		if err := os.WriteFile(o.Config, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// Start starts a server that was stopped, at another port.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	server, err := nats.Start(context.WithoutCancel(t.Context()), s.options)
	if err != nil {
		t.Fatal(err)
	}
	s.server = server
}

// Stop ends the server.
func (s *Server) Stop(testing.TB) { s.server.Stop() }

// Addr is its host and port, until it is stopped.
func (s *Server) Addr() string { return s.server.Addr() }

// URL is where clients connect to, until it is stopped.
func (s *Server) URL() string { return s.server.URL() }
