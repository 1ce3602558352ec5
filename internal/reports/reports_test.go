package reports_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/pgtest"
	"github.com/icecore-catalog/icecore/internal/reports"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var silent = slog.New(slog.DiscardHandler)

func ptr[T any](v T) *T { return &v }

func TestEveryStatementIsPrepared(t *testing.T) {
	t.Parallel()
	conn := pgtest.New(t).Connect(t, pgtest.RoleApp)
	files, err := filepath.Glob("sql/*.sql")
	if err != nil || len(files) != 5 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Prepare(t.Context(), file, string(text)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// A table's reports come newest first, byte for byte as they were sent, chosen
// by type and snapshot, in pages that continue where the last ended.
func TestReportsAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	store := reports.NewStore(db.App)
	now := clock.NewFake(time.UnixMilli(1_700_000_000_123))
	source := ids.NewV7(now)
	warehouse, table, other, actor := source.New(), source.New(), source.New(), source.New()
	var list []reports.Report
	for i := range 7 {
		now.Advance(time.Second)
		r := reports.Report{
			ID: source.New(), Warehouse: warehouse, Table: table, ReceivedAt: now.Now().UTC(), Actor: actor,
			Type: reports.Scan, Snapshot: ptr(int64(1)<<62 + int64(i)), Body: fmt.Appendf(nil, `{ "n":%d, "x":"\u0000é", "x":1e400 }`, i),
		}
		switch i {
		case 2:
			r.Type, r.Snapshot = reports.Commit, nil
		case 3:
			r.Table = other
		case 4:
			r.Type = "future-report"
		}
		list = append(list, r)
	}
	if err := store.Insert(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	if err := store.Insert(t.Context(), list[:3]); err != nil { // a page whose answer was lost
		t.Fatal(err)
	}
	if err := store.Insert(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		filter reports.Filter
		want   []int
	}{
		"all":       {reports.Filter{Table: table}, []int{6, 5, 4, 2, 1, 0}},
		"other":     {reports.Filter{Table: other}, []int{3}},
		"scans":     {reports.Filter{Table: table, Type: reports.Scan}, []int{6, 5, 1, 0}},
		"commits":   {reports.Filter{Table: table, Type: reports.Commit}, []int{2}},
		"unknown":   {reports.Filter{Table: table, Type: "future-report"}, []int{4}},
		"snapshot":  {reports.Filter{Table: table, Snapshot: ptr(int64(1)<<62 + 5)}, []int{5}},
		"behind":    {reports.Filter{Table: table, Before: list[4].ID}, []int{2, 1, 0}},
		"nothing":   {reports.Filter{Table: table, Before: list[0].ID}, nil},
		"elsewhere": {reports.Filter{Table: warehouse}, nil},
	} {
		for _, limit := range []int{100, 2, 1} {
			var got []int
			for filter := c.filter; ; {
				page, more, err := store.List(t.Context(), filter, limit)
				if err != nil {
					t.Fatal(err)
				}
				if len(page) > limit || more && len(page) == 0 {
					t.Fatalf("%s: a page of %d for %d, more %v", name, len(page), limit, more)
				}
				for _, r := range page {
					i := slices.IndexFunc(list, func(x reports.Report) bool { return x.ID == r.ID })
					got = append(got, i)
					if fmt.Sprintf("%+v", deref(r)) != fmt.Sprintf("%+v", deref(list[i])) {
						t.Errorf("%s: %+v, want %+v", name, deref(r), deref(list[i]))
					}
				}
				if !more {
					break
				}
				filter.Before = page[len(page)-1].ID
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s by %d: %v, want %v", name, limit, got, c.want)
			}
		}
	}
}

// deref makes a report comparable by its text.
func deref(r reports.Report) string {
	snapshot := "none"
	if r.Snapshot != nil {
		snapshot = fmt.Sprint(*r.Snapshot)
	}
	return fmt.Sprint(r.ID, r.Warehouse, r.Table, r.ReceivedAt, r.Actor, r.Type, snapshot, string(r.Body))
}

// A page of large reports ends early, and the next goes on behind it.
func TestPagesOfLargeReportsEndEarly(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	store := reports.NewStore(db.App)
	source := ids.NewV7(clock.System{})
	table := source.New()
	big := []byte(`{"a":"` + strings.Repeat("x", reports.MaxReport-8) + `"}`)
	for range 11 {
		if err := store.Insert(t.Context(), []reports.Report{{ID: source.New(), Table: table, Type: reports.Scan, Body: big}}); err != nil {
			t.Fatal(err)
		}
	}
	first, more, err := store.List(t.Context(), reports.Filter{Table: table}, 100)
	if err != nil || !more || len(first) < 8 || len(first) > 9 {
		t.Fatalf("%d, %v, %v", len(first), more, err)
	}
	rest, more, err := store.List(t.Context(), reports.Filter{Table: table, Before: first[len(first)-1].ID}, 100)
	if err != nil || more || len(first)+len(rest) != 11 {
		t.Fatalf("%d, %v, %v", len(rest), more, err)
	}
}

func TestReportsExpireByTheirTime(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	store := reports.NewStore(db.App)
	start := time.UnixMilli(1_700_000_000_000)
	now := clock.NewFake(start)
	source := ids.NewV7(now)
	table := source.New()
	for range 10 {
		if err := store.Insert(t.Context(), []reports.Report{{ID: source.New(), Table: table, Type: reports.Scan, ReceivedAt: now.Now(), Body: []byte("{}")}}); err != nil {
			t.Fatal(err)
		}
		now.Advance(time.Hour)
	}
	for _, c := range []struct {
		before time.Time
		limit  int
		gone   int64
		left   int
	}{
		{start.Add(-time.Hour), 100, 0, 10}, {start, 100, 0, 10}, {start.Add(4 * time.Hour), 3, 3, 7}, {start.Add(4 * time.Hour), 3, 1, 6},
		{start.Add(4*time.Hour + time.Millisecond), 3, 1, 5}, {start.Add(100 * time.Hour), 100, 5, 0}, {time.Time{}, 100, 0, 0},
	} {
		gone, err := store.Expire(t.Context(), c.before, c.limit)
		if err != nil || gone != c.gone {
			t.Errorf("before %s: %d gone, %v, want %d", c.before, gone, err, c.gone)
		}
		if left, _, err := store.List(t.Context(), reports.Filter{Table: table}, 100); err != nil || len(left) != c.left {
			t.Errorf("before %s: %d left, %v, want %d", c.before, len(left), err, c.left)
		}
	}
}

// Beyond a number the oldest go.
func TestTheOldestReportsGoBeyondANumber(t *testing.T) {
	t.Parallel()
	store, source := reports.NewStore(pgtest.New(t).App), ids.NewV7(clock.System{})
	table := source.New()
	var list []reports.Report
	for range 10 {
		list = append(list, reports.Report{ID: source.New(), Table: table, Type: reports.Scan, Body: []byte("{}")})
	}
	if err := store.Insert(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		keep int
		cut  ids.ID
	}{{1, list[9].ID}, {4, list[6].ID}, {10, list[0].ID}, {11, ids.Nil}, {1 << 40, ids.Nil}} {
		if cut, err := store.Cut(t.Context(), c.keep); err != nil || cut != c.cut {
			t.Errorf("keep %d: %s, %v, want %s", c.keep, cut, err, c.cut)
		}
	}
	gone, err := store.ExpireBefore(t.Context(), list[6].ID, 100)
	if err != nil || gone != 6 {
		t.Errorf("%d gone, %v", gone, err)
	}
	if left, _, err := store.List(t.Context(), reports.Filter{Table: table}, 100); err != nil || len(left) != 4 || left[3].ID != list[6].ID {
		t.Errorf("%d left, %v", len(left), err)
	}
}

// sink takes pages, as the database would.
type sink struct {
	mu      sync.Mutex
	pages   [][]reports.Report
	refuse  func(page []reports.Report) error
	written chan struct{}
}

func newSink() *sink { return &sink{written: make(chan struct{}, 10_000)} }

func (s *sink) insert(_ context.Context, page []reports.Report) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		if err := s.refuse(page); err != nil {
			return err
		}
	}
	s.pages = append(s.pages, slices.Clone(page))
	s.written <- struct{}{}
	return nil
}

