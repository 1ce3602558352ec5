package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Stop stops the server in its fast way (transactions are rolled back, then it
// writes a checkpoint), harder if that takes too long, and gives up the data
// folder. An attached server keeps running.
func (s *Server) Stop(ctx context.Context) error {
	if s.attached {
		return nil
	}
	defer s.release()
	return s.halt(ctx)
}

func (s *Server) halt(ctx context.Context) error {
	pid := s.PID()
	if pid == 0 {
		return nil
	}
	if err := stopPostmaster(ctx, pid, s.ended); err != nil {
		return fmt.Errorf("stop PostgreSQL: %w", err)
	}
	return nil
}

// Discard stops the server without care for its data and removes the data
// folder.
func (s *Server) Discard(ctx context.Context) error {
	if s.attached {
		return ErrAttached
	}
	defer s.release()
	if pid := s.PID(); pid != 0 {
		if err := signalProcess(pid, sigImmediate); err != nil {
			return fmt.Errorf("stop PostgreSQL: %w", err)
		}
		wait, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := poll(wait, s.ended)
		cancel()
		if err != nil {
			if err := s.Kill9(); err != nil {
				return err
			}
		}
	}
	dropSharedMemory(s.pgdata())
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("remove the data folder: %w", err)
	}
	return nil
}

// Kill9 kills the server and all its children with SIGKILL, as a crash of the
// machine's memory would, and returns when they are gone. [Server.Restart]
// brings it back.
func (s *Server) Kill9() error {
	if s.attached {
		return ErrAttached
	}
	pid := s.PID()
	if pid == 0 {
		return nil
	}
	if err := killAll(pid); err != nil {
		return fmt.Errorf("kill PostgreSQL: %w", err)
	}
	<-s.Done()
	return nil
}

// Restart stops the server if it runs, then starts it on the same port.
func (s *Server) Restart(ctx context.Context) error {
	if s.attached {
		return ErrAttached
	}
	if err := s.halt(ctx); err != nil {
		return err
	}
	return s.launch(ctx)
}

// Abandon stops what still runs in a data folder that nobody owns any more and
// removes the folder. For one that is in use it returns an [InUseError].
func Abandon(dir string) error {
	lock, err := lockFile(filepath.Join(dir, "lock"), false)
	if errors.Is(err, errLocked) {
		return &InUseError{Dir: dir, PID: lockHolder(dir)}
	}
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	pgdata := filepath.Join(dir, "pgdata")
	if err := takeOver(context.Background(), pgdata); err != nil {
		return err
	}
	dropSharedMemory(pgdata)
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the data folder: %w", err)
	}
	return nil
}
