package postgres

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// An Endpoint is what answers under a connection string.
type Endpoint struct {
	// Pooled says that a pooler such as PgBouncer stands between. Whether it
	// works by session or by transaction can't be told reliably from outside, so
	// the stricter is assumed: nothing may be kept in a session (prepared
	// statements, LISTEN, SET, session locks, temporary tables). What needs a
	// notification must poll.
	Pooled bool
}

// Apply makes a configuration fit: behind a pooler statements are sent
// unnamed, in one round trip, with their descriptions kept by the client.
func (e Endpoint) Apply(config *pgx.ConnConfig) {
	if !e.Pooled {
		return
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	config.StatementCacheCapacity = 0
}

// PoolerError says that a pooler can't be worked with as it is set up.
type PoolerError struct {
	// Advice tells the operator what to change.
	Advice string
	// Err is the pooler's own answer.
	Err error
}

func (e *PoolerError) Error() string { return "the connection pooler can't be used: " + e.Advice }

func (e *PoolerError) Unwrap() error { return e.Err }

var refusedParameter = regexp.MustCompile(`unsupported startup parameter(?: in options)?: ([A-Za-z0-9_.]+)`)

// DetectPooler connects once and tells whether PostgreSQL itself answers. It
// returns a [PoolerError] when a pooler refuses a start-up parameter of the
// connection string, or does not allow transactions.
func DetectPooler(ctx context.Context, config *pgx.ConnConfig) (Endpoint, error) {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		var pgErr *pgconn.PgError
		if errors.As(err, &pgErr) {
			if match := refusedParameter.FindStringSubmatch(pgErr.Message); match != nil {
				return Endpoint{}, &PoolerError{Err: pgErr, Advice: fmt.Sprintf(
					"it refuses the start-up parameter %s; take it out of the connection string, or add it to PgBouncer's ignore_startup_parameters", match[1])}
			}
		}
		return Endpoint{}, fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	// PostgreSQL sends its process id at the start, for cancel requests. A pooler
	// can't pass it on, since other backends will serve the connection: it makes
	// one up.
	var pid uint32
	if err := conn.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeExec).Scan(&pid); err != nil {
		return Endpoint{}, fmt.Errorf("ask PostgreSQL for its process id: %w", err)
	}
	e := Endpoint{Pooled: pid != conn.PgConn().PID()}
	if !e.Pooled {
		return e, nil
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		return e, &PoolerError{Err: err, Advice: "it allows no transactions; set pool_mode to transaction or session"}
	}
	if err := tx.Rollback(ctx); err != nil {
		return e, fmt.Errorf("end a transaction behind the pooler: %w", err)
	}
	return e, nil
}
