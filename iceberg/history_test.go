package iceberg

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// randomUpdate draws an update that may or may not be acceptable; ids come
// from small ranges, so that they meet.
func randomUpdate(t *rapid.T, m *Metadata) string {
	small := func(label string) int64 { return rapid.Int64Range(-1, 9).Draw(t, label) }
	name := rapid.SampledFrom([]string{"main", "dev", "v1"}).Draw(t, "ref")
	kind := rapid.SampledFrom([]string{"branch", "branch", "branch", "tag"}).Draw(t, "kind")
	switch rapid.IntRange(0, 21).Draw(t, "update") {
	case 0, 1, 2, 3:
		var next int64 = 1
		if m != nil {
			next = m.LastSequenceNumber() + rapid.Int64Range(0, 3).Draw(t, "ahead")
			if m.FormatVersion() == 1 {
				next = 0
			}
		}
		s := fmt.Sprintf(`{"snapshot-id":%d,"parent-snapshot-id":%d,"sequence-number":%d,"timestamp-ms":%d,"summary":{"operation":"append"},"manifest-list":"m%d"`,
			rapid.Int64Range(1, 40).Draw(t, "id"), small("parent"), next, testNow+rapid.Int64Range(-200_000, 200_000).Draw(t, "skew"), next)
		if m != nil && m.FormatVersion() == 3 {
			s += fmt.Sprintf(`,"first-row-id":%d,"added-rows":%d`, max(0, m.NextRowID()+rapid.Int64Range(-1, 2).Draw(t, "gap")), 3)
		}
		return `{"action":"add-snapshot","snapshot":` + s + `}}`
	case 4, 5, 6, 7:
		id := small("snapshot")
		if m != nil && m.SnapshotCount() > 0 {
			id = m.SnapshotAt(rapid.IntRange(0, m.SnapshotCount()-1).Draw(t, "at")).ID
		}
		return fmt.Sprintf(`{"action":"set-snapshot-ref","ref-name":%q,"type":%q,"snapshot-id":%d}`, name, kind, id)
	case 8:
		return fmt.Sprintf(`{"action":"remove-snapshots","snapshot-ids":[%d,%d]}`, rapid.Int64Range(1, 40).Draw(t, "a"), rapid.Int64Range(1, 40).Draw(t, "b"))
	case 9:
		return fmt.Sprintf(`{"action":"remove-snapshot-ref","ref-name":%q}`, name)
	case 10:
		return fmt.Sprintf(`{"action":"set-properties","updates":{"p%d":"%d","write.metadata.previous-versions-max":"%d"}}`, small("p"), small("v"), small("max"))
	case 11:
		return fmt.Sprintf(`{"action":"remove-properties","removals":["p%d"]}`, small("p"))
	case 12, 13:
		cols := []string{column(1, "id", `"long"`), column(2, "data", `"string"`), column(3, "ts", `"timestamp"`),
			column(20+int(small("id")), fmt.Sprintf("c%d", small("c")), `"int"`)}
		n := rapid.IntRange(1, 4).Draw(t, "columns")
		return addSchemaJSON(schemaWith(cols[:n]...))
	case 14:
		return fmt.Sprintf(`{"action":"set-current-schema","schema-id":%d}`, small("schema"))
	case 15:
		fields := []string{specField(3, "day", "d"), specField(1, fmt.Sprintf("bucket[%d]", small("n")+2), "b"), specField(2, "truncate[3]", "t")}
		return addSpecJSON(fields[:rapid.IntRange(0, 3).Draw(t, "fields")]...)
	case 16:
		return fmt.Sprintf(`{"action":"set-default-spec","spec-id":%d}`, small("spec"))
	case 17:
		return addOrderJSON([]string{sortFieldJSON(1, "identity"), sortFieldJSON(2, "bucket[3]")}[:rapid.IntRange(0, 2).Draw(t, "fields")]...)
	case 18:
		return fmt.Sprintf(`{"action":"set-default-sort-order","sort-order-id":%d}`, small("order"))
	case 19:
		return fmt.Sprintf(`{"action":%q,"spec-ids":[%d],"schema-ids":[%d]}`,
			rapid.SampledFrom([]string{"remove-partition-specs", "remove-schemas"}).Draw(t, "remove"), small("spec"), small("schema"))
	case 20:
		return rapid.SampledFrom([]string{setStats(small("s"), "x"), setPartStats(small("s"), "x"),
			fmt.Sprintf(`{"action":"remove-statistics","snapshot-id":%d}`, small("s"))}).Draw(t, "statistics")
	default:
		return fmt.Sprintf(`{"action":"upgrade-format-version","format-version":%d}`, rapid.IntRange(1, 3).Draw(t, "version"))
	}
}

// TestRandomHistories applies random update lists. Whatever is accepted can be
// parsed again to an equal value, breaks no invariant, and comes out the same
// when it is replayed from the facts that an event keeps.
func TestRandomHistories(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		version := rapid.IntRange(1, 3).Draw(t, "format version")
		m, _, err := Apply(nil, mustDecode(t, javaCreate(version)), testContext())
		if err != nil {
			t.Fatal(err)
		}
		file := "00000-a.metadata.json"
		for i := range rapid.IntRange(1, 12).Draw(t, "commits") {
			var list []string
			for range rapid.IntRange(1, 4).Draw(t, "updates") {
				list = append(list, randomUpdate(t, m))
			}
			text := "[" + strings.Join(list, ",") + "]"
			ctx := testContext()
			ctx.NowMS += int64(i) * rapid.Int64Range(-30_000, 30_000).Draw(t, "clock")
			ctx.MetadataLocation = file
			next, changed, err := Apply(m, mustDecode(t, text), ctx)
			if err != nil {
				if KindOf(err) == 0 {
					t.Fatalf("untyped error %v for %s", err, text)
				}
				continue
			}
			if !changed {
				if next != m {
					t.Fatal("unchanged, but not the base")
				}
				continue
			}
			invariants(t, m, next)
			// Replay: decoded again, from a parsed base, with the facts kept.
			base, err := ParseMetadata(bytes.Clone(m.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			again, _, err := Apply(base, mustDecode(t, text), next.Facts().Context())
			if err != nil || !bytes.Equal(again.Bytes(), next.Bytes()) {
				t.Fatalf("replay differs: %v\n%s\n%s", err, next.Bytes(), again.Bytes())
			}
			m, file = next, NextMetadataFile(next, file, "u")
		}
	})
}

