package iceberg

import (
	"fmt"
	"strings"
	"testing"
)

// The tests here have more parts than are searched without an index.

func TestManySnapshotsInOneRequest(t *testing.T) {
	t.Parallel()
	var list []string
	for i := int64(1); i <= 20; i++ {
		list = append(list, addSnapshotJSON(i, i-1, i), setMainJSON(i))
	}
	m := apply(t, newTable(t, 2), "["+strings.Join(list, ",")+"]")
	if logIDs(m) != "20" || m.SnapshotCount() != 20 || m.LastSequenceNumber() != 20 {
		t.Errorf("log %q, %d snapshots", logIDs(m), m.SnapshotCount())
	}
	refuse(t, m, "["+addSnapshotJSON(21, 20, 21)+","+addSnapshotJSON(22, 21, 22)+","+addSnapshotJSON(23, 22, 23)+","+
		addSnapshotJSON(24, 23, 24)+","+addSnapshotJSON(25, 24, 25)+","+addSnapshotJSON(26, 25, 26)+","+addSnapshotJSON(21, 20, 27)+"]",
		Validation, "Snapshot already exists for id: 21")
	refuse(t, m, "["+strings.Join(repeat(`{"action":"remove-snapshots","snapshot-ids":[%d]}`, 1, 9), ",")+","+addSnapshotJSON(9, 20, 21)+
		","+addSnapshotJSON(9, 20, 22)+"]", Validation, "Snapshot already exists for id: 9")
}

func repeat(format string, from, to int) []string {
	var out []string
	for i := from; i <= to; i++ {
		out = append(out, strings.ReplaceAll(format, "%d", fmt.Sprint(i)))
	}
	return out
}

func TestManyRefs(t *testing.T) {
	t.Parallel()
	m := appended(t, newTable(t, 2), 3)
	set := func(id int) []string {
		return repeat(`{"action":"set-snapshot-ref","ref-name":"tag%d","type":"tag","snapshot-id":`+fmt.Sprint(id)+`}`, 1, 30)
	}
	m = apply(t, m, "["+strings.Join(set(1), ",")+"]")
	if len(m.Refs()) != 31 {
		t.Fatalf("%d refs", len(m.Refs()))
	}
	// Moved away from the snapshot before it is removed, they stay.
	next := apply(t, m, "["+strings.Join(set(2), ",")+`,{"action":"remove-snapshots","snapshot-ids":[1]}]`)
	if len(next.Refs()) != 31 {
		t.Errorf("%d refs after a move", len(next.Refs()))
	}
	// A removal first counts the refs; those that come after count too.
	next = apply(t, m, `[{"action":"remove-snapshots","snapshot-ids":[3]},`+strings.Join(set(2), ",")+
		`,{"action":"remove-snapshot-ref","ref-name":"tag5"},{"action":"remove-snapshots","snapshot-ids":[2]}]`)
	if len(next.Refs()) != 0 {
		t.Errorf("refs left: %v", next.Refs())
	}
	// A removed ref's name is free for the other type.
	next = apply(t, m, `[{"action":"remove-snapshot-ref","ref-name":"tag7"},`+setRefJSON("tag7", "branch", 2, "")[1:])
	if r, _ := next.Ref("tag7"); r.Tag || r.SnapshotID != 2 {
		t.Errorf("%+v", r)
	}
}

