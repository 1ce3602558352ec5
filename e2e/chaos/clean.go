package main

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/icecore-catalog/icecore/authz/allowall"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/documents"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/postgres"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/storage"
	"github.com/icecore-catalog/icecore/workers"
)

// ahead is how far the clock of the clean-up runs before the world's: more than the
// age at which an orphan may go, and than the undo window, after which former states
// go that fell out of a table's metadata log.
const ahead = 9 * 24 * time.Hour

// later is a clock that runs ahead.
type later struct{ clock.System }

// Now implements clock.Clock.
func (l later) Now() time.Time { return l.System.Now().Add(ahead) }

// laterCleanUps has the database's clock run ahead as well: the earlier of the two
// counts.
type laterCleanUps struct{ projections.CleanUps }

// Object implements commands.CleanUpReader.
func (l laterCleanUps) Object(ctx context.Context, warehouse, object ids.ID) (projections.Cleanable, bool, error) {
	o, found, err := l.CleanUps.Object(ctx, warehouse, object)
	o.Now = o.Now.Add(ahead)
	return o, found, err
}

// cleanerHelper makes this process the workers of a day that has yet to come, if
// its arguments say so: database, folder of the warehouses.
func cleanerHelper(args []string) (done bool, err error) {
	if len(args) != 4 || args[1] != "clean-up" {
		return false, nil
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	pool, err := pgxpool.New(ctx, args[2])
	if err != nil {
		return true, err
	}
	defer pool.Close()
	source := ids.NewV7(clock.System{})
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	store, err := eventstore.New(ctx, eventstore.Config{Pool: pool, IDs: source, Projectors: append(projections.Inline(), workers.Enqueuer{})})
	if err != nil {
		return true, err
	}
	stores, err := storage.NewStores(storage.Config{FileRoots: []string{args[3]}})
	if err != nil {
		return true, err
	}
	library := documents.NewLibrary(documents.Options{Opener: stores})
	service := commands.New(commands.Deps{
		Log: store, Idempotency: store, Resolver: projections.NewResolver(pool, projections.Options{}), Claims: projections.NewClaims(pool),
		Details: projections.NewDetails(pool), Profiles: stores, Places: store, Documents: library, Authorizer: allowall.Authorizer{},
		LogID: store.LogID(), CleanUps: laterCleanUps{projections.NewCleanUps(pool)}, History: store, Clock: later{}, IDs: source, Logger: log,
	})
	w, err := workers.New(workers.Config{Pool: pool, Commands: service, Documents: library, Clock: later{}, Logger: log, PurgeRate: 10_000})
	if err != nil {
		return true, err
	}
	sequenced := make(chan error, 1)
	go func() { sequenced <- store.Sequencer().Run(ctx) }()
	err = w.Run(ctx)
	<-sequenced
	return true, err
}

// cleanUp lets nine days pass for workers, kills those a few times while they clean
// up, and returns when there is nothing left to do. Nobody commits
// meanwhile: a clock that runs ahead proves nothing about files that are new.
func (r *rig) cleanUp(ctx context.Context, random *rand.Rand) (kills int, err error) {
	for _, s := range r.servers {
		s.close()
	}
	conn, err := r.database.Connect(ctx, postgres.SuperRole, postgres.DefaultDatabase)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var living int64
	if err := conn.QueryRow(ctx, "SELECT count(*) FROM rm.tabular").Scan(&living); err != nil {
		return 0, err
	}
	most := 1 // what a killed one was at is taken up after half a minute
	if r.o.commits >= 10_000 {
		most = 3
	}
	// All were looked at, and what was announced is deleted. That a clean-up has
	// ended is told some time after its last deletion, which is not waited for.
	looked := func() (n int64, over bool, err error) {
		var open int64
		err = conn.QueryRow(ctx, "SELECT (SELECT count(*) FROM ops.cleaned c JOIN rm.tabular t ON t.tabular_id = c.object_id), (SELECT count(*) FROM rm.clean_up u LEFT JOIN ops.purge_lease l ON l.drop_event = u.clean_up_id WHERE l.report IS NULL)").Scan(&n, &open)
		return n, err == nil && n >= living && open == 0, err
	}
	for end := time.Now().Add(10 * time.Minute); time.Now().Before(end) && ctx.Err() == nil; {
		cmd, ended, err := r.startCleaner()
		if err != nil {
			return kills, err
		}
		before, _, err := looked()
		for err == nil && ctx.Err() == nil && time.Now().Before(end) {
			n, over, lookErr := looked()
			if err = lookErr; over {
				_ = cmd.Process.Signal(syscall.SIGTERM)
				<-ended
				return kills, nil
			}
			if kills < most && n > before { // in the midst of it
				pause(ctx, time.Duration(random.IntN(50))*time.Millisecond)
				kills++
				break
			}
			pause(ctx, 20*time.Millisecond)
		}
		_ = cmd.Process.Kill()
		<-ended
		if err != nil {
			return kills, err
		}
	}
	n, _, err := looked()
	if err == nil {
		err = fmt.Errorf("after ten minutes %d of %d tables and views were looked at", n, living)
	}
	return kills, err
}

func (r *rig) startCleaner() (*exec.Cmd, <-chan struct{}, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	roles := r.database.Roles()
	cmd := exec.Command(self, "clean-up", r.database.URL(roles.App, roles.Database), r.files) // ended by its caller
	cmd.Stdout, cmd.Stderr = r.output, r.output
	cmd.SysProcAttr = withParent()
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it may be killed on purpose
		close(ended)
	}()
	return cmd, ended, nil
}

// reopen starts the servers again.
func (r *rig) reopen(ctx context.Context) error {
	for _, s := range r.servers {
		s.mu.Lock()
		s.closed = false
		err := s.startLocked()
		s.mu.Unlock()
		if err != nil {
			return err
		}
	}
	for _, s := range r.servers {
		if err := s.waitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// orphans finds metadata files that no event ever named, by whether they lie in the
// folder of something that lives, where a clean-up has to find them, or elsewhere:
// of objects that were dropped without purge or were never made, whose files are
// nobody's to delete. named are the others.
func (r *rig) orphans(ctx context.Context, live map[string]bool) (inside []string, outside, named int, err error) {
	conn, err := r.database.Connect(ctx, postgres.AppRole, postgres.DefaultDatabase)
	if err != nil {
		return nil, 0, 0, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	rows, err := conn.Query(ctx, "SELECT convert_from(data, 'UTF8')::jsonb ->> 'metadata-location' FROM es.event WHERE data IS NOT NULL AND convert_from(data, 'UTF8')::jsonb ? 'metadata-location'")
	if err != nil {
		return nil, 0, 0, err
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, 0, 0, err
	}
	known := make(map[string]bool, len(list))
	for _, location := range list {
		known[pathOf(location)] = true
	}
	err = filepath.WalkDir(r.files, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".metadata.json") {
			return err
		}
		if known[path] {
			named++
			return nil
		}
		if folder, _, _ := strings.Cut(path, "/metadata/"); live[folder] {
			inside = append(inside, path)
		} else {
			outside++
		}
		return nil
	})
	return inside, outside, named, err
}
