package eventstore

import (
	"slices"
	"strings"
	"testing"
)

// Who needs some types only reads no data of the others, in pages of bounded
// bytes, and misses nothing.
func TestReadWithoutTypesInPagesOfBytes(t *testing.T) {
	t.Parallel()
	b := filled(t, 1)
	for i, size := range []int{10, 3000, 10, 10_000, 10, 10} {
		stream := testIDs.New()
		c := creation(stream)
		c.Records[0].Data = []byte(`"` + strings.Repeat("x", size) + `"`)
		b.append(t, c)
		for version := int64(1); version < int64(i); version++ {
			c := change(stream, version)
			c.Records[0].Data = []byte(`"` + strings.Repeat("y", 100_000) + `"`)
			b.append(t, c)
		}
	}
	b.drain(t)
	if _, err := b.db.Owner.Exec(t.Context(), "UPDATE es.event SET data = NULL WHERE event_id = (SELECT event_id FROM es.log_entry WHERE position = 2)"); err != nil {
		t.Fatal(err)
	}
	log := b.all(t)
	without := []string{"dev.icecore.table.committed", "dev.icecore.nothing"}
	var want []Entry
	for _, e := range log {
		if !slices.Contains(without, e.Type) {
			want = append(want, e)
		}
	}
	for _, c := range []struct{ limit, maxBytes, most int }{{1000, 1 << 30, 1}, {1000, 5000, 3}, {1000, 0, 10}, {3, 5000, 20}, {1, 1, 30}} {
		var got []Entry
		pages := 0
		for position := int64(0); ; pages++ {
			page, last, err := b.ReadWithout(t.Context(), position, c.limit, c.maxBytes, without)
			if err != nil {
				t.Fatal(err)
			}
			if last == position {
				break
			}
			size := 0
			for _, e := range page {
				size += len(e.Data)
			}
			if size > c.maxBytes && len(page) > 1 {
				t.Errorf("%+v: %d bytes in %d events", c, size, len(page))
			}
			position, got = last, append(got, page...)
		}
		if pages > c.most {
			t.Errorf("%+v: %d pages", c, pages)
		}
		same := slices.EqualFunc(got, want, func(a, b Entry) bool {
			return a.Position == b.Position && a.ID == b.ID && a.Leaf == b.Leaf && string(a.Data) == string(b.Data) && a.Erased == b.Erased
		})
		if !same {
			t.Errorf("%+v: %d events, want %d", c, len(got), len(want))
		}
	}
	if page, last, err := b.ReadWithout(t.Context(), 0, 1000, 1, []string{"dev.icecore.table.committed", "dev.icecore.table.created"}); err != nil || len(page) != 0 && !strings.HasPrefix(page[0].Type, "dev.icecore.log.") || last == 0 {
		t.Errorf("%d events up to %d, %v", len(page), last, err)
	}
}

// An entry without its event is an error, whatever type it had.
func TestReadWithoutMissesNoEvent(t *testing.T) {
	t.Parallel()
	b := filled(t, 3)
	if _, err := b.db.Owner.Exec(t.Context(), "DELETE FROM es.event WHERE event_id = (SELECT event_id FROM es.log_entry WHERE position = 2)"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.ReadWithout(t.Context(), 0, 10, 1<<20, []string{"dev.icecore.table.created"}); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("%v", err)
	}
}
