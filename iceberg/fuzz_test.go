package iceberg

import (
	"bytes"
	"encoding/json"
	"testing"
)

func FuzzParseMetadata(f *testing.F) {
	for version := 1; version <= 3; version++ {
		f.Add(newTable(f, version).Bytes())
	}
	f.Add(appended(f, newTable(f, 2), 3).Bytes())
	f.Add([]byte(strange))
	f.Add([]byte(oldV1))
	f.Fuzz(func(t *testing.T, doc []byte) {
		before := bytes.Clone(doc)
		m, err := ParseMetadata(doc)
		if err != nil {
			if KindOf(err) == 0 {
				t.Fatalf("untyped error: %v", err)
			}
			return
		}
		if !bytes.Equal(m.Bytes(), before) || !json.Valid(doc) {
			t.Fatalf("accepted and changed, or not JSON: %q", doc)
		}
		Summarize(m)
		m.MetadataLog()
		if _, err := ParseMetadata(m.RefsOnly()); err != nil {
			t.Fatalf("refs only: %v", err)
		}
		next, changed, err := Apply(m, decode(t, `[{"action":"set-properties","updates":{"fuzz":"x"}}]`), testContext())
		if err == nil && changed {
			checkBuilt(t, next)
		}
	})
}

func FuzzDecodeUpdates(f *testing.F) {
	f.Add([]byte(javaCreate(2, ","+addSnapshotJSON(1, 0, 1)+","+setMainJSON(1))))
	f.Add([]byte(`[{"action":"remove-snapshots","snapshot-ids":[1,2]},{"action":"remove-properties","removed":["a"]},` + setStats(1, "x") + "]"))
	f.Add([]byte(`[{"action":"add-encryption-key","encryption-key":{"key-id":"k","encrypted-key-metadata":"YQ=="}}]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		list, err := DecodeUpdates(raw)
		if err != nil {
			if KindOf(err) == 0 {
				t.Fatalf("untyped error: %v", err)
			}
			return
		}
		for _, u := range list {
			if !json.Valid(u.Raw()) {
				t.Fatalf("raw is not JSON: %q", u.Raw())
			}
		}
		_, _ = DecodeRequirements(raw)
		_, _ = DecodeCreateRequest(raw)
	})
}

func FuzzApply(f *testing.F) {
	f.Add([]byte(strange), []byte("["+v3Snapshot(5, 35, 100, 1)+","+setMainJSON(5)+"]"))
	f.Add([]byte(oldV1), []byte(`[{"action":"upgrade-format-version","format-version":2}]`))
	f.Add(appended(f, newTable(f, 2), 3).Bytes(), []byte(`[{"action":"remove-snapshots","snapshot-ids":[1,3]}]`))
	f.Add([]byte{}, []byte(javaCreate(3)))
	f.Fuzz(func(t *testing.T, doc, raw []byte) {
		var base *Metadata
		if len(doc) > 0 {
			var err error
			if base, err = ParseMetadata(doc); err != nil {
				return
			}
		}
		updates, err := DecodeUpdates(raw)
		if err != nil {
			return
		}
		next, changed, err := Apply(base, updates, testContext())
		if err != nil {
			if KindOf(err) == 0 {
				t.Fatalf("untyped error: %v", err)
			}
			return
		}
		if !changed {
			return
		}
		checkBuilt(t, next)
		again, _, err := Apply(base, updates, next.Facts().Context())
		if err != nil || !bytes.Equal(again.Bytes(), next.Bytes()) {
			t.Fatalf("not deterministic: %v", err)
		}
	})
}
