// Package projectionstest holds what every suite that changes the catalog calls
// at its end: the read models must be what the log makes of them.
package projectionstest

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/projections"
)

// RequireRebuildEqual gives positions to what has none yet, rebuilds all
// derived tables from the log and fails the test for every row that differs.
// The pool is that of the application role; nothing may be appended meanwhile.
func RequireRebuildEqual(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute) // also called by clean-ups
	defer cancel()
	store, err := eventstore.New(ctx, eventstore.Config{Pool: pool})
	if err != nil {
		t.Fatalf("rebuild and compare: %v", err)
	}
	q := store.Sequencer()
	running, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = q.Run(running) // what goes wrong shows in the comparison
		q.Close()
	}()
	defer func() { stop(); <-ended }()
	report, err := projections.Compare(ctx, projections.CheckConfig{Pool: pool, Log: store})
	if err != nil {
		t.Fatalf("rebuild and compare: %v", err)
	}
	for _, f := range report.Findings {
		t.Errorf("after a rebuild: %s", f)
	}
	if report.Count > int64(len(report.Findings)) {
		t.Errorf("after a rebuild: %d findings in all", report.Count)
	}
}
