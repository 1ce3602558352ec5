package iceberg

import (
	"encoding/json"
	"strings"
	"testing"
)

// edited replaces once, and fails when there is nothing to replace.
func edited(t *testing.T, doc string, pairs ...string) []byte {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(doc, pairs[i]) {
			t.Fatalf("no %s in %s", pairs[i], doc)
		}
		doc = strings.Replace(doc, pairs[i], pairs[i+1], 1)
	}
	return []byte(doc)
}

func TestParseRejects(t *testing.T) {
	t.Parallel()
	doc := string(appended(t, newTable(t, 2), 2).Bytes())
	v3 := string(newTable(t, 3).Bytes())
	for _, tc := range []struct {
		name string
		doc  []byte
		kind Kind
		text string
	}{
		{"empty", nil, BadRequest, "non-object"},
		{"not an object", []byte("[]"), BadRequest, "non-object"},
		{"cut off", []byte(doc[:len(doc)/2]), BadRequest, "Invalid JSON at offset"},
		{"trailing data", []byte(doc + "{}"), BadRequest, "unexpected data after the value"},
		{"version 4", edited(t, doc, `"format-version":2`, `"format-version":4`), Unsupported, "Cannot read unsupported version 4"},
		{"version 0", edited(t, doc, `"format-version":2`, `"format-version":0`), Unsupported, "Cannot read unsupported version 0"},
		{"no version", edited(t, doc, `"format-version"`, `"x"`), BadRequest, "Cannot parse missing int: format-version"},
		{"no uuid", edited(t, doc, `"table-uuid"`, `"x"`), IllegalArgument, "UUID is required in format v2"},
		{"no location", edited(t, doc, `"location"`, `"x"`), BadRequest, "Cannot parse missing string: location"},
		{"no last-updated-ms", edited(t, doc, `"last-updated-ms"`, `"x"`), BadRequest, "Cannot parse missing long: last-updated-ms"},
		{"no last-column-id", edited(t, doc, `"last-column-id"`, `"x"`), BadRequest, "Cannot parse missing int: last-column-id"},
		{"no last-sequence-number", edited(t, doc, `"last-sequence-number"`, `"x"`), BadRequest, "Cannot parse missing long: last-sequence-number"},
		{"no schemas", edited(t, doc, `"schemas"`, `"x"`), BadRequest, "schemas must exist in format v2"},
		{"no partition-specs", edited(t, doc, `"partition-specs"`, `"x"`), BadRequest, "partition-specs must exist in format v2"},
		{"no sort-orders", edited(t, doc, `"sort-orders"`, `"x"`), BadRequest, "sort-orders must exist in format v2"},
		{"no last-partition-id", edited(t, doc, `"last-partition-id"`, `"x"`), BadRequest, "last-partition-id must exist in format v2"},
		{"no next-row-id in v3", edited(t, v3, `"next-row-id"`, `"x"`), BadRequest, "Cannot parse missing long: next-row-id"},
		{"current schema", edited(t, doc, `"current-schema-id":0`, `"current-schema-id":5`), Validation, "Cannot find schema with current-schema-id=5 from schemas"},
		{"default spec", edited(t, doc, `"default-spec-id":0`, `"default-spec-id":5`), Validation, "Cannot find partition spec with default-spec-id=5"},
		{"default order", edited(t, doc, `"default-sort-order-id":0`, `"default-sort-order-id":5`), Validation, "Cannot find sort order with default-sort-order-id=5"},
		{"main is current", edited(t, doc, `"current-snapshot-id":2`, `"current-snapshot-id":1`), Validation, "Current snapshot ID does not match main branch (1 != 2)"},
		{"main without current", edited(t, doc, `"current-snapshot-id":2`, `"current-snapshot-id":-1`), Validation, "Current snapshot is not set, but main branch exists: 2"},
		{"snapshot of a ref", edited(t, doc, `{"main":{"snapshot-id":2`, `{"dev":{"snapshot-id":9,"type":"branch"},"main":{"snapshot-id":2`), Validation, "Snapshot for reference dev does not exist"},
		{"duplicate snapshot", edited(t, doc, `{"snapshot-id":2,"parent`, `{"snapshot-id":1,"parent`), Validation, "duplicate snapshot-id: 1"},
		{"sequence above the last", edited(t, doc, `"last-sequence-number":2`, `"last-sequence-number":1`), Validation, "Invalid snapshot with sequence number 2 greater than last sequence number 1"},
		{"duplicate member", edited(t, doc, `"properties"`, `"location":"x","properties"`), BadRequest, `duplicate member "location"`},
		{"duplicate member in a snapshot", edited(t, doc, `"added-records":"3"`, `"added-records":"3","added-records":"4"`), BadRequest, `duplicate member "added-records"`},
		{"duplicate schema", edited(t, doc, `"schemas":[`, `"schemas":[{"schema-id":0,"type":"struct","fields":[]},`), Validation, "duplicate schema-id: 0"},
		{"id beyond 64 bits", edited(t, doc, `"current-snapshot-id":2`, `"current-snapshot-id":99999999999999999999`), BadRequest, "Cannot parse to a long value: current-snapshot-id"},
		{"property that is no string", edited(t, doc, `"properties":{`, `"properties":{"n":1,`), BadRequest, "Cannot parse to a string value: n"},
		{"snapshot log backwards", edited(t, doc, `"snapshot-log":[`, `"snapshot-log":[{"timestamp-ms":1900000000000,"snapshot-id":1},`), Validation, "Expected sorted snapshot log entries"},
		{"last update before the log", edited(t, doc, `"last-updated-ms":17`, `"last-updated-ms":16`), Validation, "before last snapshot log entry"},
		{"last update before the metadata log", edited(t, string(newTable(t, 2).Bytes()), `"metadata-log":[`, `"metadata-log":[{"timestamp-ms":1900000000000,"metadata-file":"x"}`), Validation, "before the latest metadata log entry"},
		{"metadata log backwards", edited(t, doc, `"metadata-log":[`, `"metadata-log":[{"timestamp-ms":1900000000000,"metadata-file":"x"},`), Validation, "Expected sorted previous metadata log entries"},
		{"timestamps at the ends of 64 bits", edited(t, doc, `"snapshot-log":[`, `"snapshot-log":[{"timestamp-ms":9223372036854775807,"snapshot-id":1},{"timestamp-ms":-9223372036854775808,"snapshot-id":1},`), Validation, "Expected sorted"},
		{"invalid UTF-8", edited(t, doc, "s3://bucket", "s3://\xff"), BadRequest, "invalid UTF-8"},
		{"empty location", edited(t, doc, `"location":"s3://bucket/ns/t"`, `"location":""`), Validation, "Invalid location: empty"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseMetadata(tc.doc)
			checkError(t, err, tc.kind, tc.text)
			checkError(t, err, tc.kind, "Cannot parse table metadata: ")
		})
	}
}

