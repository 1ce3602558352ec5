package usage_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/pgtest"
	"github.com/icecore-catalog/icecore/internal/servicetest"
	"github.com/icecore-catalog/icecore/internal/usage"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const route = "/catalog/v1/{prefix}/namespaces"

// stored are the rows as texts.
func stored(t *testing.T, db *pgtest.DB) []string {
	t.Helper()
	rows, err := db.App.Query(t.Context(), `SELECT format('%s %s %s %s %s', route, status, requests, COALESCE(warehouse_id::text, '-'), updated_at IS NOT NULL)
		FROM ops.endpoint_statistics ORDER BY until, route, status, warehouse_id`)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestCountsOfInstancesAreAddedUpByTheHour(t *testing.T) {
	t.Parallel()
	k := servicetest.New(t, servicetest.Setup{})
	now := clock.NewFake(time.Date(2026, 3, 1, 12, 59, 0, 0, time.UTC))
	store := usage.NewStore(k.Pool, now)
	a, b := usage.NewCounter(), usage.NewCounter()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				a.Count("GET", route, 200, k.Warehouse, "")
				b.Count("GET", route, 200, k.Warehouse, "another, which does not matter")
				b.Count("GET", route, 404, k.IDs.New(), "") // a warehouse that nobody made
			}
		})
	}
	wg.Wait()
	a.Count("GET", "/management/v1/info", 200, ids.Nil, ids.Nil.String())
	a.Count("GET", "/management/v1/info", 200, ids.Nil, "no such project")
	flush := func(c *usage.Counter) {
		t.Helper()
		if err := store.Flush(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	flush(a)
	flush(b)
	flush(b) // nothing is counted twice
	w := k.Warehouse.String()
	want := []string{"GET " + route + " 200 1600 " + w + " t", "GET " + route + " 404 800 - f", "GET /management/v1/info 200 1 - f"}
	if got := stored(t, k.DB); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	now.Advance(2 * time.Minute)
	a.Count("GET", route, 200, k.Warehouse, "")
	flush(a)
	if got := stored(t, k.DB); !slices.Equal(got, append(want, "GET "+route+" 200 1 "+w+" f")) {
		t.Errorf("in the next hour: %q", got)
	}
	// Rows go when their time is over, page by page.
	removed := int64(0)
	for range 3 {
		n, err := store.Expire(t.Context(), now.Now(), 2)
		if err != nil {
			t.Fatal(err)
		}
		removed += n
	}
	if got := stored(t, k.DB); removed != 3 || len(got) != 1 {
		t.Errorf("%d removed, %q left", removed, got)
	}
}

// What could not be stored is there the next time.
func TestFailedFlushLosesNothing(t *testing.T) {
	t.Parallel()
	k := servicetest.New(t, servicetest.Setup{})
	store := usage.NewStore(k.Pool, k.Clock)
	c := usage.NewCounter()
	for range 3 {
		c.Count("GET", route, 200, k.Warehouse, "")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := store.Flush(gone, c); err == nil {
		t.Fatal("stored although the context was over")
	}
	c.Count("GET", route, 200, k.Warehouse, "")
	if err := store.Flush(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if got := stored(t, k.DB); len(got) != 1 || got[0] != "GET "+route+" 200 4 "+k.Warehouse.String()+" f" {
		t.Errorf("%q", got)
	}
}

// Callers invent ids: memory is bounded, and no request goes uncounted.
func TestInventedIDsAreCountedTogether(t *testing.T) {
	t.Parallel()
	k := servicetest.New(t, servicetest.Setup{})
	store := usage.NewStore(k.Pool, k.Clock)
	c := usage.NewCounter()
	for range 2 {
		for i := range 6000 {
			c.Count("GET", route, 404, k.IDs.New(), "")
			c.Count("GET", route, 403, ids.Nil, fmt.Sprint("p", i))
		}
		if err := store.Flush(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	got := stored(t, k.DB)
	if len(got) != 2 || got[1] != "GET "+route+" 404 12000 - t" {
		t.Errorf("%q", got)
	}
}

func TestCountingAllocatesNothing(t *testing.T) {
	c := usage.NewCounter()
	warehouse := ids.NewV7(clock.System{}).New()
	c.Count("GET", route, 200, warehouse, "")
	if n := testing.AllocsPerRun(1000, func() { c.Count("GET", route, 200, warehouse, "") }); n != 0 {
		t.Errorf("%v allocations a request", n)
	}
}

// What the database refuses is told and let go, alone; the rest is stored.
func TestRefusedCountKeepsNothingBack(t *testing.T) {
	t.Parallel()
	k := servicetest.New(t, servicetest.Setup{})
	store := usage.NewStore(k.Pool, k.Clock)
	c := usage.NewCounter()
	for i := range 300 {
		c.Count("GET", route, 200+i, k.Warehouse, "")
	}
	c.Count("GET", "/no\xfftext", 200, k.Warehouse, "")
	if err := store.Flush(t.Context(), c); !errors.Is(err, usage.ErrRefused) {
		t.Errorf("refused: %v", err)
	}
	if got := stored(t, k.DB); len(got) != 300 {
		t.Errorf("%d rows", len(got))
	}
	c.Count("GET", route, 200, k.Warehouse, "")
	if err := store.Flush(t.Context(), c); err != nil {
		t.Errorf("what was refused came back: %v", err)
	}
	if got := stored(t, k.DB); got[0] != "GET "+route+" 200 2 "+k.Warehouse.String()+" t" {
		t.Errorf("%q", got[0])
	}
}

// Texts that can be no project's id are one key, belong nowhere, and hurt nobody.
func TestTextsThatAreNoProjectAreNotKept(t *testing.T) {
	t.Parallel()
	k := servicetest.New(t, servicetest.Setup{})
	store := usage.NewStore(k.Pool, k.Clock)
	c := usage.NewCounter()
	long := strings.Repeat("x", 1<<14)
	for i := range 2000 { // more than a shard has room for: these would crowd others out
		for _, text := range []string{"\xff", "a\x00", "é", long, long[:catalog.MaxProjectIdent+1]} {
			c.Count("GET", route, 200, ids.Nil, fmt.Sprint(text, i))
			c.Count("GET", route, 201, k.Warehouse, text)
		}
	}
	c.Count("GET", route, 202, ids.Nil, "")
	if err := store.Flush(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	got := stored(t, k.DB)
	slices.Sort(got)
	want := []string{"GET " + route + " 201 10000 " + k.Warehouse.String() + " f", "GET " + route + " 202 1 - f"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A counter that nothing is counted with any more is forgotten, and one that
// comes back, or was in use meanwhile, loses nothing.
func TestCountersAreForgottenAndLoseNothing(t *testing.T) {
	t.Parallel()
	k := servicetest.New(t, servicetest.Setup{})
	store := usage.NewStore(k.Pool, k.Clock)
	c := usage.NewCounter()
	flush := func() {
		t.Helper()
		if err := store.Flush(t.Context(), c); err != nil {
			t.Error(err)
		}
	}
	for i := range 100 {
		c.Count("GET", route, 200, ids.Nil, fmt.Sprint("p", i))
	}
	if c.Kept() != 100 {
		t.Errorf("%d counters", c.Kept())
	}
	for range 3 {
		flush()
	}
	if c.Kept() != 0 {
		t.Errorf("%d counters are kept for ever", c.Kept())
	}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 20_000 {
				c.Count("GET", route, 200, k.Warehouse, "")
				if i == 0 && n%4 == 0 {
					c.Count("GET", route, 404, ids.Nil, fmt.Sprint("p", n)) // meets the bound again and again
				}
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		wg.Wait()
	}()
	for busy := true; busy; {
		select {
		case <-done:
			busy = false
		default:
		}
		flush()
	}
	flush()
	flush()
	if got := stored(t, k.DB); !strings.Contains(strings.Join(got, "\n"), "GET "+route+" 200 80000 "+k.Warehouse.String()) {
		t.Errorf("%q", got)
	}
}
