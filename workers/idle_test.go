package workers

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/icecore-catalog/icecore/internal/servicetest"
)

// statements counts those of a pool.
type statements struct{ n atomic.Int64 }

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	s.n.Add(1)
	return ctx
}

func (*statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// Workers without work leave the database in peace.
func TestIdleWorkersAskSeldom(t *testing.T) {
	t.Parallel()
	w := newWorld(t, servicetest.Setup{})
	count := &statements{}
	config := w.Pool.Config()
	config.ConnConfig.Tracer = count
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	c := w.config()
	c.Pool, c.poll, c.Relay = pool, 0, &kicks{} // as in production, without destinations
	workers, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	const window = 5 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), window)
	defer cancel()
	start := time.Now()
	if err := workers.Run(ctx); err != nil {
		t.Fatal(err)
	}
	// The start and the end have their own; a slow machine has more time.
	if n, most := count.n.Load(), int64(40+3*time.Since(start).Seconds()); n == 0 || n > most {
		t.Errorf("%d statements, at most %d are expected", n, most)
	} else {
		t.Logf("%d statements", n)
	}
}