// oldV1 is a document as writers from before schemas, specs, sort orders,
// branches and uuids made it.
const oldV1 = `{"format-version":1,"location":"s3://bucket/old","last-updated-ms":1600000000000,"last-column-id":2,` +
	`"schema":{"type":"struct","fields":[{"id":1,"name":"a","required":true,"type":"long"},{"id":2,"name":"b","required":false,"type":"string"}]},` +
	`"partition-spec":[{"name":"a_bucket","transform":"bucket[8]","source-id":1},{"name":"b","transform":"identity","source-id":2}],` +
	`"properties":{"owner":"x"},"current-snapshot-id":7,"snapshots":[{"snapshot-id":7,"timestamp-ms":1600000000000,"manifest-list":"s3://bucket/old/m.avro"}]}`

// oldUUID comes from the bytes of oldV1 alone, so that replay finds it again.
const oldUUID = "a905d7d1-0240-8c00-b78e-f5c8936aa362"

func TestOldV1Document(t *testing.T) {
	t.Parallel()
	m, err := ParseMetadata([]byte(oldV1))
	if err != nil {
		t.Fatal(err)
	}
	if r, ok := m.Ref(MainBranch); !ok || r.SnapshotID != 7 || m.LastPartitionID() != 1001 || m.UUID() != "" || m.DefaultSortOrderID() != 0 {
		t.Errorf("main %v, last partition id %d, uuid %q", r, m.LastPartitionID(), m.UUID())
	}
	next := apply(t, m, `[{"action":"set-properties","updates":{"k":"v"}}]`)
	const want = `{"format-version":1,"table-uuid":"` + oldUUID + `","location":"s3://bucket/old","last-updated-ms":1700000000000,"last-column-id":2,` +
		`"schema":{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"a","required":true,"type":"long"},{"id":2,"name":"b","required":false,"type":"string"}]},` +
		`"current-schema-id":0,"schemas":[{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"a","required":true,"type":"long"},{"id":2,"name":"b","required":false,"type":"string"}]}],` +
		`"partition-spec":[{"name":"a_bucket","transform":"bucket[8]","source-id":1,"field-id":1000},{"name":"b","transform":"identity","source-id":2,"field-id":1001}],` +
		`"default-spec-id":0,"partition-specs":[{"spec-id":0,"fields":[{"name":"a_bucket","transform":"bucket[8]","source-id":1,"field-id":1000},{"name":"b","transform":"identity","source-id":2,"field-id":1001}]}],` +
		`"last-partition-id":1001,"default-sort-order-id":0,"sort-orders":[{"order-id":0,"fields":[]}],"properties":{"owner":"x","k":"v"},` +
		`"current-snapshot-id":7,"refs":{"main":{"snapshot-id":7,"type":"branch"}},"snapshots":[{"snapshot-id":7,"timestamp-ms":1600000000000,"manifest-list":"s3://bucket/old/m.avro"}],` +
		`"statistics":[],"partition-statistics":[],"snapshot-log":[],"metadata-log":[{"timestamp-ms":1600000000000,"metadata-file":"s3://bucket/ns/t/metadata/00000-aaaa.metadata.json"}]}`
	if got := string(next.Bytes()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	again, _, err := Apply(m, decode(t, `[{"action":"set-properties","updates":{"k":"v"}}]`), BuildContext{NowMS: testNow, MetadataLocation: testBase})
	if err != nil || string(again.Bytes()) != want {
		t.Errorf("without a source of uuids: %v", err)
	}
	for _, v := range []string{"2", "3"} {
		apply(t, m, `[{"action":"upgrade-format-version","format-version":`+v+`}]`)
	}
	// A document without uuid may still be given one, once.
	if next := apply(t, m, `[{"action":"assign-uuid","uuid":"abc"}]`); next.UUID() != "abc" {
		t.Errorf("uuid %q", next.UUID())
	}
}

// TestV1VoidField: in v1 a dropped partition column stays as a void field.
func TestV1VoidField(t *testing.T) {
	t.Parallel()
	m, err := ParseMetadata([]byte(oldV1))
	if err != nil {
		t.Fatal(err)
	}
	m = apply(t, m, "["+addSpecJSON(specFieldID(1, 1000, "void", "a_bucket"), specFieldID(2, 1001, "identity", "b"))+","+setLastSpec+"]")
	m = apply(t, m, "["+addSchemaJSON(schemaWith(column(2, "b", `"string"`)))+","+setLastSchema+"]")
	if m.CurrentSchemaID() != 1 || m.DefaultSpecID() != 1 {
		t.Errorf("%s", m.Bytes())
	}
}

func TestExplicitNullsInDocument(t *testing.T) {
	t.Parallel()
	doc := edited(t, string(newTable(t, 3).Bytes()), `"refs":{}`, `"refs":null`, `"snapshots":[]`, `"snapshots":null`,
		`"statistics":[]`, `"statistics":null`, `"snapshot-log":[]`, `"snapshot-log":null`, `"metadata-log":[]`, `"metadata-log":null`)
	m, err := ParseMetadata(doc)
	if err != nil {
		t.Fatal(err)
	}
	next := apply(t, m, `[{"action":"set-properties","updates":{"k":"v"}}]`)
	for _, piece := range []string{`"current-snapshot-id":null`, `"refs":{}`, `"snapshots":[]`, `"statistics":[]`, `"snapshot-log":[]`} {
		if !strings.Contains(string(next.Bytes()), piece) {
			t.Errorf("no %s in %s", piece, next.Bytes())
		}
	}
}

// TestCurrentSnapshotIDOutput: -1 in v1 and v2, null in v3.
func TestCurrentSnapshotIDOutput(t *testing.T) {
	t.Parallel()
	for version, want := range map[int]string{1: `"current-snapshot-id":-1,`, 2: `"current-snapshot-id":-1,`, 3: `"current-snapshot-id":null,`} {
		if m := newTable(t, version); !strings.Contains(string(m.Bytes()), want) {
			t.Errorf("v%d: no %s in %s", version, want, m.Bytes())
		}
	}
}

// TestMemberOrder: members stand as Java prints them, whatever the base's
// order; unknown ones follow.
func TestMemberOrder(t *testing.T) {
	t.Parallel()
	m, err := ParseMetadata([]byte(strange))
	if err != nil {
		t.Fatal(err)
	}
	next := apply(t, m, `[{"action":"set-properties","updates":{"k":"v"}}]`)
	dec := json.NewDecoder(strings.NewReader(string(next.Bytes())))
	var order []string
	depth := 0
	for key := true; ; key = !key {
		tok, err := dec.Token()
		if err != nil {
			break
		}
		if d, ok := tok.(json.Delim); ok && depth == 0 && d == '{' {
			depth, key = 1, false
			continue
		}
		if s, ok := tok.(string); ok && key {
			order = append(order, s)
			var skip json.RawMessage
			if err := dec.Decode(&skip); err != nil {
				t.Fatal(err)
			}
			key = false
		}
	}
	const want = "format-version table-uuid location last-sequence-number last-updated-ms last-column-id current-schema-id schemas " +
		"default-spec-id partition-specs last-partition-id default-sort-order-id sort-orders properties current-snapshot-id next-row-id " +
		"encryption-keys refs snapshots statistics partition-statistics snapshot-log metadata-log future-top another-future"
	if got := strings.Join(order, " "); got != want {
		t.Errorf("order\n%s\nwant\n%s", got, want)
	}
}

func TestCursorAgreesWithEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, `[]`, `""`, `0`, `-0`, `1.5e-7`, `true`, `false`, `null`, ` { "a" : [ 1 , { } ] } `, `"\u00e9\n\"\\\/\b\f\r\t"`, `"\ud83d\ude00"`, `"日本"`,
		``, `{`, `}`, `[1,]`, `{"a":1,}`, `{"a"}`, `{"a":}`, `{a:1}`, `01`, `1.`, `.5`, `1e`, `+1`, `-`, `tru`, `nul`, `"`, `"\x"`, `"\u12"`, "\"\t\"", `[1 2]`, `{"a":1 "b":2}`, `1 2`,
		`"` + strings.Repeat("a", 7) + `\n` + strings.Repeat("b", 20) + `"`, `"` + strings.Repeat("a", 100), `[` + strings.Repeat(" ", 50) + `]`,
	} {
		c := &cursor{data: []byte(text)}
		c.skip()
		c.end()
		if (c.err == nil) != json.Valid([]byte(text)) {
			t.Errorf("%q: %v, encoding/json says %v", text, c.err, json.Valid([]byte(text)))
		}
	}
}

