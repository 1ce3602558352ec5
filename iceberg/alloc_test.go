package iceberg

import (
	"encoding/json"
	"math"
	"testing"
	"time"
)

// TestAppendAllocationsDoNotGrow is the budget of an append: whatever the
// number of snapshots, it allocates equally often, warm and cold. It does not
// run in parallel, for it counts the process's allocations.
func TestAppendAllocationsDoNotGrow(t *testing.T) {
	count := func(n int, cold bool) float64 {
		doc := bigDocument(t, n)
		m, err := ParseMetadata(doc)
		if err != nil {
			t.Fatal(err)
		}
		updates := nextAppend(t, m)
		return testing.AllocsPerRun(5, func() {
			base := m
			if cold {
				if base, err = ParseMetadata(doc); err != nil {
					t.Fatal(err)
				}
			}
			next, changed, err := Apply(base, updates, testContext())
			if err != nil || !changed || len(next.Bytes()) <= len(doc) {
				t.Fatal(err)
			}
		})
	}
	// Parsing guesses the size of its indexes from the first element; a few
	// allocations more or less are chance, thousands are not.
	for _, tc := range []struct {
		name  string
		cold  bool
		slack float64
	}{{"cached base", false, 0}, {"parsed base", true, 8}} {
		few, many := count(100, tc.cold), count(20_000, tc.cold)
		if many > few+tc.slack {
			t.Errorf("%s: %.0f allocations with 100 snapshots, %.0f with 20,000", tc.name, few, many)
		}
		t.Logf("%s: %.0f and %.0f allocations", tc.name, few, many)
	}
}

// TestExpiryOfManySnapshots: engines send one remove-snapshots update for
// each snapshot. That must not take a scan of all snapshots each.
func TestExpiryOfManySnapshots(t *testing.T) {
	t.Parallel()
	m := bigTable(t, 4000)
	list := []byte{'['}
	for i := range 3999 {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, `{"action":"remove-snapshots","snapshot-ids":[`...)
		list = appendInt(list, m.SnapshotAt(i).ID)
		list = append(list, "]}"...)
	}
	next := apply(t, m, string(append(list, ']')))
	if next.SnapshotCount() != 1 || len(next.SnapshotLog()) != 1 {
		t.Errorf("%d snapshots, %d log entries left", next.SnapshotCount(), len(next.SnapshotLog()))
	}
}

// TestAppendBudget: an append costs at most two passes of encoding/json.Valid
// over the document, cold; warm it costs a small part of one. The margins are
// wide (a cold append takes about 0.4 passes), so a busy machine passes.
func TestAppendBudget(t *testing.T) {
	doc := bigDocument(t, 20_000)
	m, err := ParseMetadata(doc)
	if err != nil {
		t.Fatal(err)
	}
	updates := nextAppend(t, m)
	best := func(run func()) time.Duration {
		least := time.Duration(math.MaxInt64)
		for range 5 {
			start := time.Now()
			run()
			least = min(least, time.Since(start))
		}
		return least
	}
	pass := best(func() {
		if !json.Valid(doc) {
			t.Fatal("invalid")
		}
	})
	commit := func(base *Metadata) {
		if _, _, err := Apply(base, updates, testContext()); err != nil {
			t.Fatal(err)
		}
	}
	warm := best(func() { commit(m) })
	cold := best(func() {
		base, err := ParseMetadata(doc)
		if err != nil {
			t.Fatal(err)
		}
		commit(base)
	})
	t.Logf("json.Valid %v; append warm %v (%.2f passes), cold %v (%.2f passes)", pass, warm, float64(warm)/float64(pass), cold, float64(cold)/float64(pass))
	if cold > 2*pass || warm > pass {
		t.Error("over budget")
	}
}

// A kept document keeps no room behind it: a catalog of many small tables
// would pay for it several times over.
func TestDocumentFitsItsBytes(t *testing.T) {
	t.Parallel()
	if doc := newTable(t, 2).Bytes(); cap(doc) > len(doc)+len(doc)/8+64 {
		t.Errorf("%d bytes are kept in %d", len(doc), cap(doc))
	}
}
