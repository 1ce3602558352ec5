package servicetest

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/icecore-catalog/icecore/eventstore"
)

// noDeadlocks fails the test of an append that PostgreSQL ended to break a
// deadlock: the lock order of the log leaves none, and a retry would hide it.
type noDeadlocks struct {
	eventstore.Log
	t testing.TB
}

func (l noDeadlocks) Append(ctx context.Context, c *eventstore.Commit) (eventstore.Receipt, error) {
	receipt, err := l.Log.Append(ctx, c)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == "40P01" {
		l.t.Errorf("deadlock: %s", refused.Detail)
	}
	return receipt, err
}
