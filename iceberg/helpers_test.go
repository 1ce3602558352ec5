package iceberg

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

const (
	testNow  = int64(1_700_000_000_000)
	testUUID = "11111111-2222-4333-8444-555555555555"
	testBase = "s3://bucket/ns/t/metadata/00000-aaaa.metadata.json"
)

func testContext() BuildContext {
	return BuildContext{
		NowMS: testNow, MetadataLocation: testBase, NewUUID: func() string { return testUUID },
	}
}

const testSchema = `{"type":"struct","schema-id":0,"fields":[` +
	`{"id":1,"name":"id","required":true,"type":"long"},` +
	`{"id":2,"name":"data","required":false,"type":"string"},` +
	`{"id":3,"name":"ts","required":false,"type":"timestamp"},` +
	`{"id":4,"name":"point","required":false,"type":{"type":"struct","fields":[` +
	`{"id":5,"name":"x","required":true,"type":"int"},{"id":6,"name":"y","required":false,"type":"float"}]}},` +
	`{"id":7,"name":"tags","required":false,"type":{"type":"list","element-id":8,"element":"string","element-required":false}}]}`

// newTable makes a table with testSchema.
func newTable(t testing.TB, version int, extra ...string) *Metadata {
	t.Helper()
	body := fmt.Sprintf(`{"name":"t","location":"s3://bucket/ns/t/","schema":%s,"properties":{"format-version":"%d"}%s}`,
		testSchema, version, strings.Join(extra, ""))
	req, err := DecodeCreateRequest([]byte(body))
	if err != nil {
		t.Fatalf("decode create request: %v", err)
	}
	m, err := NewTable(req, testContext())
	if err != nil {
		t.Fatalf("new table: %v", err)
	}
	checkBuilt(t, m)
	return m
}

// checkBuilt holds the invariant that parsing a built document gives an equal
// value.
func checkBuilt(t testing.TB, m *Metadata) {
	t.Helper()
	if !json.Valid(m.Bytes()) {
		t.Fatalf("built document is not JSON: %s", m.Bytes())
	}
	p, err := ParseMetadata(m.Bytes())
	if err != nil {
		t.Fatalf("built document cannot be parsed: %v\n%s", err, m.Bytes())
	}
	want := *m
	want.facts = BuildFacts{}
	if diff := diffMetadata(&want, p); diff != "" {
		t.Fatalf("parsed document differs from the built one: %s\n%s", diff, m.Bytes())
	}
}

func diffMetadata(a, b *Metadata) string {
	x, y := reflect.ValueOf(*a), reflect.ValueOf(*b)
	for i := range x.NumField() {
		f, g := x.Field(i), y.Field(i)
		if f.Kind() == reflect.Slice && f.Len() == 0 && g.Len() == 0 {
			continue
		}
		if fs, gs := fmt.Sprintf("%+v", f), fmt.Sprintf("%+v", g); fs != gs {
			return fmt.Sprintf("%s: %s != %s", x.Type().Field(i).Name, clip([]byte(fs)), clip([]byte(gs)))
		}
	}
	return ""
}

// decode reads updates or fails the test.
func decode(t testing.TB, updates string) []Update {
	t.Helper()
	list, err := DecodeUpdates([]byte(updates))
	if err != nil {
		t.Fatalf("decode %s: %v", updates, err)
	}
	return list
}

// apply applies a JSON array of updates that must be accepted.
func apply(t testing.TB, base *Metadata, updates string) *Metadata {
	t.Helper()
	next, changed, err := Apply(base, decode(t, updates), testContext())
	if err != nil {
		t.Fatalf("apply %s: %v", updates, err)
	}
	if changed {
		checkBuilt(t, next)
	} else if next != base {
		t.Fatalf("apply %s: unchanged, but not the base", updates)
	}
	return next
}

// refuse applies updates that must be refused with this kind and text.
func refuse(t testing.TB, base *Metadata, updates string, kind Kind, text string) {
	t.Helper()
	list, err := DecodeUpdates([]byte(updates))
	if err == nil {
		_, _, err = Apply(base, list, testContext())
	}
	checkError(t, err, kind, text)
}

func checkError(t testing.TB, err error, kind Kind, text string) {
	t.Helper()
	if err == nil {
		t.Fatalf("accepted, want %v %q", kind, text)
	}
	if KindOf(err) != kind || !strings.Contains(err.Error(), text) {
		t.Fatalf("got %v %q, want %v %q", KindOf(err), err.Error(), kind, text)
	}
}

// snapshotJSON makes a snapshot; parent 0 means none.
func snapshotJSON(id, parent, sequence int64) string {
	p := ""
	if parent != 0 {
		p = fmt.Sprintf(`"parent-snapshot-id":%d,`, parent)
	}
	return fmt.Sprintf(`{"snapshot-id":%d,%s"sequence-number":%d,"timestamp-ms":%d,"summary":{"operation":"append","added-records":"3"},`+
		`"manifest-list":"s3://bucket/ns/t/metadata/snap-%d.avro","schema-id":0}`, id, p, sequence, testNow+sequence, id)
}

func addSnapshotJSON(id, parent, sequence int64) string {
	return `{"action":"add-snapshot","snapshot":` + snapshotJSON(id, parent, sequence) + `}`
}

func setMainJSON(id int64) string {
	return fmt.Sprintf(`{"action":"set-snapshot-ref","ref-name":"main","type":"branch","snapshot-id":%d}`, id)
}

// appended adds n snapshots to main, one commit each, with ids from 1.
func appended(t testing.TB, base *Metadata, n int64) *Metadata {
	t.Helper()
	for i := int64(1); i <= n; i++ {
		base = apply(t, base, "["+addSnapshotJSON(i, i-1, i)+","+setMainJSON(i)+"]")
	}
	return base
}