func TestAccessors(t *testing.T) {
	t.Parallel()
	m, err := ParseMetadata([]byte(strange))
	if err != nil {
		t.Fatal(err)
	}
	if got := m.MetadataLog(); len(got) != 1 || got[0] != (MetadataLogEntry{1515100, "s3://bucket/t/metadata/00000-a.metadata.json"}) {
		t.Errorf("metadata log %v", got)
	}
	if r, ok := m.Ref("täg"); !ok || !r.Tag || r.SnapshotID != 3051729675574597004 || len(m.Refs()) != 2 {
		t.Errorf("ref %v", r)
	}
	if v, ok := m.Property("a"); !ok || v != "b" || m.Properties()["c"] != "d/e" || m.Location() != "s3://bucket/t" {
		t.Errorf("property %q", v)
	}
	s, ok := m.Snapshot(3055729675574597004)
	if !ok || s.ParentID != 3051729675574597004 || s.SequenceNumber != 1 || s.TimestampMS != 1555100955770 {
		t.Errorf("snapshot %+v", s)
	}
	if _, ok := m.SnapshotSummary(1); ok {
		t.Error("summary of an unknown snapshot")
	}
	if m.LastSequenceNumber() != 34 || m.NextRowID() != 100 || m.LastColumnID() != 6 || m.LastPartitionID() != 1000 {
		t.Error("counters")
	}
}

// TestV1SpecsWithoutFieldIDs: a rewrite fills them in.
func TestV1SpecsWithoutFieldIDs(t *testing.T) {
	t.Parallel()
	doc := edited(t, oldV1, `"properties"`, `"default-spec-id":3,"partition-specs":[{"spec-id":3,"fields":[{"name":"b","transform":"identity","source-id":2},{"name":"a_bucket","transform":"bucket[8]","source-id":1}]}],"properties"`)
	m, err := ParseMetadata(doc)
	if err != nil {
		t.Fatal(err)
	}
	next := apply(t, m, `[{"action":"set-properties","updates":{"k":"v"}}]`)
	const fields = `"fields":[{"name":"b","transform":"identity","source-id":2,"field-id":1000},{"name":"a_bucket","transform":"bucket[8]","source-id":1,"field-id":1001}]`
	if !strings.Contains(string(next.Bytes()), `"partition-specs":[{"spec-id":3,`+fields) {
		t.Errorf("%s", next.Bytes())
	}
}
