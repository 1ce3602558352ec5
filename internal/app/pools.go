package app

import (
	"context"
	"fmt"
	"time"

	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/icecore-catalog/icecore/internal/config"
	"github.com/icecore-catalog/icecore/internal/postgres"
	"github.com/icecore-catalog/icecore/internal/telemetry"
	"github.com/icecore-catalog/icecore/projections"
)

// pools are the connections of one server as the application role. Reads and
// appends have their own, so that appends that wait for a lock starve no load.
type pools struct {
	read, append *pgxpool.Pool
	jobs         *pgxpool.Pool // of the workers
	// conn is how single connections outside the pools are made.
	conn   *pgx.ConnConfig
	pooler bool // a pooler such as PgBouncer stands between
}

// openPools finds out what answers under the URL, PostgreSQL or a pooler, and
// fits the connections to it.
func openPools(ctx context.Context, c config.Database, tracing *telemetry.Tracing) (*pools, error) {
	const variable = config.Prefix + "DATABASE_URL"
	conn, err := parseURL(variable, c.URL.Reveal())
	if err != nil {
		return nil, err
	}
	conn.ConnectTimeout = connectTimeout
	endpoint, err := postgres.DetectPooler(ctx, conn)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", variable, err)
	}
	endpoint.Apply(conn)
	if tracing != nil && tracing.Enabled {
		// Neither SQL parameters nor the connection's names are attributes (law 6).
		conn.Tracer = otelpgx.NewTracer(otelpgx.WithTracerProvider(tracing.Provider), otelpgx.WithDisableConnectionDetailsInAttributes())
	}
	p := &pools{conn: conn, pooler: endpoint.Pooled}
	prepare := projections.PrepareConn
	if endpoint.Pooled {
		prepare = nil // a SET would stay with whichever backend served it
	}
	if p.read, err = openPool(ctx, conn, c.ReadPool, prepare); err != nil {
		return nil, err
	}
	if p.append, err = openPool(ctx, conn, c.AppendPool, nil); err != nil {
		p.read.Close()
		return nil, err
	}
	if p.jobs, err = openPool(ctx, conn, jobPool, nil); err != nil {
		p.read.Close()
		p.append.Close()
		return nil, err
	}
	return p, nil
}

// jobPool is the size of the workers' pool: a job holds a connection for moments.
const jobPool = 4

func (p *pools) close() {
	p.jobs.Close()
	p.append.Close()
	p.read.Close()
}

// connectTimeout bounds the making of one connection.
const connectTimeout = 5 * time.Second

// openPool opens no connection yet. prepare, if not nil, is called with each new
// one.
func openPool(ctx context.Context, conn *pgx.ConnConfig, size int, prepare func(context.Context, *pgx.Conn) error) (*pgxpool.Pool, error) {
	// The pool's own defaults come from parsing, the connection from conn.
	c, err := pgxpool.ParseConfig("sslmode=disable")
	if err != nil {
		return nil, fmt.Errorf("configure a pool: %w", err)
	}
	c.ConnConfig = conn.Copy()
	c.AfterConnect = prepare
	c.MaxConns = int32(min(size, 10_000)) // the most that the settings allow
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("open a pool: %w", err)
	}
	return pool, nil
}

// sharedFlights is how many transactions plain commits share at once.
func sharedFlights(setting string) int {
	if setting == "off" {
		return -1
	}
	return 0 // the log's own choice
}
