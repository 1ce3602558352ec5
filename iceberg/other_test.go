package iceberg

import (
	"fmt"
	"strings"
	"testing"
)

func statsJSON(snapshot int64, path string) string {
	return fmt.Sprintf(`{"snapshot-id":%d,"statistics-path":%q,"file-size-in-bytes":1,"file-footer-size-in-bytes":2,"blob-metadata":[]}`, snapshot, path)
}

func setStats(snapshot int64, path string) string {
	return `{"action":"set-statistics","statistics":` + statsJSON(snapshot, path) + `}`
}

func setPartStats(snapshot int64, path string) string {
	return fmt.Sprintf(`{"action":"set-partition-statistics","partition-statistics":{"snapshot-id":%d,"statistics-path":%q,"file-size-in-bytes":1}}`, snapshot, path)
}

func TestStatistics(t *testing.T) {
	t.Parallel()
	m := apply(t, newTable(t, 2), "["+setStats(7, "a")+","+setPartStats(7, "p")+"]") // no existence check
	if len(m.stats) != 1 || len(m.partStats) != 1 {
		t.Fatalf("%s", m.Bytes())
	}
	if next := apply(t, m, "["+setStats(7, "a")+"]"); next != m {
		t.Error("setting equal statistics is a change")
	}
	next := apply(t, m, "["+setStats(7, "b")+","+setStats(8, "c")+"]")
	if len(next.stats) != 2 || !strings.Contains(string(next.stats[0].at.of(next.doc)), `"b"`) {
		t.Errorf("replaced per snapshot: %s", next.Bytes())
	}
	// The deprecated snapshot-id beside the file's own is ignored.
	next = apply(t, m, `[{"action":"set-statistics","snapshot-id":3,"statistics":`+statsJSON(9, "d")+`}]`)
	if next.stats[1].snapshot != 9 {
		t.Errorf("%s", next.Bytes())
	}
	for _, action := range []string{"remove-statistics", "remove-partition-statistics"} {
		if next := apply(t, m, `[{"action":"`+action+`","snapshot-id":99}]`); next != m {
			t.Errorf("%s of none is a change", action)
		}
		if next := apply(t, m, `[{"action":"`+action+`","snapshot-id":7}]`); len(next.stats)+len(next.partStats) != 1 {
			t.Errorf("%s: %s", action, next.Bytes())
		}
	}
	// Set after a removal of the snapshot in the same request, it stays.
	next = apply(t, appended(t, m, 2), `[{"action":"remove-snapshots","snapshot-ids":[1]},`+setStats(1, "late")+"]")
	if len(next.stats) != 2 {
		t.Errorf("%s", next.Bytes())
	}
	for _, member := range []string{"snapshot-id", "statistics-path", "file-size-in-bytes", "file-footer-size-in-bytes", "blob-metadata"} {
		broken := strings.Replace(statsJSON(1, "a"), `"`+member+`"`, `"x"`, 1)
		refuse(t, m, `[{"action":"set-statistics","statistics":`+broken+`}]`, BadRequest, "Cannot parse missing")
	}
}

func TestEncryptionKeys(t *testing.T) {
	t.Parallel()
	const key = `{"key-id":"k1","encrypted-key-metadata":"YWJj","encrypted-by-id":"root","properties":{"a":"b"},"future":1}`
	for version := 1; version <= 3; version++ { // as in Java, no version check
		m := newTable(t, version)
		if strings.Contains(string(m.Bytes()), "encryption-keys") {
			t.Error("encryption-keys printed without any")
		}
		m = apply(t, m, `[{"action":"add-encryption-key","encryption-key":`+key+`}]`)
		if !strings.Contains(string(m.Bytes()), `"encryption-keys":[`+key+`]`) {
			t.Errorf("key changed: %s", m.Bytes())
		}
		if next := apply(t, m, `[{"action":"add-encryption-key","encryption-key":{"key-id":"k1","encrypted-key-metadata":"Zg=="}}]`); next != m {
			t.Error("adding a key that is there is a change")
		}
		if next := apply(t, m, `[{"action":"remove-encryption-key","key-id":"none"}]`); next != m {
			t.Error("removing a missing key is a change")
		}
		next := apply(t, m, `[{"action":"remove-encryption-key","key-id":"k1"}]`)
		if strings.Contains(string(next.Bytes()), "encryption-keys") {
			t.Error("key not removed")
		}
		apply(t, m, `[{"action":"remove-encryption-key","key-id":"k1"},{"action":"add-encryption-key","encryption-key":`+key+`}]`)
	}
	refuse(t, newTable(t, 2), `[{"action":"add-encryption-key","encryption-key":{"key-id":"k"}}]`, BadRequest, "Cannot parse missing string: encrypted-key-metadata")
}

