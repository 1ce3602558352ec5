package iceberg

import (
	"fmt"
	"strings"
	"testing"
)

func addRaw(snapshot string) string {
	return `[{"action":"add-snapshot","snapshot":` + snapshot + `}]`
}

func TestAddSnapshotRules(t *testing.T) {
	t.Parallel()
	m := appended(t, newTable(t, 2), 3)
	const stalePrefix = "Validation failed, please retry: "
	for _, tc := range []struct {
		name, updates string
		kind          Kind
		text          string
	}{
		{"duplicate id", "[" + addSnapshotJSON(2, 3, 4) + "]", Validation, "Snapshot already exists for id: 2"},
		{"duplicate in the request", "[" + addSnapshotJSON(9, 3, 4) + "," + addSnapshotJSON(9, 3, 5) + "]", Validation, "Snapshot already exists for id: 9"},
		{"old sequence number is a 409", "[" + addSnapshotJSON(9, 3, 2) + "]", StaleCommit,
			stalePrefix + "Cannot add snapshot with sequence number 2 older than last sequence number 3"},
		{"equal sequence number is a 409", "[" + addSnapshotJSON(9, 3, 3) + "]", StaleCommit, stalePrefix},
		{"second of a request continues the first", "[" + addSnapshotJSON(9, 3, 4) + "," + addSnapshotJSON(10, 9, 4) + "]", StaleCommit,
			stalePrefix + "Cannot add snapshot with sequence number 4 older than last sequence number 4"},
		{"missing sequence number with a parent", addRaw(`{"snapshot-id":9,"parent-snapshot-id":3,"timestamp-ms":5,"manifest-list":"x","summary":{}}`), BadRequest, "Cannot parse missing long: sequence-number"},
		{"negative sequence number", addRaw(`{"snapshot-id":9,"sequence-number":-4,"timestamp-ms":5,"manifest-list":"x","summary":{}}`), Validation, "Invalid sequence number: -4"},
		{"missing id", addRaw(`{"timestamp-ms":5,"manifest-list":"x"}`), BadRequest, "Cannot parse missing long: snapshot-id"},
		{"-1 is no id", addRaw(`{"snapshot-id":-1,"timestamp-ms":5,"manifest-list":"x"}`), Validation, "Invalid snapshot id: -1"},
		{"missing timestamp", addRaw(`{"snapshot-id":9,"manifest-list":"x"}`), BadRequest, "Cannot parse missing long: timestamp-ms"},
		{"missing manifest list", addRaw(`{"snapshot-id":9,"timestamp-ms":5}`), BadRequest, "Cannot parse missing string: manifest-list"},
		{"summary of strings", addRaw(`{"snapshot-id":9,"timestamp-ms":5,"manifest-list":"x","summary":{"added-records":3}}`), BadRequest, "Cannot parse to a string value: added-records"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			refuse(t, m, tc.updates, tc.kind, tc.text)
		})
	}
	refuse(t, nil, `[{"action":"assign-uuid","uuid":"u"},`+addSnapshotJSON(1, 0, 1)+"]", Validation, "Attempting to add a snapshot before a schema is added")
	refuse(t, nil, "["+addSchemaJSON(testSchema)+","+addSnapshotJSON(1, 0, 1)+"]", Validation, "Attempting to add a snapshot before a partition spec is added")
	refuse(t, nil, "["+addSchemaJSON(testSchema)+","+setLastSchema+","+addSpecJSON()+","+addSnapshotJSON(1, 0, 1)+"]", Validation, "Attempting to add a snapshot before a sort order is added")
}

// TestStaleFirstSnapshot: a snapshot without parent may have an old number
// (concurrent replace); the table's last number must not go down with it,
// else the document could not be read again.
func TestStaleFirstSnapshot(t *testing.T) {
	t.Parallel()
	m := appended(t, newTable(t, 2), 3)
	m = apply(t, m, `[{"action":"remove-snapshot-ref","ref-name":"main"},`+addSnapshotJSON(9, 0, 1)+","+setMainJSON(9)+"]")
	if m.LastSequenceNumber() != 3 {
		t.Errorf("last-sequence-number %d, want 3", m.LastSequenceNumber())
	}
	// As in Java the request goes on from the stale number.
	m = apply(t, m, "["+addSnapshotJSON(10, 0, 2)+","+addSnapshotJSON(11, 10, 3)+"]")
	if m.LastSequenceNumber() != 3 {
		t.Errorf("last-sequence-number %d, want 3", m.LastSequenceNumber())
	}
}