func TestManyStatisticsOfOneSnapshot(t *testing.T) {
	t.Parallel()
	doc := strings.Replace(string(newTable(t, 2).Bytes()), `"statistics":[]`, `"statistics":[`+statsJSON(1, "a")+","+statsJSON(1, "b")+","+statsJSON(2, "c")+"]", 1)
	m, err := ParseMetadata([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	if next := apply(t, m, "["+setStats(1, "a")+"]"); len(next.stats) != 2 {
		t.Errorf("%d statistics, one a snapshot is left after a set", len(next.stats))
	}
	if next := apply(t, m, `[{"action":"remove-statistics","snapshot-id":1}]`); len(next.stats) != 1 {
		t.Errorf("%d statistics left", len(next.stats))
	}
	next := apply(t, m, "["+setStats(3, "x")+","+setStats(3, "y")+`,{"action":"remove-statistics","snapshot-id":2}]`)
	if len(next.stats) != 3 || !strings.Contains(string(next.Bytes()), `"y"`) {
		t.Errorf("%s", next.Bytes())
	}
}

func TestDuplicateMembersInWideObjects(t *testing.T) {
	t.Parallel()
	wide := func(n int, last string) string {
		var members []string
		for i := range n {
			members = append(members, fmt.Sprintf(`"k%d":"v"`, i))
		}
		return "{" + strings.Join(append(members, last), ",") + "}"
	}
	for _, n := range []int{5, pairwiseKeys - 1, pairwiseKeys, pairwiseKeys + 1, 500} {
		_, err := DecodeUpdates([]byte(`[{"action":"set-properties","updates":` + wide(n, `"\u006b3":"v"`) + `}]`))
		checkError(t, err, BadRequest, `duplicate member "k3"`)
		if _, err := DecodeUpdates([]byte(`[{"action":"set-properties","updates":` + wide(n, `"other":"v"`) + `}]`)); err != nil {
			t.Errorf("%d members: %v", n, err)
		}
	}
}

func TestStringsDecode(t *testing.T) {
	t.Parallel()
	m := apply(t, newTable(t, 2), `[{"action":"set-properties","updates":{"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00":"a\u0000b"}}]`)
	if v, ok := m.Property("\"\\/\b\f\n\r\té😀"); !ok || v != "a\x00b" {
		t.Errorf("%q in %v", v, m.Properties())
	}
	// What this package writes itself reads back.
	const name = "q\" s\\ n\n r\r t\t z\x00 é 😀"
	var c cursor
	c.data = appendString(nil, name)
	if got := c.str(""); got != name || c.err != nil {
		t.Errorf("%q, %v", got, c.err)
	}
	if got := string(appendString(nil, "a\xffb")); got != `"a`+"\ufffd"+`b"` {
		t.Errorf("invalid bytes become %s", got)
	}
}

func TestLongTextInErrorsIsClipped(t *testing.T) {
	t.Parallel()
	_, err := DecodeUpdates([]byte(`[{"action":"` + strings.Repeat("é", 5000) + `"}]`))
	if err == nil || len(err.Error()) > 200 {
		t.Errorf("message of %d bytes", len(err.Error()))
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	for k, want := range map[Kind]string{BadRequest: "BadRequest", IllegalArgument: "IllegalArgument", Validation: "Validation",
		CommitFailed: "CommitFailed", StaleCommit: "StaleCommit", Unsupported: "Unsupported", 0: "Kind(0)"} {
		if k.String() != want {
			t.Errorf("%d is %s", k, k)
		}
	}
	if KindOf(nil) != 0 || KindOf(fmt.Errorf("wrapped: %w", badRequest("x"))) != BadRequest {
		t.Error("KindOf")
	}
}

// TestDamagedParts walks the structural errors of every part of a document.
func TestDamagedParts(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ from, to, text string }{
		{`"refs":{"main"`, `"refs":[{"main"`, "Cannot parse"},
		{`"schemas":[`, `"schemas":[7,`, "Cannot parse to an object: schemas: 7"},
		{`"partition-specs":[{"spec-id":0,`, `"partition-specs":[{`, "Cannot parse missing int: spec-id"},
		{`"fields":[{"source-id":1,"field-id":1000,`, `"fields":[{"source-id":1,`, "Cannot parse missing int: field-id"},
		{`"order-id":1,`, ``, "Cannot parse missing int: order-id"},
		{`"direction":"asc",`, ``, "Cannot parse missing string: direction"},
		{`"null-order":"nulls-first",`, ``, "Cannot parse missing string: null-order"},
		{`"encryption-keys":[`, `"encryption-keys":[{"key-id":"k","encrypted-key-metadata":""},`, "duplicate encryption key: k"},
		{`"encrypted-key-metadata":"YQ==",`, ``, "Cannot parse missing string: encrypted-key-metadata"},
		{`"statistics-path":"s3://a/s.puffin",`, ``, "Cannot parse missing string: statistics-path"},
		{`"log-future":14`, `"log-future":14},{"snapshot-id":1`, "Cannot parse missing long: timestamp-ms"},
		{`"log-future":14`, `"log-future":14},{"timestamp-ms":1515100955770`, "Cannot parse missing long: snapshot-id"},
		{`"file-future":15`, `"file-future":15},{"timestamp-ms":1515100955770`, "Cannot parse missing string: metadata-file"},
		{`"file-future":15`, `"file-future":15},{"metadata-file":"x"`, "Cannot parse missing long: timestamp-ms"},
		{`"file-future":15`, `"file-future":15},{"metadata-file":7,"timestamp-ms":7`, "Cannot parse to a string value: metadata-file: 7"},
		{`"snapshots":[`, `"snapshots":[null,`, "Cannot parse to an object: snapshots: null"},
		{`"snapshot-log":[`, `"snapshot-log":[3,`, "Cannot parse to an object: snapshot-log: 3"},
		{`"metadata-log":[`, `"metadata-log":[3,`, "Cannot parse to an object: metadata-log: 3"},
		{`"type":"branch","ref-future"`, `"ref-future"`, "Cannot parse missing string: type"},
		{`"properties":{"a"`, `"properties":[{"a"`, "Cannot parse to a string map: properties"},
		{`"current-schema-id":1,`, ``, "Cannot parse missing int: current-schema-id"},
		{`"default-spec-id":0,`, ``, "Cannot parse missing int: default-spec-id"},
		{`"default-sort-order-id":1,`, ``, "Cannot parse missing int: default-sort-order-id"},
		{`"element-id":3,`, ``, "current schema: Cannot parse missing int: element-id"},
	} {
		text := tc.text
		doc := string(edited(t, strange, tc.from, tc.to))
		if strings.Contains(tc.to, "[{\"main\"") {
			doc = strings.Replace(doc, `"type":"tag"}}`, `"type":"tag"}}]`, 1)
		}
		if strings.Contains(tc.to, `[{"a"`) {
			doc = strings.Replace(doc, `"c":"d\/e"}`, `"c":"d\/e"}]`, 1)
		}
		_, err := ParseMetadata([]byte(doc))
		if err == nil || !strings.Contains(err.Error(), text) || KindOf(err) == 0 {
			t.Errorf("%s for %s: %v, want %s", tc.to, tc.from, err, text)
		}
	}
}

// TestRemovedPartsAreForgotten within the request that removes them.
func TestRemovedPartsAreForgotten(t *testing.T) {
	t.Parallel()
	m := newTable(t, 2)
	add := addSchemaJSON(schemaWith(column(1, "a", `"int"`)))
	const set, remove = `{"action":"set-current-schema","schema-id":1}`, `{"action":"remove-schemas","schema-ids":[1]}`
	used := set + `,{"action":"set-current-schema","schema-id":0}`
	refuse(t, m, "["+add+","+used+","+remove+","+set+"]", IllegalArgument, "Cannot set current schema to unknown schema: 1")
	refuse(t, m, "["+add+","+remove+","+setLastSchema+"]", Validation, "no schema has been added")
	if next := apply(t, m, "["+add+","+add+","+remove+","+add+","+setLastSchema+"]"); next.CurrentSchemaID() != 1 || len(next.schemas) != 2 {
		t.Errorf("a schema that was removed is taken for reused: %s", next.Bytes())
	}
	spec := addSpecJSON(specField(3, "day", "d"))
	if next := apply(t, m, "["+spec+`,{"action":"remove-partition-specs","spec-ids":[1]},`+spec+","+setLastSpec+"]"); next.DefaultSpecID() != 1 {
		t.Errorf("%s", next.Bytes())
	}
}

// TestEqualPropertyKeepsItsSpelling when another one changes.
func TestEqualPropertyKeepsItsSpelling(t *testing.T) {
	t.Parallel()
	m := apply(t, newTable(t, 2), `[{"action":"set-properties","updates":{"a":"\u0062"}}]`)
	m = apply(t, m, `[{"action":"set-properties","updates":{"a":"b","c":"d"}}]`)
	if !strings.Contains(string(m.Bytes()), `"a":"\u0062","c":"d"`) {
		t.Errorf("%s", m.Bytes())
	}
}

// TestIdentifierFieldsAreASet: order and repetition don't make a schema new.
func TestIdentifierFieldsAreASet(t *testing.T) {
	t.Parallel()
	with := func(ids string) string {
		return "[" + addSchemaJSON(`{"type":"struct","identifier-field-ids":`+ids+`,"fields":[{"id":1,"name":"a","required":true,"type":"int"},{"id":2,"name":"b","required":true,"type":"int"}]}`) + "]"
	}
	m := apply(t, newTable(t, 2), with("[1,2]"))
	if next := apply(t, m, with("[2,1,2]")); next != m {
		t.Errorf("%s", next.Bytes())
	}
}
