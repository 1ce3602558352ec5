package servicetest

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Flights counts round trips to PostgreSQL where they happen, at the socket: a
// flight begins with the first byte written after something was read.
type Flights struct{ n atomic.Int64 }

// Count returns the flights since the last call.
func (f *Flights) Count() int64 { return f.n.Swap(0) }

// pool opens a pool like another one, with counted connections.
func (f *Flights) pool(t testing.TB, like *pgxpool.Pool) *pgxpool.Pool {
	t.Helper()
	config := like.Config()
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &countedConn{Conn: conn, flights: f}, nil
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

type countedConn struct {
	net.Conn
	flights *Flights
	mu      sync.Mutex
	writing bool
}

func (c *countedConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	if !c.writing {
		c.writing = true
		c.flights.n.Add(1)
	}
	c.mu.Unlock()
	return c.Conn.Write(b)
}

func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.mu.Lock()
		c.writing = false
		c.mu.Unlock()
	}
	return n, err
}
