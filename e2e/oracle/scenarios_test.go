package oracle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/iceberg"
)

// scenario meets one known difference that generated histories rarely meet.
type scenario struct {
	name string
	step *step
}

// scenarioBase makes a table with two snapshots, the second on main.
func scenarioBase(t *testing.T, version int, now int64) *iceberg.Metadata {
	t.Helper()
	g := &generator{now: now}
	s := &step{updates: g.create(version), now: now}
	s.ours, s.oursErr = s.runOurs()
	if s.oursErr != nil {
		t.Fatal(s.oursErr)
	}
	next := &step{base: s.ours, file: "00000-a.metadata.json", now: now, updates: "[" +
		snapshot(1, 0, now, version, "") + "," + snapshot(2, 1, now, version, "") + "," + setRef("main", "branch", 2) + "]"}
	next.ours, next.oursErr = next.runOurs()
	if next.oursErr != nil {
		t.Fatal(next.oursErr)
	}
	return next.ours
}

func snapshot(id, parent, at int64, version int, extra string) string {
	s := fmt.Sprintf(`{"snapshot-id":%d,"timestamp-ms":%d,"summary":{"operation":"append"},"manifest-list":"m"`, id, at)
	if version > 1 {
		s += fmt.Sprintf(`,"sequence-number":%d`, id)
	}
	if version == 3 {
		s += fmt.Sprintf(`,"first-row-id":%d,"added-rows":1`, id-1)
	}
	if parent > 0 {
		s += fmt.Sprintf(`,"parent-snapshot-id":%d`, parent)
	}
	return `{"action":"add-snapshot","snapshot":` + s + extra + `}}`
}

func scenarios(t *testing.T) []scenario {
	now := time.Now().UnixMilli()
	var list []scenario
	on := func(base *iceberg.Metadata, name, updates string) {
		list = append(list, scenario{name, &step{base: base, updates: updates, file: "00001-b.metadata.json", now: now}})
	}
	v2, v3 := scenarioBase(t, 2, now), scenarioBase(t, 3, now)
	edited := func(m *iceberg.Metadata, from, to string) *iceberg.Metadata {
		doc := strings.Replace(string(m.Bytes()), from, to, 1)
		if doc == string(m.Bytes()) {
			t.Fatalf("no %s", from)
		}
		out, err := iceberg.ParseMetadata([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	const property = `[{"action":"set-properties","updates":{"x":"y"}}]`
	column := func(extra string) string {
		return `[{"action":"add-schema","schema":{"type":"struct",` + extra + `}}]`
	}

	on(edited(v2, `"properties"`, `"future":{"a":1},"properties"`), "unknown member at the top", property)
	on(edited(v2, `"manifest-list":"m"`, `"manifest-list":"m","future":1`), "unknown member of a snapshot", property)
	on(v3, "key-id of a snapshot", "["+snapshot(3, 2, now, 3, `,"key-id":"k"`)+"]")
	v1 := &step{base: scenarioBase(t, 1, now), now: now, updates: `[{"action":"add-spec","spec":{"fields":[{"source-id":3,"field-id":1000,"transform":"day","name":"d"}]}}]`}
	if v1.ours, v1.oursErr = v1.runOurs(); v1.oursErr != nil {
		t.Fatal(v1.oursErr)
	}
	on(v1.ours, "equal spec in v1", strings.Replace(v1.updates, "1000", "1001", 1))
	on(v2, "main as a tag", "["+setRef("main", "tag", 1)+"]")
	on(v2, "branch to tag", "["+setRef("b", "branch", 1)+","+setRef("b", "tag", 2)+"]")
	on(v2, "retention of zero", `[{"action":"set-snapshot-ref","ref-name":"b","type":"branch","snapshot-id":1,"min-snapshots-to-keep":0}]`)
	on(v2, "optional identifier field", column(`"identifier-field-ids":[1],"fields":[{"id":1,"name":"id","required":false,"type":"long"}]`))
	on(v2, "missing identifier field", column(`"identifier-field-ids":[9],"fields":[{"id":1,"name":"id","required":false,"type":"long"}]`))
	on(v2, "another uuid", `[{"action":"assign-uuid","uuid":"99999999-2222-4333-8444-555555555555"}]`)
	on(v2, "reserved property", `[{"action":"set-properties","updates":{"format-version":"3"}}]`)
	on(v2, "slash at the end", `[{"action":"set-location","location":"s3://bucket/elsewhere/"}]`)
	on(v2, "action in capitals", `[{"action":"SET-LOCATION","location":"s3://bucket/elsewhere"}]`)
	on(v2, "old snapshot on a branch", "["+snapshot(3, 2, now-3_600_000, 2, "")+","+setRef("b", "branch", 3)+"]")
	on(v2, "encryption key in v2", `[{"action":"add-encryption-key","encryption-key":{"key-id":"k","encrypted-key-metadata":"YWJj"}}]`)
	on(edited(v2, "11111111-2222-4333-8444-555555555555", "not-a-uuid"), "odd table-uuid", property)
	on(v2, "unknown transform as default", `[{"action":"add-spec","spec":{"fields":[{"source-id":1,"field-id":1000,"transform":"zorder","name":"z"}]}},{"action":"set-default-spec","spec-id":-1}]`)
	on(v2, "partition named like another column", `[{"action":"add-spec","spec":{"fields":[{"source-id":1,"field-id":1000,"transform":"bucket[2]","name":"data"}]}}]`)
	on(v2, "names that collide", column(`"fields":[{"id":1,"name":"a","required":false,"type":{"type":"struct","fields":[{"id":2,"name":"b","required":false,"type":"int"}]}},{"id":3,"name":"a.b","required":false,"type":"int"}]`))
	on(edited(v3, `"properties":{`, `"properties":{"encryption.key-id":"k1",`), "change of the encryption key", `[{"action":"set-properties","updates":{"encryption.key-id":"k2"}}]`)
	on(v2, "snapshot without manifest list", `[{"action":"add-snapshot","snapshot":{"snapshot-id":9,"sequence-number":9,"timestamp-ms":`+fmt.Sprint(now)+`,"summary":{"operation":"append"}}}]`)
	const schemaAs = `{"action":"add-schema","schema":{"type":"struct","schema-id":%d,"fields":[{"id":1,"name":"id","required":false,"type":"long"}]}},{"action":"set-current-schema","schema-id":-1}`
	on(v2, "remove by the client's id", fmt.Sprintf("["+schemaAs+`,{"action":"remove-schemas","schema-ids":[1]}]`, 7))
	on(v2, "remove by the client's id, the other way", fmt.Sprintf("["+schemaAs+`,{"action":"remove-schemas","schema-ids":[7]}]`, 7))
	on(v3, "row ids after a gap", "["+snapshot(9, 0, now, 3, "")+","+strings.Replace(snapshot(10, 0, now, 3, ""), `"first-row-id":9`, `"first-row-id":5`, 1)+"]")
	on(v2, "statistics of a snapshot that is not there", `[{"action":"set-statistics","statistics":{"snapshot-id":34,"statistics-path":"s","file-size-in-bytes":1,"file-footer-size-in-bytes":1,"blob-metadata":[]}},{"action":"remove-snapshots","snapshot-ids":[34]}]`)
	return list
}