// TestEncryptionKeyIsFixed.
func TestEncryptionKeyIsFixed(t *testing.T) {
	t.Parallel()
	m := apply(t, newTable(t, 3), `[{"action":"set-properties","updates":{"encryption.key-id":"x"}},{"action":"set-properties","updates":{"encryption.key-id":"k1"}}]`)
	const text = "Cannot change the encryption key of a table"
	refuse(t, m, `[{"action":"set-properties","updates":{"encryption.key-id":"k2"}}]`, IllegalArgument, text)
	refuse(t, m, `[{"action":"remove-properties","removals":["encryption.key-id"]}]`, IllegalArgument, text)
	refuse(t, m, `[{"action":"remove-properties","removals":["encryption.key-id"]},{"action":"set-properties","updates":{"encryption.key-id":"k2"}}]`, IllegalArgument, text)
	m = apply(t, m, `[{"action":"set-properties","updates":{"encryption.key-id":"k1","a":"b"}}]`)
	if v, _ := m.Property("encryption.key-id"); v != "k1" {
		t.Errorf("key %q", v)
	}
}

func TestSetProperties(t *testing.T) {
	t.Parallel()
	m := apply(t, newTable(t, 2), `[{"action":"set-properties","updates":{"a":"1","b":"\u00e9\/"}}]`)
	if !strings.Contains(string(m.Bytes()), `"a":"1","b":"\u00e9\/"`) {
		t.Errorf("property bytes not kept: %s", m.Bytes())
	}
	if next := apply(t, m, `[{"action":"set-properties","updates":{"a":"1","b":"é/"}}]`); next != m {
		t.Error("setting equal values is a change")
	}
	if next := apply(t, m, `[{"action":"set-properties","updates":{"a":"2"}},{"action":"set-properties","updates":{"a":"1"}}]`); next != m {
		t.Error("there and back is a change")
	}
	next := apply(t, m, `[{"action":"set-properties","updates":{"n":12,"f":1.50,"t":true}}]`)
	for k, want := range map[string]string{"n": "12", "f": "1.50", "t": "true"} {
		if v, _ := next.Property(k); v != want {
			t.Errorf("%s = %q, want %q", k, v, want)
		}
	}
	refuse(t, m, `[{"action":"set-properties","updates":{"n":null}}]`, BadRequest, "Cannot parse to a string value: n")
	refuse(t, m, `[{"action":"set-properties","updates":{"n":{}}}]`, BadRequest, "Cannot parse to a string value: n")
	refuse(t, m, `[{"action":"set-properties"}]`, BadRequest, "Cannot parse missing map: updates")
	next = apply(t, m, `[{"action":"remove-properties","removals":["a","nope"]}]`)
	if _, ok := next.Property("a"); ok {
		t.Error("property not removed")
	}
	if next := apply(t, m, `[{"action":"remove-properties","removals":["nope"]}]`); next != m {
		t.Error("removing an absent property is a change")
	}
	if next := apply(t, m, `[{"action":"remove-properties","removals":["a"]},{"action":"set-properties","updates":{"a":"1"}}]`); next != m {
		t.Error("removed and set again is a change")
	}
}

func TestLegacyPropertyMembers(t *testing.T) {
	t.Parallel()
	m := apply(t, newTable(t, 2), `[{"action":"set-properties","updated":{"a":"1"}}]`)
	if v, _ := m.Property("a"); v != "1" {
		t.Error(`"updated" is not read`)
	}
	m = apply(t, m, `[{"action":"remove-properties","removed":["a"]}]`)
	if _, ok := m.Property("a"); ok {
		t.Error(`"removed" is not read`)
	}
}

func TestReservedProperties(t *testing.T) {
	t.Parallel()
	m := newTable(t, 2)
	names := []string{"uuid", "snapshot-count", "current-snapshot-id", "current-snapshot-summary",
		"current-snapshot-timestamp-ms", "current-schema", "default-partition-spec", "default-sort-order"}
	for _, name := range names {
		if next := apply(t, m, `[{"action":"set-properties","updates":{"`+name+`":"x"}}]`); next != m {
			t.Errorf("%s is stored", name)
		}
	}
	next := apply(t, m, `[{"action":"set-properties","updates":{"format-version":"3"}}]`)
	if _, ok := next.Property("format-version"); ok || next.FormatVersion() != 3 {
		t.Errorf("format-version is an upgrade: v%d", next.FormatVersion())
	}
	refuse(t, m, `[{"action":"set-properties","updates":{"format-version":"1"}}]`, IllegalArgument, "Cannot downgrade v2 table to v1")
	refuse(t, m, `[{"action":"set-properties","updates":{"format-version":"two"}}]`, IllegalArgument, "Invalid format-version: two")
}

