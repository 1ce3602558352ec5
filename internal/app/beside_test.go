package app

import (
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/config"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/pgtest"
	"github.com/icecore-catalog/icecore/internal/reports"
)

func TestMetricsReportsGoWhenTheirRetentionIsOver(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := &server{pools: &pools{append: db.App, read: db.App}, config: config.Config{Catalog: config.Catalog{ReportRetention: time.Hour, ReportLimit: 5, ReportSize: 1 << 20}}}
	now := clock.NewFake(time.UnixMilli(1_700_000_000_000))
	source := ids.NewV7(now)
	table := source.New()
	store := reports.NewStore(db.App)
	var list []reports.Report
	for range tidyPage + 2 { // more than one page
		list = append(list, reports.Report{ID: source.New(), Table: table, Type: reports.Scan, ReceivedAt: now.Now(), Body: []byte("{}")})
	}
	now.Advance(2 * time.Hour)
	list = append(list, reports.Report{ID: source.New(), Table: table, Type: reports.Scan, ReceivedAt: now.Now(), Body: []byte("{}")})
	if err := store.Insert(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	if err := s.ExpireMetrics(t.Context(), now.Now()); err != nil {
		t.Fatal(err)
	}
	left, _, err := store.List(t.Context(), reports.Filter{Table: table}, 10_000)
	if err != nil || len(left) != 1 || left[0].ID != list[len(list)-1].ID {
		t.Errorf("%d left, %v", len(left), err)
	}

	// And the oldest beyond the limit, although their time is not over.
	list = nil
	for range 2*tidyPage + 3 {
		list = append(list, reports.Report{ID: source.New(), Table: table, Type: reports.Scan, ReceivedAt: now.Now(), Body: []byte("{}")})
	}
	if err := store.Insert(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	if err := s.ExpireMetrics(t.Context(), now.Now()); err != nil {
		t.Fatal(err)
	}
	if left, _, err = store.List(t.Context(), reports.Filter{Table: table}, 10_000); err != nil || len(left) != 5 || left[4].ID != list[len(list)-5].ID {
		t.Errorf("%d left, %v", len(left), err)
	}

	// And the oldest beyond the size.
	s.config.Catalog.ReportSize = 5
	if err := s.ExpireMetrics(t.Context(), now.Now()); err != nil {
		t.Fatal(err)
	}
	if left, _, err = store.List(t.Context(), reports.Filter{Table: table}, 10_000); err != nil || len(left) != 2 || left[1].ID != list[len(list)-2].ID {
		t.Errorf("%d left by size, %v", len(left), err)
	}
}