func mustDecode(t *rapid.T, updates string) []Update {
	list, err := DecodeUpdates([]byte(updates))
	if err != nil {
		t.Fatalf("%s: %v", updates, err)
	}
	return list
}

func invariants(t *rapid.T, base, next *Metadata) {
	parsed, err := ParseMetadata(next.Bytes())
	if err != nil {
		t.Fatalf("%v\n%s", err, next.Bytes())
	}
	want := *next
	want.facts = BuildFacts{}
	if diff := diffMetadata(&want, parsed); diff != "" {
		t.Fatalf("%s\n%s", diff, next.Bytes())
	}
	if next.LastSequenceNumber() < base.LastSequenceNumber() || next.LastColumnID() < base.LastColumnID() ||
		next.LastPartitionID() < base.LastPartitionID() || next.NextRowID() < base.NextRowID() ||
		next.LastUpdatedMS() < base.LastUpdatedMS() || next.FormatVersion() < base.FormatVersion() {
		t.Fatalf("a counter went down\n%s\n%s", base.Bytes(), next.Bytes())
	}
	if log := next.MetadataLog(); len(log) == 0 || log[len(log)-1].TimestampMS != base.LastUpdatedMS() {
		t.Fatalf("metadata log does not end with the base: %v", log)
	}
	if id, ok := next.CurrentSnapshotID(); ok && len(next.history.entries) > 0 {
		if log := next.SnapshotLog(); log[len(log)-1].SnapshotID != id {
			t.Fatalf("snapshot log ends with %d, current is %d", log[len(log)-1].SnapshotID, id)
		}
	}
	sc, err := next.schema(next.currentSchemaID)
	if err != nil || sc == nil {
		t.Fatalf("current schema: %v", err)
	}
	i := slices.IndexFunc(next.specs, func(it item) bool { return it.id == next.defaultSpecID })
	spec, err := next.spec(next.specs[i])
	if err != nil {
		t.Fatal(err)
	}
	if err := spec.checkSources(sc); err != nil {
		t.Fatalf("default spec does not fit the current schema: %v", err)
	}
}

// TestApplyDoesNotTouchItsInputs: base and updates may be shared and applied
// again, as after a lost race.
func TestApplyDoesNotTouchItsInputs(t *testing.T) {
	t.Parallel()
	raw := []byte("[" + addSchemaJSON(schemaWith(column(1, "id", `"long"`), column(3, "ts", `"timestamp"`))) + "," + setLastSchema + "," +
		addSpecJSON(specField(3, "day", "d")) + "," + setLastSpec + "," + addOrderJSON(sortFieldJSON(1, "identity")) + "," + setLastOrder + "," +
		addSnapshotJSON(9, 2, 3) + "," + setMainJSON(9) + "," + setStats(9, "x") + `,{"action":"remove-snapshots","snapshot-ids":[1]},` +
		`{"action":"set-properties","updates":{"a":"b"}}]`)
	base := appended(t, newTable(t, 2), 2)
	rawBefore, docBefore := bytes.Clone(raw), bytes.Clone(base.Bytes())
	updates, err := DecodeUpdates(raw)
	if err != nil {
		t.Fatal(err)
	}
	first, _, err := Apply(base, updates, testContext())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan []byte, 8)
	for range cap(done) {
		go func() {
			next, _, err := Apply(base, updates, testContext())
			if err != nil {
				done <- []byte(err.Error())
				return
			}
			done <- next.Bytes()
		}()
	}
	for range cap(done) {
		if got := <-done; !bytes.Equal(got, first.Bytes()) {
			t.Errorf("concurrent apply: %s", got)
		}
	}
	if !bytes.Equal(raw, rawBefore) || !bytes.Equal(base.Bytes(), docBefore) {
		t.Error("an input was written to")
	}
	// On another base, as after a lost race.
	other := apply(t, base, `[{"action":"set-properties","updates":{"winner":"x"}}]`)
	if _, _, err := Apply(other, updates, testContext()); err != nil {
		t.Error(err)
	}
}

// TestSuccessorReleasesBase: a document keeps only its own bytes alive.
func TestSuccessorReleasesBase(t *testing.T) {
	t.Parallel()
	m := appended(t, newTable(t, 2), 2)
	old := bytes.Clone(m.Bytes())
	next := apply(t, m, `[{"action":"set-properties","updates":{"a":"b"}}]`)
	want := bytes.Clone(next.Bytes())
	for i := range m.doc { // would show through if next shared it
		m.doc[i] = 0
	}
	if !bytes.Equal(next.Bytes(), want) || bytes.Equal(m.doc, old) {
		t.Fatal("the successor shares bytes with its base")
	}
	checkBuilt(t, next)
	apply(t, next, "["+addSnapshotJSON(9, 2, 3)+","+setMainJSON(9)+"]")
}