func TestCheckedProperties(t *testing.T) {
	t.Parallel()
	m := newTable(t, 2)
	refuse(t, m, `[{"action":"set-properties","updates":{"write.metadata.compression-codec":"zstd"}}]`, IllegalArgument, "Invalid codec name: zstd")
	refuse(t, m, `[{"action":"set-properties","updates":{"write.metadata.previous-versions-max":"many"}}]`, Validation, "must have integer value")
	apply(t, m, `[{"action":"set-properties","updates":{"write.metadata.compression-codec":"GZIP","write.metadata.previous-versions-max":"-4"}}]`)
	// A stored value that no longer passes doesn't stop other commits.
	stored := strings.Replace(string(m.Bytes()), `"properties":{`, `"properties":{"write.metadata.compression-codec":"zstd",`, 1)
	old, err := ParseMetadata([]byte(stored))
	if err != nil {
		t.Fatal(err)
	}
	apply(t, old, `[{"action":"set-properties","updates":{"a":"b"}}]`)
}

func TestSetLocation(t *testing.T) {
	t.Parallel()
	m := newTable(t, 2)
	if next := apply(t, m, `[{"action":"set-location","location":"s3://bucket/ns/t//"}]`); next != m {
		t.Error("an equal location with slashes is a change")
	}
	if next := apply(t, m, `[{"action":"set-location","location":"s3://other/ "}]`); next.Location() != "s3://other/ " {
		t.Errorf("location %q", next.Location())
	}
	if next := apply(t, m, `[{"action":"set-location","location":"s3://other/a b#?/"}]`); next.Location() != "s3://other/a b#?" {
		t.Errorf("location %q", next.Location())
	}
	if next := apply(t, m, `[{"action":"set-location","location":"file:///"}]`); next.Location() != "file://" {
		t.Errorf("location %q", next.Location())
	}
	refuse(t, m, `[{"action":"set-location","location":""}]`, IllegalArgument, "Invalid location: empty")
}

func TestAssignUUID(t *testing.T) {
	t.Parallel()
	m := newTable(t, 2)
	if next := apply(t, m, `[{"action":"assign-uuid","uuid":"`+testUUID+`"}]`); next != m {
		t.Error("the same uuid is a change")
	}
	refuse(t, m, `[{"action":"assign-uuid","uuid":"99999999-2222-4333-8444-555555555555"}]`, IllegalArgument, "Cannot reassign the UUID of a table")
	refuse(t, m, `[{"action":"assign-uuid","uuid":""}]`, IllegalArgument, "Cannot set uuid to null")
}

func TestUpgradeFormatVersion(t *testing.T) {
	t.Parallel()
	upgrade := func(v int) string { return fmt.Sprintf(`[{"action":"upgrade-format-version","format-version":%d}]`, v) }
	m := newTable(t, 2)
	if next := apply(t, m, upgrade(2)); next != m {
		t.Error("an equal version is a change")
	}
	refuse(t, m, upgrade(1), IllegalArgument, "Cannot downgrade v2 table to v1")
	refuse(t, m, upgrade(4), IllegalArgument, "Cannot upgrade table to unsupported format version: v4 (supported: v3)")
	refuse(t, m, upgrade(0), IllegalArgument, "unsupported format version: v0")
	m3 := apply(t, appended(t, m, 2), upgrade(3))
	if !strings.Contains(string(m3.Bytes()), `"next-row-id":0`) || m3.SnapshotCount() != 2 {
		t.Errorf("v3 starts at row 0 and keeps old snapshots as they are: %s", m3.Bytes())
	}
	m1 := apply(t, newTable(t, 1), "["+addSnapshotJSON(1, 0, 0)+","+setMainJSON(1)+"]")
	m2 := apply(t, m1, upgrade(2))
	text := string(m2.Bytes())
	if m2.LastSequenceNumber() != 0 || !strings.Contains(text, `"last-sequence-number":0`) ||
		strings.Contains(text, `"schema":`) || strings.Contains(text, `"partition-spec":`) {
		t.Errorf("v1 to v2: %s", text)
	}
	apply(t, m2, "["+addSnapshotJSON(2, 1, 1)+","+setMainJSON(2)+"]")
	apply(t, m1, upgrade(3))
}

