package eventstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/pgtest"
)

var testIDs = ids.NewV7(clock.System{})

// bundle is a store on a database of its own.
type bundle struct {
	db *pgtest.DB
	*Store
}

// setup opens a store; options change its configuration.
func setup(t testing.TB, options ...func(*Config)) *bundle {
	t.Helper()
	return open(t, pgtest.New(t, pgtest.Conns(32)), options...)
}

func open(t testing.TB, db *pgtest.DB, options ...func(*Config)) *bundle {
	t.Helper()
	config := Config{Pool: db.App, IDs: testIDs}
	for _, option := range options {
		option(&config)
	}
	s, err := New(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	return &bundle{db: db, Store: s}
}

// record makes an event of a stream.
func record(stream ids.ID, typ string) Record {
	return Record{
		ID: testIDs.New(), Stream: stream, StreamType: "table", Type: "dev.icecore.table." + typ,
		DataSchema: "urn:icecore:events:table." + typ + ":v1",
		Time:       time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC),
		Actor:      testIDs.New(), RequestID: testIDs.New(),
		Data: fmt.Appendf(nil, `{"of": %q}`, stream),
	}
}

// creation makes a commit that creates a stream.
func creation(stream ids.ID) *Commit {
	return &Commit{
		ID:      testIDs.New(),
		Streams: []Stream{{ID: stream, Type: "table", Mode: Created, NextPointer: "v1"}},
		Records: []Record{record(stream, "created")},
	}
}

// change makes a commit that moves a stream from a version to the next; its
// pointer is always named after the version.
func change(stream ids.ID, version int64) *Commit {
	return &Commit{
		ID: testIDs.New(),
		Streams: []Stream{{
			ID: stream, Mode: Advanced, Version: version,
			Pointer: fmt.Sprintf("v%d", version), NextPointer: fmt.Sprintf("v%d", version+1),
		}},
		Records: []Record{record(stream, "committed")},
	}
}

// inBothWays runs a test with plain commits that share transactions, and with
// each in one of its own.
func inBothWays(t *testing.T, name string, test func(t *testing.T, way func(*Config))) {
	t.Helper()
	for way, flights := range map[string]int{"shared": 2, "alone": -1} {
		t.Run(strings.TrimPrefix(name+"/"+way, "/"), func(t *testing.T) {
			t.Parallel()
			test(t, func(c *Config) { c.SharedFlights = flights })
		})
	}
}

func (b *bundle) append(t testing.TB, c *Commit) Receipt {
	t.Helper()
	receipt, err := b.Append(t.Context(), c)
	if err != nil {
		t.Fatalf("append: %v", err)
	}
	return receipt
}

// prepare returns the batch of a commit that goes alone.
func (s *Store) prepare(c *Commit) (*pgx.Batch, []step, error) {
	tallies, writes, err := s.complete(c)
	if err != nil {
		return nil, nil, err
	}
	return s.queue(c, tallies, writes)
}

// drain sequences until nothing is left to number or settle.
func (b *bundle) drain(t testing.TB) {
	t.Helper()
	q := b.Sequencer()
	defer q.Close()
	for {
		worked, err := q.turn(t.Context(), true)
		if err != nil {
			t.Fatalf("sequence: %v", err)
		}
		if !worked {
			return
		}
	}
}

// settle sequences until every number that was drawn is numbered or proved
// dead. The proof may have to wait for transactions of other tests, for
// databases of one cluster share their transaction ids.
func (b *bundle) settle(t testing.TB) {
	t.Helper()
	q := b.Sequencer()
	defer q.Close()
	until(t, "the log is settled", func(ctx context.Context) (bool, error) {
		_, err := q.turn(ctx, true)
		h, headErr := b.Head(ctx)
		return h.Seen == h.LastDrawn && len(h.Holes) == 0, errors.Join(err, headErr)
	})
}

// all reads the whole log.
func (b *bundle) all(t testing.TB) []Entry {
	t.Helper()
	var log []Entry
	for position := int64(0); ; position = log[len(log)-1].Position {
		page, err := b.ReadAfter(t.Context(), position, 500)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return log
		}
		log = append(log, page...)
	}
}

// until polls a condition that another process or connection brings about.
func until(t testing.TB, what string, condition func(ctx context.Context) (bool, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		ok, err := condition(ctx)
		if err != nil {
			t.Fatalf("wait until %s: %v", what, err)
		}
		if ok {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain until %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// value reads one value as the superuser.
func value[T any](t testing.TB, db *pgtest.DB, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := db.Owner.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}
