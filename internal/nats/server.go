package nats

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
)

// Options say how a server is run.
type Options struct {
	// Dir is the folder of its streams, made if need be. One server uses it.
	Dir string
	// Listen is the host and port; an empty one is 127.0.0.1 and a port that is
	// free.
	Listen string
	// Config is a file in nats-server's own language that is read first, for what
	// has no option here (TLS, users, a cluster); empty for none.
	Config string
	// Log gets what the server says: errors, warnings, and notices at debug level.
	Log *slog.Logger
}

// Server is a server that runs.
type Server struct {
	server *natsserver.Server
	addr   string
	lock   *os.File // nil where there is none
	once   sync.Once
}

// startTime bounds a start; a server with much to recover takes seconds.
const startTime = time.Minute

// DefaultPort is NATS' own.
const DefaultPort = natsserver.DEFAULT_PORT

// ErrInUse is wrapped by [Start] when somebody listens there.
var ErrInUse = errors.New("the address of NATS is in use")

// ErrFolderInUse is wrapped by [Start] when another server runs on the folder.
var ErrFolderInUse = errors.New("another NATS server runs on this folder")

// Start runs a server and returns when clients can connect. ctx bounds the start
// alone; [Server.Stop] ends it.
func Start(ctx context.Context, o Options) (*Server, error) {
	options, err := o.server(ctx)
	if err != nil {
		return nil, err
	}
	var held *os.File
	if o.Dir != "" {
		if held, err = lock(o.Dir); err != nil {
			return nil, err
		}
	}
	s, err := natsserver.NewServer(options)
	if err != nil {
		_ = held.Close() // of nil: nothing
		return nil, fmt.Errorf("nats: %w", err)
	}
	log := &logger{log: o.Log}
	if log.log == nil {
		log.log = slog.New(slog.DiscardHandler)
	}
	s.SetLoggerV2(log, false, false, false)
	started := make(chan struct{})
	go func() {
		defer close(started)
		s.Start()
	}()

	ready := make(chan bool, 1)
	go func() { ready <- s.ReadyForConnections(startTime) }()
	select {
	case ok := <-ready:
		if ok && (!options.JetStream || s.JetStreamEnabled()) {
			return &Server{server: s, addr: s.Addr().String(), lock: held}, nil
		}
		err = fmt.Errorf("nats: not ready after %s: %w", startTime, log.lastError())
	case <-ctx.Done():
		err = fmt.Errorf("nats: start: %w", ctx.Err())
	}
	<-started // else it would go on making files
	s.Shutdown()
	s.WaitForShutdown()
	_ = held.Close()
	return nil, err
}

// server returns the options in the server's own form.
func (o Options) server(ctx context.Context) (*natsserver.Options, error) {
	options := &natsserver.Options{}
	if o.Config != "" {
		var err error
		if options, err = natsserver.ProcessConfigFile(o.Config); err != nil {
			return nil, fmt.Errorf("nats: configuration %s: %w", o.Config, err)
		}
	}
	listen := o.Listen
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, fmt.Errorf("nats: listen address: %w", err)
	}
	options.Host = host
	if options.Port, err = strconv.Atoi(port); err != nil || options.Port < 0 || options.Port > 65535 {
		return nil, fmt.Errorf("nats: listen address: port %q", port)
	}
	if options.Port == 0 {
		options.Port = natsserver.RANDOM_PORT
	} else if err := free(ctx, listen); err != nil {
		return nil, err
	}
	if o.Dir != "" {
		if err := os.MkdirAll(o.Dir, 0o700); err != nil {
			return nil, fmt.Errorf("nats: folder of streams: %w", err)
		}
		options.JetStream, options.StoreDir = true, o.Dir
	}
	options.NoSigs = true
	options.DisableJetStreamBanner = true
	return options, nil
}

// free finds out in words what the server itself would only log, as it fails to
// listen. Whoever takes the port in between is found out by the time limit.
func free(ctx context.Context, listen string) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInUse, err)
	}
	return l.Close()
}

// URL is where clients connect to.
func (s *Server) URL() string { return "nats://" + s.addr }

// Addr is its host and port.
func (s *Server) Addr() string { return s.addr }

// Stop ends the server and returns when its files are closed. Clients are
// disconnected; what was acknowledged is on disk. It may be called again.
func (s *Server) Stop() {
	s.server.Shutdown()
	s.server.WaitForShutdown()
	s.once.Do(func() { _ = s.lock.Close() })
}