func TestViewUpdatesOnTable(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"add-view-version", "set-current-view-version"} {
		refuse(t, newTable(t, 2), `[{"action":"`+action+`"}]`, BadRequest, "Cannot apply update "+action+" to a table")
	}
}

func TestDecodeUpdatesRejects(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, raw, text string }{
		{"unknown action", `[{"action":"make-coffee"}]`, "Cannot convert metadata update action from json: make-coffee"},
		{"missing action", `[{"uuid":"x"}]`, "Cannot parse missing string: action"},
		{"duplicate member", `[{"action":"assign-uuid","uuid":"a","uuid":"b"}]`, `duplicate member "uuid"`},
		{"duplicate member by escape", `[{"action":"set-properties","updates":{"a":"1","\u0061":"2"}}]`, `duplicate member "a"`},
		{"duplicate member deep inside", `[{"action":"add-snapshot","snapshot":{"x":{"y":[{"a":1,"a":2}]}}}]`, `duplicate member "a"`},
		{"invalid UTF-8", "[{\"action\":\"assign-uuid\",\"uuid\":\"\xff\"}]", "invalid UTF-8"},
		{"unpaired surrogate", `[{"action":"assign-uuid","uuid":"\ud800x"}]`, "unpaired surrogate"},
		{"number of many digits", `[{"action":"assign-uuid","uuid":"a","x":` + strings.Repeat("9", 1001) + `}]`, "number of more than 1000 characters"},
		{"id beyond 64 bits", `[{"action":"remove-statistics","snapshot-id":9223372036854775808}]`, "Cannot parse to a long value: snapshot-id: 9223372036854775808"},
		{"exponent", `[{"action":"remove-statistics","snapshot-id":1e3}]`, "Cannot parse to a long value: snapshot-id: 1e3"},
		{"deep nesting", `[{"action":"assign-uuid","uuid":"a","x":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}]`, "nesting deeper than 500 levels"},
		{"cut off", `[{"action":"assign-uuid"`, "unexpected end"},
		{"control character", "[{\"action\":\"assign-uuid\",\"uuid\":\"a\nb\"}]", "control character"},
		{"trailing comma", `[{"action":"assign-uuid","uuid":"a"},]`, "unexpected ']'"},
		{"leading zero", `[{"action":"assign-uuid","uuid":"a","x":01}]`, "malformed number"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := DecodeUpdates([]byte(tc.raw))
			checkError(t, err, BadRequest, tc.text)
		})
	}
}

func TestUpdatesKeepRaw(t *testing.T) {
	t.Parallel()
	const raw = `[ {"ACTION":1,"action":"Set-Location","location":"s3:\/\/x"} , {"action":"REMOVE-STATISTICS", "snapshot-id": 1 } ]`
	list := decode(t, raw)
	if list[0].Action() != "set-location" || string(list[0].Raw()) != `{"ACTION":1,"action":"Set-Location","location":"s3:\/\/x"}` ||
		string(list[1].Raw()) != `{"action":"REMOVE-STATISTICS", "snapshot-id": 1 }` {
		t.Errorf("%s %s / %s", list[0].Action(), list[0].Raw(), list[1].Raw())
	}
}

// TestErrorsDoNotRepeatProperties: tenants put secrets into properties.
func TestErrorsDoNotRepeatProperties(t *testing.T) {
	t.Parallel()
	const secret = `"hunter2"`
	_, a := DecodeUpdates([]byte(`[{"action":"set-properties","updates":{"s3.secret":[` + secret + `]}}]`))
	_, b := DecodeCreateRequest([]byte(`{"name":"t","properties":{"s3.secret":{"x":` + secret + `}}}`))
	_, c := ParseMetadata([]byte(strings.Replace(string(newTable(t, 2).Bytes()), `"properties":{`, `"properties":{"s3.secret":[`+secret+`],`, 1)))
	_, d := DecodeUpdates([]byte(`[{"action":"add-snapshot","snapshot":{"summary":{"s3.secret":[` + secret + `]}}}]`))
	for i, err := range []error{a, b, c, d} {
		if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "s3.secret") {
			t.Errorf("%d: %v", i, err)
		}
	}
}
