package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// pollEvery is how often a foreign process's state is looked at.
const pollEvery = 2 * time.Millisecond

// A postmaster is what postmaster.pid tells.
type postmaster struct {
	pid    int
	port   int
	shmid  int
	status string // "starting", "ready", "stopping", "standby"
}

// readPostmaster reads a cluster's postmaster.pid; without one it returns the
// zero value.
func readPostmaster(pgdata string) (postmaster, error) {
	data, err := os.ReadFile(filepath.Join(pgdata, "postmaster.pid"))
	if errors.Is(err, os.ErrNotExist) {
		return postmaster{}, nil
	}
	if err != nil {
		return postmaster{}, fmt.Errorf("read postmaster.pid: %w", err)
	}
	// One item a line: pid, data folder, start time, port, socket folder, listen
	// address, shared memory key, status (src/include/utils/pidfile.h). It is
	// written piece by piece, so later lines may be missing.
	var p postmaster
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		switch i {
		case 0:
			p.pid, _ = strconv.Atoi(strings.TrimPrefix(line, "-"))
		case 3:
			p.port, _ = strconv.Atoi(line)
		case 6: // key and id
			var key int
			if n, _ := fmt.Sscan(line, &key, &p.shmid); n != 2 {
				p.shmid = 0
			}
		case 7:
			p.status = line
		}
	}
	return p, nil
}

// running reports whether the postmaster lives: its number may meanwhile belong
// to any other process.
func (p postmaster) running(pgdata string) bool {
	if p.pid <= 0 || p.pid == os.Getpid() || !alive(p.pid) {
		return false
	}
	line := commandLine(p.pid)
	return strings.Contains(line, "postgres") && strings.Contains(line, pgdata)
}

// takeOver stops the postmaster that an earlier owner of the data folder left
// running.
func takeOver(ctx context.Context, pgdata string) error {
	p, err := readPostmaster(pgdata)
	if err != nil || !p.running(pgdata) {
		return err
	}
	gone := func() bool { return !p.running(pgdata) }
	if err := stopPostmaster(ctx, p.pid, gone); err != nil {
		return fmt.Errorf("stop the PostgreSQL that was left running as process %d: %w", p.pid, err)
	}
	return nil
}

// stopPostmaster stops a server: fast, then at once, then by force.
func stopPostmaster(ctx context.Context, pid int, gone func() bool) error {
	for _, step := range []struct {
		stop func() error
		wait time.Duration
	}{
		{func() error { return signalProcess(pid, sigFast) }, 10 * time.Second},
		{func() error { return signalProcess(pid, sigImmediate) }, 5 * time.Second},
		{func() error { return killAll(pid) }, 5 * time.Second},
	} {
		if err := step.stop(); err != nil {
			return err
		}
		if waitGone(ctx, step.wait, gone) {
			return nil
		}
	}
	return errors.New("it does not stop")
}

// waitGone waits for a process to end. When the caller's patience is over it
// still waits a little, since nobody else will stop the server: the harder steps
// then come quickly rather than never.
func waitGone(ctx context.Context, limit time.Duration, gone func() bool) bool {
	if ctx.Err() != nil {
		ctx, limit = context.WithoutCancel(ctx), time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return poll(ctx, gone) == nil
}

// killAll kills a postmaster and its children with SIGKILL.
func killAll(pid int) error {
	// Stopped first, it can't replace the children that die.
	if err := signalProcess(pid, sigFreeze); err != nil {
		return err
	}
	victims := append(children(pid), pid)
	for _, victim := range victims {
		if err := signalProcess(victim, sigKill); err != nil {
			return err
		}
	}
	return nil
}

// poll waits until a foreign process's state is as wished.
func poll(ctx context.Context, done func() bool) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if done() {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// dropSharedMemory removes the System V segment that a killed server left. A
// later start in the same folder would do so; for a folder that goes, nobody
// would, and the machine has a limited number of them.
func dropSharedMemory(pgdata string) {
	p, err := readPostmaster(pgdata)
	if err == nil && p.shmid != 0 && !p.running(pgdata) {
		removeSegment(p.shmid)
	}
}
