package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/icecore-catalog/icecore/authz/allowall"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/httpapi"
	"github.com/icecore-catalog/icecore/httpapi/middleware"
	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/config"
	"github.com/icecore-catalog/icecore/internal/documents"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/postgres"
	"github.com/icecore-catalog/icecore/internal/reports"
	"github.com/icecore-catalog/icecore/internal/telemetry"
	"github.com/icecore-catalog/icecore/internal/usage"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/projections/document"
	"github.com/icecore-catalog/icecore/publishers"
	"github.com/icecore-catalog/icecore/queries"
	"github.com/icecore-catalog/icecore/storage"
	"github.com/icecore-catalog/icecore/workers"
)

// server is all parts of one instance, wired.
type server struct {
	config    config.Config
	log       *slog.Logger
	tracing   *telemetry.Tracing
	pools     *pools
	store     *eventstore.Store
	resolver  *projections.SharedResolver
	documents *documents.Library
	reports   *reports.Keeper // nil while metrics reports are discarded
	commands  *commands.Service
	queries   *queries.Service
	ids       ids.Source
	usage     *usage.Counter
	relay     *publishers.Relay // nil without the role worker
	workers   *workers.Workers  // nil without that role
	handler   http.Handler
}

// newServer wires one instance from the bottom to the top. It refuses, in
// words, a database that loses data or isn't migrated. The caller closes it.
func newServer(ctx context.Context, c config.Config, log *slog.Logger) (_ *server, err error) {
	tuneMemory()
	now := clock.System{}
	s := &server{config: c, log: log, ids: ids.NewV7(now)}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	metrics := telemetry.NewMetrics(Version())
	if s.tracing, err = telemetry.NewTracing(ctx, c.Telemetry.OTLPEndpoint, Version()); err != nil {
		return nil, &config.ValueError{Variable: config.Prefix + "OTLP_ENDPOINT", Problem: err.Error()}
	}

	// The database.
	if s.pools, err = openPools(ctx, c.Database, s.tracing); err != nil {
		return nil, err
	}
	if err := s.checkDatabase(ctx); err != nil {
		return nil, err
	}

	// The log and the read models.
	s.store, err = openLog(ctx, eventstore.Config{
		Pool: s.pools.append, ReadPool: s.pools.read, Conn: s.pools.conn,
		Clock: now, IDs: s.ids, Projectors: append(projections.Inline(), workers.Enqueuer{}),
		Observer: metrics.LogObserver(log), Logger: log, OnBatch: workers.NewKicker(now).OnBatch,
		SigningKey: c.Log.CheckpointKey.Reveal(), VerifierKeys: c.Log.CheckpointVerifiers,
		SharedFlights: sharedFlights(c.Database.SharedCommits),
		AppendTimeout: c.Database.AppendTimeout, BurnTimeout: c.Database.BurnTimeout, PartitionSize: c.Log.PartitionSize,
	})
	if err != nil {
		return nil, err
	}
	s.resolver = projections.NewResolver(s.pools.read, projections.Options{})

	// Storage and rights.
	stores, err := storage.NewStores(storage.Config{FileRoots: c.Catalog.FileRoots})
	if err != nil {
		return nil, &config.ValueError{Variable: config.Prefix + "FILE_ROOTS", Problem: err.Error()}
	}
	s.documents = documents.NewLibrary(documents.Options{
		Opener: stores, Limit: int64(c.Catalog.DocumentCache), Logger: log,
		Save: func(ctx context.Context, object, mark ids.ID, p *document.Packed) error {
			return document.Save(ctx, s.pools.append, object, mark, p)
		},
	})
	authorizer, backend, err := newAuthorizer(c.Auth)
	if err != nil {
		return nil, err
	}

	// Mutations and reads.
	var reported commands.ReportKeeper // nil lets them go
	if c.Catalog.MetricsReports == "keep" {
		s.reports = reports.NewKeeper(reports.NewStore(s.pools.append).Insert, log)
		reported = s.reports
	}
	tasks := workers.NewTasks(s.pools.append) // any instance shows and controls them
	s.commands = commands.New(commands.Deps{
		Log: telemetry.LogAppends(s.store, log), Idempotency: s.store, Resolver: s.resolver, Claims: projections.NewClaims(s.pools.read), Details: projections.NewDetails(s.pools.read),
		Profiles: stores, Places: s.store, Documents: s.documents, Authorizer: authorizer,
		DestinationKinds: destinationKinds(),
		LogID:            s.store.LogID(), CleanUps: projections.NewCleanUps(s.pools.read), History: s.store,
		Clock: now, IDs: s.ids, Logger: log, IdempotencyLifetime: c.Catalog.IdempotencyLife, Reports: reported, Tasks: tasks,
	})
	s.queries = queries.New(queries.Deps{
		Resolver: s.resolver, Lists: queries.NewLists(s.pools.read), Documents: s.documents, Authorizer: authorizer, Events: s.store,
		Reports: reports.NewStore(s.pools.read), TokenSecret: tokenSecret(c.Catalog, s.store.LogID()), Tasks: tasks,
	})

	// What is done later.
	roles, err := rolesOf(c.Jobs.Roles)
	if err != nil {
		return nil, err
	}
	if roles.worker {
		if err := checkFolders(&c.Publish); err != nil {
			return nil, err
		}
		s.relay = s.newRelay(now, metrics)
		if s.workers, err = workers.New(workers.Config{
			Pool: s.pools.jobs, Commands: s.commands, Documents: s.documents, Clock: now, Logger: log, PurgeRate: c.Jobs.PurgeRate,
			Chores: s.chores(now), Relay: s.relay,
		}); err != nil {
			return nil, err
		}
	}

	// The edge.
	s.usage = usage.NewCounter()
	origins, err := middleware.ParseOrigins(c.HTTP.CORSOrigins)
	if err != nil {
		return nil, &config.ValueError{Variable: config.Prefix + "CORS_ORIGINS", Problem: err.Error()}
	}
	console, err := workers.NewConsole(s.pools.jobs, httpapi.JobsRoot, s.ids, wire.Actor, log)
	if err != nil {
		return nil, err
	}
	deps := httpapi.Deps{
		Commands: s.commands, Queries: s.queries, Authorizer: authorizer, IDs: s.ids, Clock: now, Log: log, Jobs: console,
		Metrics: metrics.Handler(), Ready: s.readiness(now), Observer: metrics, Counter: s.usage, Origins: origins, DiscardReports: s.reports == nil,
		Version: Version(), AuthzBackend: backend, DefaultWarehouse: c.Catalog.DefaultWarehouse,
		MaxBody: int64(c.HTTP.MaxBody), Timeout: c.HTTP.RequestTimeout, IdempotencyLifetime: c.Catalog.IdempotencyLife,
		ProbesOnly: !roles.api,
	}
	if s.tracing.Enabled {
		deps.TracerProvider = s.tracing.Provider
	}
	s.handler = httpapi.New(deps)

	metrics.Head(s.store.Head)
	if s.reports != nil {
		metrics.Reports(s.reports.Waiting)
	}
	metrics.Pool("read", s.pools.read)
	metrics.Pool("append", s.pools.append)
	metrics.Pool("jobs", s.pools.jobs)
	metrics.Queues(func(ctx context.Context) ([]telemetry.Queue, error) { return queueFigures(ctx, tasks) })
	if s.workers != nil {
		metrics.Purges(s.workers.Backlog)
		metrics.Destinations(s.destinationFigures)
	}
	return s, nil
}

