package eventstore

import (
	"slices"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// Who follows a part of the log sees that part, whole and in order, whatever the
// size of the pages, and is told where he stands.
func TestReadSelected(t *testing.T) {
	t.Parallel()
	b := filled(t, 1)
	projects, warehouses := []ids.ID{testIDs.New(), testIDs.New()}, []ids.ID{testIDs.New(), testIDs.New()}
	for i, size := range []int{10, 3000, 10, 10_000, 10, 10, 500} {
		stream := testIDs.New()
		c := creation(stream)
		c.Records[0].Data = []byte(`"` + strings.Repeat("x", size) + `"`)
		c.Records[0].Project, c.Records[0].Warehouse = projects[i%2], warehouses[i/2%2]
		b.append(t, c)
		for version := int64(1); version < int64(i); version++ {
			c := change(stream, version)
			c.Records[0].Data = []byte(`"` + strings.Repeat("y", 40_000) + `"`)
			c.Records[0].Project, c.Records[0].Warehouse = projects[i%2], warehouses[i/2%2]
			b.append(t, c)
		}
	}
	b.drain(t)
	// Another history: the log tells about it itself.
	before := b.head(t).Size
	if _, err := b.db.Owner.Exec(t.Context(), "UPDATE es.log_head SET timeline = 'another'"); err != nil {
		t.Fatal(err)
	}
	b.append(t, creation(testIDs.New()))
	b.drain(t)
	for epoch, want := range map[int64]int64{0: 0, 1: before, 2: 0, 3: 0} {
		if last, over, err := b.EpochEnd(t.Context(), epoch); err != nil || last != want || over != (epoch < 2) {
			t.Errorf("epoch %d ends at %d (%v), %v", epoch, last, over, err)
		}
	}
	if _, err := b.db.Owner.Exec(t.Context(), "UPDATE es.event SET data = NULL WHERE event_id = (SELECT event_id FROM es.log_entry WHERE position = 2)"); err != nil {
		t.Fatal(err)
	}
	log := b.all(t)
	end := log[len(log)-1].Position
	for name, c := range map[string]struct {
		of   Selection
		want func(*Entry) bool
	}{
		"all":       {Selection{}, func(*Entry) bool { return true }},
		"project":   {Selection{Projects: projects[:1]}, func(e *Entry) bool { return e.Project == projects[0] }},
		"both":      {Selection{Projects: projects, Warehouses: warehouses[1:]}, func(e *Entry) bool { return e.Warehouse == warehouses[1] }},
		"types":     {Selection{Types: []string{"dev.icecore.table.created"}}, func(e *Entry) bool { return e.Type == "dev.icecore.table.created" }},
		"entity":    {Selection{StreamTypes: []string{"view", "table"}}, func(e *Entry) bool { return e.StreamType == "table" }},
		"all four":  {Selection{projects[1:], warehouses[:1], []string{"table"}, []string{"dev.icecore.table.committed"}}, func(e *Entry) bool { return e.Project == projects[1] && e.Warehouse == warehouses[0] && e.Version > 1 }},
		"no entity": {Selection{StreamTypes: []string{"role"}}, func(*Entry) bool { return false }},
	} {
		var want []Entry
		for _, e := range log {
			if e.StreamType == LogStreamType || c.want(&e) {
				want = append(want, e)
			}
		}
		for _, size := range []struct{ limit, maxBytes int }{{1000, 1 << 30}, {1000, 5000}, {1000, 0}, {3, 5000}, {1, 1}} {
			var got []Entry
			position := int64(0)
			for {
				page, err := b.ReadSelected(t.Context(), position, size.limit, size.maxBytes, c.of)
				if err != nil {
					t.Fatal(err)
				}
				if page.Last == position {
					break
				}
				bytes := 0
				for _, e := range page.Entries {
					bytes += len(e.Data)
				}
				if bytes > size.maxBytes && len(page.Entries) > 1 || page.Epoch != log[page.Last-1].Epoch || page.Last-position > int64(size.limit) {
					t.Errorf("%s %+v: %d bytes in %d events up to %d of epoch %d", name, size, bytes, len(page.Entries), page.Last, page.Epoch)
				}
				position, got = page.Last, append(got, page.Entries...)
			}
			same := slices.EqualFunc(got, want, func(a, b Entry) bool {
				return a.Position == b.Position && a.ID == b.ID && a.Leaf == b.Leaf && a.dataSHA256 == b.dataSHA256 && string(a.Data) == string(b.Data) &&
					a.Erased == b.Erased && a.CommitSize == b.CommitSize && a.CommitID == b.CommitID && a.LogTime.Equal(b.LogTime) && a.Time.Equal(b.Time) &&
					a.AppendSeq == b.AppendSeq && a.Version == b.Version && a.Actor == b.Actor
			})
			if !same || position != end {
				t.Errorf("%s %+v: %d events, want %d; ended at %d of %d", name, size, len(got), len(want), position, end)
			}
		}
	}
}

// An entry without its event is an error, for a selection that leaves it out, too.
func TestReadSelectedMissesNoEvent(t *testing.T) {
	t.Parallel()
	b := filled(t, 3)
	if _, err := b.db.Owner.Exec(t.Context(), "DELETE FROM es.event WHERE event_id = (SELECT event_id FROM es.log_entry WHERE position = 2)"); err != nil {
		t.Fatal(err)
	}
	for _, of := range []Selection{{}, {StreamTypes: []string{"view"}}} {
		if page, err := b.ReadSelected(t.Context(), 0, 10, 1<<20, of); err == nil || !strings.Contains(err.Error(), "missing") || page.Last != 0 {
			t.Errorf("%+v: %+v, %v", of, page, err)
		}
	}
}