func (s *sink) all() (list []reports.Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, page := range s.pages {
		list = append(list, page...)
	}
	return list
}

// What was taken is written when the keeper closes, in order and once, without
// waiting for the next round; afterwards nothing is taken.
func TestNothingTakenIsLostByAnOrderlyEnd(t *testing.T) {
	t.Parallel()
	s, source := newSink(), ids.NewV7(clock.System{})
	k := reports.NewKeeper(s.insert, silent)
	var want []ids.ID
	for range 1200 {
		r := reports.Report{ID: source.New(), Type: reports.Scan, Body: []byte("{}")}
		if err := k.Add(r); err != nil {
			t.Fatal(err)
		}
		want = append(want, r.ID)
	}
	if lost := k.Close(t.Context()); lost != 0 {
		t.Errorf("%d lost", lost)
	}
	var got []ids.ID
	for _, r := range s.all() {
		got = append(got, r.ID)
	}
	if !slices.Equal(got, want) || len(s.pages) < 3 {
		t.Errorf("%d written on %d pages", len(got), len(s.pages))
	}
	if err := k.Add(reports.Report{}); !errors.Is(err, reports.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	if lost := k.Close(t.Context()); lost != 0 {
		t.Errorf("closed twice: %d lost", lost)
	}
}

// While the database is away reports wait; it is asked again, also when the
// keeper closes, and what could not be written is said to be lost.
func TestReportsWaitForTheDatabase(t *testing.T) {
	t.Parallel()
	s, source := newSink(), ids.NewV7(clock.System{})
	tries := make(chan struct{}, 100)
	away := true
	s.refuse = func([]reports.Report) error {
		tries <- struct{}{}
		if away {
			return errors.New("connection refused")
		}
		return nil
	}
	k := reports.NewKeeper(s.insert, silent)
	if err := k.Add(reports.Report{ID: source.New(), Body: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	<-tries
	<-tries // it is tried again
	s.mu.Lock()
	away = false
	s.mu.Unlock()
	if lost := k.Close(t.Context()); lost != 0 || len(s.all()) != 1 {
		t.Errorf("%d lost, %d written", lost, len(s.all()))
	}

	s.refuse = func([]reports.Report) error { return errors.New("connection refused") }
	k = reports.NewKeeper(s.insert, silent)
	for range 3 {
		if err := k.Add(reports.Report{ID: source.New(), Body: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if lost := k.Close(ended); lost != 3 {
		t.Errorf("%d lost, want 3", lost)
	}
}

// Beyond its bound the keeper takes nothing: the sender hears of it.
func TestReportsAreRefusedBeyondTheBound(t *testing.T) {
	t.Parallel()
	s, source := newSink(), ids.NewV7(clock.System{})
	hold := make(chan struct{})
	s.refuse = func([]reports.Report) error { <-hold; return nil }
	k := reports.NewKeeper(s.insert, silent)
	taken := 0
	for ; ; taken++ {
		err := k.Add(reports.Report{ID: source.New(), Body: make([]byte, reports.MaxReport)})
		if errors.Is(err, reports.ErrFull) {
			break
		}
		if err != nil || taken > 100 {
			t.Fatalf("after %d: %v", taken, err)
		}
	}
	if err := k.Add(reports.Report{ID: source.New(), Body: []byte("{}")}); err != nil && !errors.Is(err, reports.ErrFull) {
		t.Error(err)
	}
	close(hold)
	if lost := k.Close(t.Context()); lost != 0 || len(s.all()) < taken {
		t.Errorf("%d lost, %d of %d written", lost, len(s.all()), taken)
	}
}

// A report that PostgreSQL cannot hold does not keep the others back.
func TestARefusedReportIsLetGo(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	store, source := reports.NewStore(db.App), ids.NewV7(clock.System{})
	table := source.New()
	report := func(body string) reports.Report {
		return reports.Report{ID: source.New(), Table: table, Type: reports.Scan, Body: []byte(body)}
	}
	if err := store.Insert(t.Context(), []reports.Report{report("\x00")}); !errors.Is(err, reports.ErrRefused) {
		t.Fatalf("%v", err)
	}
	k := reports.NewKeeper(store.Insert, silent)
	for _, body := range []string{`{"a":1}`, "\x00", `{"a":2}`} {
		if err := k.Add(report(body)); err != nil {
			t.Fatal(err)
		}
	}
	if lost := k.Close(t.Context()); lost != 0 {
		t.Errorf("%d lost", lost)
	}
	if list, _, err := store.List(t.Context(), reports.Filter{Table: table}, 10); err != nil || len(list) != 2 {
		t.Errorf("%d stored, %v", len(list), err)
	}
}