// checkDatabase refuses a database that would lose data, or whose schema is
// not what this program works with.
func (s *server) checkDatabase(ctx context.Context) error {
	warnings, err := postgres.CheckSettings(ctx, s.pools.read)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		s.log.Warn("PostgreSQL: " + w)
	}
	if s.pools.pooler {
		s.log.Warn("a connection pooler stands before PostgreSQL: the log is polled, for notices don't come through")
	}
	return checkMigrations(ctx, s.pools.read)
}

// newAuthorizer chooses by configuration. There is no default (law 8).
func newAuthorizer(c config.Auth) (allowall.Authorizer, string, error) {
	if c.Mode == "disabled" {
		return allowall.Authorizer{}, "allow-all", nil
	}
	return allowall.Authorizer{}, "", errNoAuth
}

var errNoAuth = &config.ValueError{Variable: config.Prefix + "AUTH", Problem: "is not set, and this version has no authentication to turn on. " +
	"If everyone who reaches the port may read, change and drop everything, say so: " + config.Prefix + "AUTH=disabled"}

// tokenSecret is what seals page tokens, the same on all instances.
func tokenSecret(c config.Catalog, log ids.ID) []byte {
	if c.TokenSecret != "" {
		return []byte(c.TokenSecret.Reveal())
	}
	return log[:]
}

// run serves on the listener and sequences, until ctx ends or gone is closed
// (nil: never). It returns after the requests that were accepted have been
// answered, or the grace is over.
func (s *server) run(ctx context.Context, listener net.Listener, gone <-chan struct{}) error {
	web := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    httpapi.MaxHeaders,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	// What runs beside the requests outlives them: the last commit still gets
	// its position when there is time.
	beside, stopBeside := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBeside()
	group, beside := errgroup.WithContext(beside)
	group.Go(func() error { return s.store.Sequencer().Run(beside) })
	group.Go(func() error { return s.store.Listen(beside) })
	group.Go(func() error { return s.checkpoint(beside) })
	group.Go(func() error { return s.follow(beside) })
	group.Go(func() error { return s.countUsage(beside, clock.System{}) })
	group.Go(func() error { return s.work(beside) })
	group.Go(func() error { return s.publish(beside) })

	served := make(chan error, 1)
	go func() { served <- web.Serve(httpapi.Listener(listener)) }()
	var failure error
	select {
	case <-ctx.Done():
		s.log.Info("stopping: running requests are finished")
	case <-gone:
		failure = errors.New("PostgreSQL has ended; see postgres.log in the data folder")
	case <-beside.Done():
		failure = errors.New("the sequencer has ended")
	case err := <-served:
		failure = fmt.Errorf("serve: %w", err)
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config.HTTP.ShutdownGrace)
	defer cancel()
	if err := web.Shutdown(grace); err != nil {
		s.log.Warn("requests were broken off after the grace", "grace", s.config.HTTP.ShutdownGrace, "error", err)
		_ = web.Close()
	}
	stopBeside()
	return errors.Join(failure, group.Wait())
}

// close gives up what newServer took.
func (s *server) close() {
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	if s.reports != nil {
		if lost := s.reports.Close(ctx); lost > 0 {
			s.log.Error("metrics reports were lost: the database did not take them in time", "reports", lost)
		}
	}
	if s.documents != nil {
		s.documents.Close(ctx) // saves what waits
	}
	if s.resolver != nil {
		_ = s.resolver.Close(ctx)
	}
	if s.pools != nil {
		s.pools.close()
	}
	if s.tracing != nil {
		_ = s.tracing.Stop(ctx)
	}
}
