package servicetest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/iceberg"
	"github.com/icecore-catalog/icecore/internal/documents"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/storage"
)

// requireFolds holds every table's document against its event, and against the
// fold of all updates since its first event.
func requireFolds(t testing.TB, pool *pgxpool.Pool, stores *storage.Stores) {
	t.Helper()
	ctx := context.Background()
	log, err := eventstore.New(ctx, eventstore.Config{Pool: pool})
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	report, err := projections.Verify(ctx, projections.VerifyConfig{
		CheckConfig: projections.CheckConfig{Pool: pool, Log: log}, Replay: true,
		Read: func(ctx context.Context, _ ids.ID, raw []byte, location string) ([]byte, error) {
			profile, err := storage.ParseProfile(raw)
			if err != nil {
				return nil, err
			}
			store, err := stores.Open(ctx, profile)
			if err != nil {
				return nil, err
			}
			file, err := store.Get(ctx, location, documents.MaxFile)
			if err != nil {
				return nil, err
			}
			return iceberg.DecodeFile(location, file, documents.MaxFile)
		},
	})
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	for _, f := range report.Findings {
		t.Errorf("verify: %s", f)
	}
}
