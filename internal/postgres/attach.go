package postgres

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// attachTimeout is how long the owner of a data folder may take to get its
// server ready.
const attachTimeout = 30 * time.Second

// ErrAttached says that a server belongs to another process and can't be
// killed or restarted from here.
var ErrAttached = errors.New("the server belongs to another process")

// Open reaches the cluster of a data folder, whether it runs or not: it starts
// the cluster if nobody owns the folder, and else attaches to the owner's. A
// [Server.Stop] leaves an attached server running.
func Open(ctx context.Context, o Options) (*Server, error) {
	s, err := Start(ctx, o)
	var inUse *InUseError
	if !errors.As(err, &inUse) {
		return s, err
	}
	s, attachErr := Attach(ctx, o.Dir)
	if attachErr != nil {
		return nil, fmt.Errorf("%w, and it can't be joined: %w", err, attachErr)
	}
	return s, nil
}

// Attach reaches the cluster that another process runs in a data folder. It
// waits for a server that is starting.
func Attach(ctx context.Context, dir string) (*Server, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find the data folder: %w", err)
	}
	s := &Server{dir: dir, attached: true}
	ctx, cancel := context.WithTimeout(ctx, attachTimeout)
	defer cancel()
	var found postmaster
	err = poll(ctx, func() bool {
		// Nobody is going to start a server in a folder that nobody owns.
		if owner := lockHolder(dir); owner == 0 || !alive(owner) {
			cancel()
			return false
		}
		p, err := readPostmaster(s.pgdata())
		if err != nil || !p.running(s.pgdata()) || (p.status != "ready" && p.status != "standby") {
			return false
		}
		found = p
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("no server runs in %s", dir)
	}
	// The passwords are there before the server is.
	if s.password, err = loadPasswords(dir); err != nil {
		return nil, err
	}
	s.setPort(found.port)
	s.foreign = found.pid
	if err := s.ping(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Attached reports whether the server belongs to another process.
func (s *Server) Attached() bool { return s.attached }