func TestSnapshotBytesAreKept(t *testing.T) {
	t.Parallel()
	const s = `{"snapshot-id": 3055729675574597004, "sequence-number":1,"timestamp-ms":1700000000005,"key-id":"k1","future":{"a":[1,2.50]},"summary":{"operation":"append","x":"\u00e9\/"},"manifest-list":"s3:\/\/b","schema-id":0}`
	m := apply(t, newTable(t, 2), addRaw(s))
	if !strings.Contains(string(m.Bytes()), `"snapshots":[`+s+`]`) {
		t.Errorf("snapshot changed: %s", m.Bytes())
	}
	if sum, ok := m.SnapshotSummary(3055729675574597004); !ok || sum["x"] != "é/" || sum["operation"] != "append" {
		t.Errorf("summary %v", sum)
	}
}

// TestSnapshotTidying: members that stand for absence go, a summary is added
// where there is none, an operation is never invented.
func TestSnapshotTidying(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, want string }{
		{"parent -1 (ClickHouse)", `{"snapshot-id":9,"parent-snapshot-id":-1,"timestamp-ms":5,"manifest-list":"x","summary":{}}`,
			`{"snapshot-id":9,"timestamp-ms":5,"manifest-list":"x","summary":{}}`},
		{"nulls", `{"snapshot-id":9,"parent-snapshot-id":null,"timestamp-ms":5,"manifest-list":"x","summary":{"a":"b"},"schema-id":null,"key-id":null,"first-row-id":null}`,
			`{"snapshot-id":9,"timestamp-ms":5,"manifest-list":"x","summary":{"a":"b"}}`},
		{"no summary (DuckDB needs one)", `{"snapshot-id":9,"timestamp-ms":5,"manifest-list":"x"}`,
			`{"snapshot-id":9,"timestamp-ms":5,"summary":{},"manifest-list":"x"}`},
		{"null summary", `{"snapshot-id":9,"summary":null,"timestamp-ms":5,"manifest-list":"x"}`,
			`{"snapshot-id":9,"timestamp-ms":5,"summary":{},"manifest-list":"x"}`},
		{"unknown nulls stay", `{"snapshot-id":9,"timestamp-ms":5,"manifest-list":"x","summary":{},"future":null}`,
			`{"snapshot-id":9,"timestamp-ms":5,"manifest-list":"x","summary":{},"future":null}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := apply(t, newTable(t, 2), addRaw(tc.in))
			if got := string(m.SnapshotAt(0).Raw); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if m.SnapshotAt(0).HasParent {
				t.Error("has a parent")
			}
		})
	}
}

func TestV1Snapshots(t *testing.T) {
	t.Parallel()
	m := newTable(t, 1)
	refuse(t, m, "["+addSnapshotJSON(9, 0, 1)+"]", IllegalArgument, "Sequence number must be 0 in v1: 1")
	m = apply(t, m, "["+addSnapshotJSON(9, 0, 0)+"]")
	if strings.Contains(string(m.Bytes()), "sequence-number") {
		t.Errorf("v1 prints a sequence number: %s", m.Bytes())
	}
	m = apply(t, m, addRaw(`{"snapshot-id":10,"timestamp-ms":5,"manifests":["a","b"]}`))
	if m.SnapshotCount() != 2 {
		t.Error("v1 snapshot with manifests refused")
	}
	refuse(t, newTable(t, 2), addRaw(`{"snapshot-id":10,"timestamp-ms":5,"manifests":["a"],"summary":{}}`), BadRequest, "manifest-list")
}

func v3Snapshot(id, seq, first, rows int64) string {
	return strings.Replace(addSnapshotJSON(id, 0, seq), `"schema-id":0`, fmt.Sprintf(`"schema-id":0,"first-row-id":%d,"added-rows":%d`, first, rows), 1)
}

func TestRowLineage(t *testing.T) {
	t.Parallel()
	m := newTable(t, 3)
	if m.NextRowID() != 0 || !strings.Contains(string(m.Bytes()), `"next-row-id":0`) {
		t.Errorf("a new v3 table prints next-row-id 0: %s", m.Bytes())
	}
	refuse(t, m, "["+addSnapshotJSON(1, 0, 1)+"]", Validation, "Cannot add a snapshot: first-row-id is null")
	refuse(t, m, "["+strings.Replace(v3Snapshot(1, 1, 0, 5), `,"added-rows":5`, "", 1)+"]", Validation, "Invalid added-rows (required when first-row-id is set): null")
	refuse(t, m, "["+v3Snapshot(1, 1, -3, 5)+"]", IllegalArgument, "Invalid first-row-id (cannot be negative): -3")
	refuse(t, m, "["+v3Snapshot(1, 1, 0, -5)+"]", IllegalArgument, "Invalid added-rows (cannot be negative): -5")
	refuse(t, m, "["+v3Snapshot(1, 1, 9223372036854775800, 100)+"]", Validation, "overflows")
	m = apply(t, m, "["+v3Snapshot(1, 1, 0, 5)+"]")
	if m.NextRowID() != 5 {
		t.Errorf("next-row-id %d, want 5", m.NextRowID())
	}
	refuse(t, m, "["+v3Snapshot(2, 2, 4, 5)+"]", StaleCommit,
		"Validation failed, please retry: Cannot add a snapshot, first-row-id is behind table next-row-id: 4 < 5")
	// After a gap Java would add to the old value and give out ids twice.
	m = apply(t, m, "["+v3Snapshot(2, 2, 100, 7)+"]")
	if m.NextRowID() != 107 {
		t.Errorf("next-row-id %d, want 107", m.NextRowID())
	}
}

func setRefJSON(name, kind string, id int64, extra string) string {
	return fmt.Sprintf(`[{"action":"set-snapshot-ref","ref-name":%q,"type":%q,"snapshot-id":%d%s}]`, name, kind, id, extra)
}

func TestSetRefRules(t *testing.T) {
	t.Parallel()
	m := appended(t, newTable(t, 2), 2)
	m = apply(t, m, setRefJSON("dev", "branch", 1, ""))
	m = apply(t, m, setRefJSON("v1", "tag", 1, ""))
	for _, tc := range []struct {
		name, updates string
		kind          Kind
		text          string
	}{
		{"unknown snapshot", setRefJSON("dev", "branch", 99, ""), Validation, "Cannot set dev to unknown snapshot: 99"},
		{"main is a branch", setRefJSON("main", "tag", 1, ""), IllegalArgument, "Cannot set main to a tag"},
		{"branch to tag", setRefJSON("dev", "tag", 1, ""), IllegalArgument, "Cannot change the type of ref dev to tag"},
		{"tag to branch", setRefJSON("v1", "branch", 2, ""), IllegalArgument, "Cannot change the type of ref v1 to branch"},
		{"tag without min-snapshots-to-keep", setRefJSON("v2", "tag", 1, `,"min-snapshots-to-keep":1`), IllegalArgument, "Tags do not support setting minSnapshotsToKeep"},
		{"tag without max-snapshot-age-ms", setRefJSON("v2", "tag", 1, `,"max-snapshot-age-ms":1`), IllegalArgument, "Tags do not support setting maxSnapshotAgeMs"},
		{"min-snapshots-to-keep above 0", setRefJSON("b", "branch", 1, `,"min-snapshots-to-keep":0`), IllegalArgument, "Min snapshots to keep must be greater than 0"},
		{"max-snapshot-age-ms above 0", setRefJSON("b", "branch", 1, `,"max-snapshot-age-ms":0`), IllegalArgument, "Max snapshot age must be greater than 0 ms"},
		{"max-ref-age-ms above 0", setRefJSON("b", "branch", 1, `,"max-ref-age-ms":-1`), IllegalArgument, "Max reference age must be greater than 0"},
		{"known type", setRefJSON("b", "twig", 1, ""), IllegalArgument, "Invalid snapshot ref type: twig"},
		{"a name", setRefJSON("", "branch", 1, ""), IllegalArgument, "Invalid ref name"},
		{"missing type", `[{"action":"set-snapshot-ref","ref-name":"b","snapshot-id":1}]`, BadRequest, "Cannot parse missing string: type"},
		{"missing snapshot-id", `[{"action":"set-snapshot-ref","ref-name":"b","type":"branch"}]`, BadRequest, "Cannot parse missing long: snapshot-id"},
		{"missing ref-name", `[{"action":"set-snapshot-ref","type":"branch","snapshot-id":1}]`, BadRequest, "Cannot parse missing string: ref-name"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			refuse(t, m, tc.updates, tc.kind, tc.text)
		})
	}
	if next := apply(t, m, setRefJSON("dev", "BRANCH", 1, `,"max-ref-age-ms":null`)); next != m {
		t.Error("an equal ref is a change")
	}
	next := apply(t, m, setRefJSON("dev", "branch", 1, `,"future":{"a":1},"min-snapshots-to-keep":3,"max-snapshot-age-ms":4,"max-ref-age-ms":5`))
	r, _ := next.Ref("dev")
	if got := string(r.Raw); got != `{"snapshot-id":1,"type":"branch","min-snapshots-to-keep":3,"max-snapshot-age-ms":4,"max-ref-age-ms":5,"future":{"a":1}}` {
		t.Errorf("ref %s", got)
	}
}

func TestRemoveRef(t *testing.T) {
	t.Parallel()
	m := appended(t, newTable(t, 2), 2)
	if next := apply(t, m, `[{"action":"remove-snapshot-ref","ref-name":"nope"}]`); next != m {
		t.Error("removing a missing ref is a change")
	}
	next := apply(t, m, `[{"action":"remove-snapshot-ref","ref-name":"main"}]`)
	if _, ok := next.CurrentSnapshotID(); ok || next.SnapshotCount() != 2 || len(next.SnapshotLog()) != 2 {
		t.Errorf("removing main keeps snapshots and log, and there is no current: %s", next.Bytes())
	}
	// Replace: main comes again in the same request.
	next = apply(t, m, `[{"action":"remove-snapshot-ref","ref-name":"main"},`+addSnapshotJSON(9, 0, 3)+","+setMainJSON(9)+"]")
	if id, _ := next.CurrentSnapshotID(); id != 9 || len(next.SnapshotLog()) != 3 {
		t.Errorf("replace: %s", next.Bytes())
	}
}

func TestRemoveSnapshots(t *testing.T) {
	t.Parallel()
	m := appended(t, newTable(t, 2), 4)
	m = apply(t, m, setRefJSON("old", "tag", 1, ""))
	m = apply(t, m, "["+setStats(1, "a")+","+setStats(2, "b")+","+setPartStats(1, "c")+"]")
	next := apply(t, m, `[{"action":"remove-snapshots","snapshot-ids":[1,99]}]`)
	if next.SnapshotCount() != 3 {
		t.Errorf("%d snapshots; unknown ids are ignored", next.SnapshotCount())
	}
	if _, ok := next.Ref("old"); ok {
		t.Error("the ref of a removed snapshot stays")
	}
	if len(next.stats) != 1 || len(next.partStats) != 0 {
		t.Errorf("statistics of the removed snapshot stay: %s", next.Bytes())
	}
	if s, _ := next.Snapshot(2); !s.HasParent || s.ParentID != 1 {
		t.Error("descendants keep their parent id")
	}
	// main too: then nothing is current.
	next = apply(t, m, `[{"action":"remove-snapshots","snapshot-ids":[4]}]`)
	if _, ok := next.CurrentSnapshotID(); ok {
		t.Error("main points at a removed snapshot")
	}
	if next := apply(t, m, `[{"action":"remove-snapshots","snapshot-ids":[99]}]`); next != m {
		t.Error("removing unknown snapshots only is a change")
	}
	// A removed id is free again within the request.
	apply(t, m, `[{"action":"remove-snapshots","snapshot-ids":[2]},`+addSnapshotJSON(2, 4, 5)+"]")
	apply(t, m, "["+addSnapshotJSON(9, 4, 5)+`,{"action":"remove-snapshots","snapshot-ids":[9]},`+addSnapshotJSON(9, 4, 6)+"]")
	// Removing what the request itself added leaves nothing of it.
	next = apply(t, m, "["+addSnapshotJSON(9, 4, 5)+","+setMainJSON(9)+`,{"action":"remove-snapshots","snapshot-ids":[9]}]`)
	if next.SnapshotCount() != 4 {
		t.Errorf("%d snapshots", next.SnapshotCount())
	}
}

func logIDs(m *Metadata) string {
	var ids []string
	for _, e := range m.SnapshotLog() {
		ids = append(ids, fmt.Sprint(e.SnapshotID))
	}
	return strings.Join(ids, " ")
}

func TestSnapshotLog(t *testing.T) {
	t.Parallel()
	m := appended(t, newTable(t, 2), 4)
	for _, tc := range []struct{ name, updates, want string }{
		{"gap clears what is before it", `[{"action":"remove-snapshots","snapshot-ids":[2]}]`, "3 4"},
		{"first entry only", `[{"action":"remove-snapshots","snapshot-ids":[1]}]`, "2 3 4"},
		{"current removed", `[{"action":"remove-snapshots","snapshot-ids":[4]}]`, ""},
		{"intermediate snapshots are no history", "[" + addSnapshotJSON(5, 4, 5) + "," + setMainJSON(5) + "," + addSnapshotJSON(6, 5, 6) + "," + setMainJSON(6) + "]", "1 2 3 4 6"},
		{"rollback is history", "[" + setMainJSON(2) + "]", "1 2 3 4 2"},
		{"two rollbacks are both", "[" + setMainJSON(2) + "," + setMainJSON(3) + "]", "1 2 3 4 2 3"},
		{"added, current, then main removed", "[" + addSnapshotJSON(5, 4, 5) + "," + setMainJSON(5) + `,{"action":"remove-snapshot-ref","ref-name":"main"}]`, "1 2 3 4"},
		{"other branches are no history", "[" + addSnapshotJSON(5, 4, 5) + "," + setRefJSON("dev", "branch", 5, "")[1:], "1 2 3 4"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			next := apply(t, m, tc.updates)
			if got := logIDs(next); got != tc.want {
				t.Errorf("snapshot-log %q, want %q", got, tc.want)
			}
		})
	}
}

func TestSnapshotLogTimes(t *testing.T) {
	t.Parallel()
	m := appended(t, newTable(t, 2), 2)
	log := m.SnapshotLog()
	if log[1].TimestampMS != testNow+2 {
		t.Errorf("a new snapshot is logged at its own time: %d", log[1].TimestampMS)
	}
	next := apply(t, m, "["+setMainJSON(1)+"]")
	if got := next.SnapshotLog()[2].TimestampMS; got != testNow {
		t.Errorf("an old snapshot is logged at the catalog's time: %d", got)
	}
	// More than a minute behind its predecessor Java could not read it.
	behind := strings.Replace(addSnapshotJSON(9, 2, 3), fmt.Sprint(testNow+3), fmt.Sprint(testNow-3_600_000), 1)
	next = apply(t, m, "["+behind+","+setMainJSON(9)+"]")
	if got := next.SnapshotLog()[2].TimestampMS; got != testNow+2 {
		t.Errorf("logged at %d, want the time of the entry before", got)
	}
}

// TestWriterClockAhead: a writer's clock was ten minutes ahead; a
// commit by a correct clock works, and Java can read the result.
func TestWriterClockAhead(t *testing.T) {
	t.Parallel()
	m := appended(t, newTable(t, 2), 1)
	ahead := fmt.Sprint(testNow + 600_000)
	doc := strings.ReplaceAll(string(m.Bytes()), fmt.Sprint(testNow+1), ahead)
	doc = strings.Replace(doc, `"last-updated-ms":`+fmt.Sprint(m.LastUpdatedMS()), `"last-updated-ms":`+ahead, 1)
	skewed, err := ParseMetadata([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	next := apply(t, skewed, `[{"action":"set-properties","updates":{"k":"v"}}]`)
	if next.LastUpdatedMS() != testNow+600_000 {
		t.Errorf("last-updated-ms %d is behind the logs", next.LastUpdatedMS())
	}
	next = apply(t, next, "["+addSnapshotJSON(9, 1, 2)+","+setMainJSON(9)+"]")
	next = apply(t, next, "["+setMainJSON(1)+"]")
	if err := next.validate(); err != nil {
		t.Error(err)
	}
}
