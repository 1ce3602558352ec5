package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/icecore-catalog/icecore/internal/pgtest"
	"github.com/icecore-catalog/icecore/internal/postgres"
	"github.com/icecore-catalog/icecore/schema"
)

func config(t *testing.T, url string) *pgx.ConnConfig {
	t.Helper()
	c, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDetectPooler(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	if e, err := postgres.DetectPooler(t.Context(), config(t, db.URL(pgtest.RoleApp))); err != nil || e.Pooled {
		t.Errorf("PostgreSQL itself: %+v, %v", e, err)
	}
	for _, mode := range []string{"session", "transaction"} {
		bouncer := pgtest.PgBouncer(t, db, mode, 0)
		for range 5 {
			if e, err := postgres.DetectPooler(t.Context(), config(t, bouncer.URL(pgtest.RoleApp))); err != nil || !e.Pooled {
				t.Errorf("%s mode: %+v, %v", mode, e, err)
			}
		}
	}
	var pooler *postgres.PoolerError
	statement := pgtest.PgBouncer(t, db, "statement", 0)
	if _, err := postgres.DetectPooler(t.Context(), config(t, statement.URL(pgtest.RoleApp))); !errors.As(err, &pooler) || !strings.Contains(err.Error(), "pool_mode") {
		t.Errorf("statement mode: %v", err)
	}
	withParameter := statement.URL(pgtest.RoleApp) + "&statement_timeout=5000"
	if _, err := postgres.DetectPooler(t.Context(), config(t, withParameter)); !errors.As(err, &pooler) || !strings.Contains(err.Error(), "start-up parameter statement_timeout") {
		t.Errorf("a start-up parameter: %v", err)
	}
}

// With prepared statements kept in sessions, clients that share sessions meet
// statements that are not there, or are already. With the mode of
// Endpoint.Apply they do not.
func TestApplyWorksInTransactionMode(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	bouncer := pgtest.PgBouncer(t, db, "transaction", 0)
	endpoint, err := postgres.DetectPooler(t.Context(), config(t, bouncer.URL(pgtest.RoleApp)))
	if err != nil {
		t.Fatal(err)
	}
	if err := useFromMany(t, bouncer, func(*pgx.ConnConfig) {}); err == nil {
		t.Error("pgx's default works too: this test shows nothing")
	}
	if err := useFromMany(t, bouncer, endpoint.Apply); err != nil {
		t.Errorf("as advised: %v", err)
	}
}

// useFromMany runs statements, batches and transactions from more clients than
// there are sessions.
func useFromMany(t *testing.T, bouncer *pgtest.Bouncer, apply func(*pgx.ConnConfig)) error {
	t.Helper()
	c, err := pgxpool.ParseConfig(bouncer.URL(pgtest.RoleApp))
	if err != nil {
		t.Fatal(err)
	}
	c.MaxConns = 12
	apply(c.ConnConfig)
	pool, err := pgxpool.NewWithConfig(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	errs := make([]error, 12)
	var group sync.WaitGroup
	for worker := range errs {
		group.Go(func() {
			for n := range 20 {
				if errs[worker] = useOnce(t, pool, worker, n); errs[worker] != nil {
					return
				}
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

func useOnce(t *testing.T, pool *pgxpool.Pool, worker, n int) error {
	var got string
	err := pool.QueryRow(t.Context(), fmt.Sprintf("SELECT $1::text || %d", n%5), "x").Scan(&got)
	if err != nil {
		return err
	}
	batch := &pgx.Batch{}
	batch.Queue("SELECT $1::bigint + 1", worker)
	batch.Queue("SELECT array_length($1::text[], 1)", []string{"a", "b"})
	if err := pool.SendBatch(t.Context(), batch).Close(); err != nil {
		return err
	}
	return pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), "SELECT $1::uuid", "018f2f2e-0000-7000-8000-000000000000")
		return err
	})
}

// The lock of the migrations must hold although sessions are shared.
func TestInstancesMigrateTogetherBehindAPooler(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, pgtest.Empty())
	bouncer := pgtest.PgBouncer(t, db, "transaction", 0)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			conn, err := pgx.Connect(t.Context(), bouncer.URL(pgtest.RoleOwner))
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = conn.Close(t.Context()) }()
			state, err := schema.Migrate(t.Context(), conn, schema.Options{AppRole: string(pgtest.RoleApp)})
			if err != nil || !state.Ready() {
				t.Errorf("%+v, %v", state, err)
			}
		})
	}
	group.Wait()
	app, err := pgx.Connect(t.Context(), bouncer.URL(pgtest.RoleApp))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = app.Close(t.Context()) }()
	if state, err := schema.Status(t.Context(), app, schema.Options{}); err != nil || !state.Ready() {
		t.Errorf("status behind the pooler: %+v, %v", state, err)
	}
}
