package iceberg

import (
	"testing"
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
		few, many := count(100, tc.cold), count(10_000, tc.cold)
		if many > few+tc.slack {
			t.Errorf("%s: %.0f allocations with 100 snapshots, %.0f with 10,000", tc.name, few, many)
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
