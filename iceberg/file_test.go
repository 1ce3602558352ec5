package iceberg

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"strings"
	"testing"
)

func withProperties(t *testing.T, m *Metadata, properties string) *Metadata {
	t.Helper()
	return apply(t, m, `[{"action":"set-properties","updates":`+properties+`}]`)
}

func TestNextMetadataFile(t *testing.T) {
	t.Parallel()
	plain := newTable(t, 2)
	zipped := withProperties(t, plain, `{"write.metadata.compression-codec":"GZIP"}`)
	moved := withProperties(t, plain, `{"write.metadata.path":"s3://other/meta data/"}`)
	for _, tc := range []struct {
		name, previous, want string
		m                    *Metadata
	}{
		{"create", "", "s3://bucket/ns/t/metadata/00000-u.metadata.json", plain},
		{"next", "s3://bucket/ns/t/metadata/00041-x.metadata.json", "s3://bucket/ns/t/metadata/00042-u.metadata.json", plain},
		{"after a compressed file", "s3://b/00041-x.gz.metadata.json", "s3://bucket/ns/t/metadata/00042-u.metadata.json", plain},
		{"more than five digits", "99999-x.metadata.json", "s3://bucket/ns/t/metadata/100000-u.metadata.json", plain},
		{"file-system table", "s3://b/metadata/v3.metadata.json", "s3://bucket/ns/t/metadata/00000-u.metadata.json", plain},
		{"unparsable", "s3://b/metadata/abc-def.metadata.json", "s3://bucket/ns/t/metadata/00000-u.metadata.json", plain},
		{"beyond 32 bits", "s3://b/metadata/99999999999-def.metadata.json", "s3://bucket/ns/t/metadata/00000-u.metadata.json", plain},
		{"signs are no digits", "s3://b/metadata/+5-def.metadata.json", "s3://bucket/ns/t/metadata/00000-u.metadata.json", plain},
		{"dash first", "s3://b/metadata/-def.metadata.json", "s3://bucket/ns/t/metadata/00000-u.metadata.json", plain},
		{"gzip", "00001-x.metadata.json", "s3://bucket/ns/t/metadata/00002-u.gz.metadata.json", zipped},
		{"write.metadata.path", "00001-x.metadata.json", "s3://other/meta data/00002-u.metadata.json", moved},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := NextMetadataFile(tc.m, tc.previous, "u")
			if got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			if !IsMetadataFile(got) {
				t.Errorf("%s is not named like a metadata file", got)
			}
		})
	}
}

func TestEncodeFile(t *testing.T) {
	t.Parallel()
	m := appended(t, newTable(t, 2), 3)
	if data, compressed := EncodeFile(m); compressed || !bytes.Equal(data, m.Bytes()) {
		t.Error("plain by default")
	}
	m = withProperties(t, m, `{"write.metadata.compression-codec":"gzip"}`)
	data, compressed := EncodeFile(m)
	again, _ := EncodeFile(m)
	if !compressed || len(data) >= len(m.Bytes()) || !bytes.Equal(data, again) {
		t.Errorf("compressed %v, %d of %d bytes", compressed, len(data), len(m.Bytes()))
	}
	back, err := DecodeFile("x.gz.metadata.json", data, 1<<20)
	if err != nil || !bytes.Equal(back, m.Bytes()) {
		t.Errorf("decode: %v", err)
	}
}

func zip(t *testing.T, data []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// TestDecodeFile: compression is told by the bytes.
func TestDecodeFile(t *testing.T) {
	t.Parallel()
	doc := newTable(t, 2).Bytes()
	packed := zip(t, doc)
	for _, name := range []string{"v3.gz.metadata.json", "00007-u.gz.metadata.json", "v2.metadata.json.gz", "v4.gzip.metadata.json", "v5.metadata.json"} {
		got, err := DecodeFile(name, packed, 1<<20)
		if err != nil || !bytes.Equal(got, doc) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := DecodeFile("v5.metadata.json", doc, 1<<20); err != nil || !bytes.Equal(got, doc) {
		t.Errorf("plain: %v", err)
	}
	for _, tc := range []struct {
		name, file, text string
		data             []byte
		limit            int64
	}{
		{"name promises gzip", "v1.gz.metadata.json", "is named as gzip but is not", doc, 1 << 20},
		{"legacy name promises gzip", "v1.metadata.json.gz", "is named as gzip but is not", doc, 1 << 20},
		{"cut off", "v1.gz.metadata.json", "it is cut off", packed[:len(packed)-9], 1 << 20},
		{"damaged header", "v1.gz.metadata.json", "Cannot read gzip metadata file", packed[:5], 1 << 20},
		{"damaged checksum", "v1.gz.metadata.json", "Cannot read gzip metadata file", append(bytes.Clone(packed[:len(packed)-8]), 1, 2, 3, 4, 5, 6, 7, 8), 1 << 20},
		{"plain too large", "v1.metadata.json", "holds more than 100 bytes", doc, 100},
		{"bomb", "v1.gz.metadata.json", "holds more than 1000000 bytes", zip(t, make([]byte, 50<<20)), 1_000_000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := DecodeFile(tc.file, tc.data, tc.limit)
			checkError(t, err, BadRequest, tc.text)
		})
	}
	if got, err := DecodeFile("v1.metadata.json", packed, math.MaxInt64); err != nil || !bytes.Equal(got, doc) {
		t.Errorf("no limit: %v", err)
	}
	if _, err := DecodeFile("v1.metadata.json", doc, int64(len(doc))); err != nil {
		t.Errorf("a document of exactly the limit: %v", err)
	}
}

func TestIsMetadataFile(t *testing.T) {
	t.Parallel()
	for location, want := range map[string]bool{
		"s3://b/t/metadata/00000-u.metadata.json": true, "s3://b/t/metadata/00000-u.gz.metadata.json": true,
		"s3://b/t/metadata/v2.metadata.json.gz": true, "s3://b/t/metadata/": false, "s3://b/t/metadata": false, "s3://b/t/data.parquet": false,
	} {
		if IsMetadataFile(location) != want {
			t.Errorf("%s: %v", location, !want)
		}
	}
}

// commitAt makes a commit on top of a base that lies in the given file.
func commitAt(t *testing.T, base *Metadata, file, updates string) *Metadata {
	t.Helper()
	ctx := testContext()
	ctx.MetadataLocation = file
	next, _, err := Apply(base, decode(t, updates), ctx)
	if err != nil {
		t.Fatal(err)
	}
	checkBuilt(t, next)
	return next
}

func TestMetadataLog(t *testing.T) {
	t.Parallel()
	m := newTable(t, 2)
	for i := range 105 {
		m = commitAt(t, m, fmt.Sprintf("f%d", i), fmt.Sprintf(`[{"action":"set-properties","updates":{"n":"%d"}}]`, i))
	}
	log := m.MetadataLog()
	if len(log) != 100 || log[0].MetadataFile != "f5" || log[99].MetadataFile != "f104" || log[99].TimestampMS != testNow {
		t.Errorf("%d entries, %v … %v; want the newest 100", len(log), log[0], log[len(log)-1])
	}
	// The new value rules the same commit.
	next := commitAt(t, m, "f105", `[{"action":"set-properties","updates":{"write.metadata.previous-versions-max":"3"}}]`)
	if got := next.MetadataLog(); len(got) != 3 || got[2].MetadataFile != "f105" {
		t.Errorf("%v", got)
	}
	if gone := RemovedMetadataFiles(m, next); len(gone) != 98 || gone[0] != "f5" || gone[97] != "f102" {
		t.Errorf("%d files gone", len(gone))
	}
	for _, value := range []string{"0", "-7"} {
		next := commitAt(t, m, "f105", `[{"action":"set-properties","updates":{"write.metadata.previous-versions-max":"`+value+`"}}]`)
		if got := next.MetadataLog(); len(got) != 1 || got[0].MetadataFile != "f105" {
			t.Errorf("%s keeps %v, want one entry", value, got)
		}
	}
	if RemovedMetadataFiles(nil, m) != nil || RemovedMetadataFiles(m, m) != nil {
		t.Error("nothing is gone without a change")
	}
}

func TestTableSwitches(t *testing.T) {
	t.Parallel()
	m := newTable(t, 2)
	if m.DeleteAfterCommit() || !m.GCEnabled() || m.Gzip() {
		t.Error("defaults")
	}
	m = withProperties(t, m, `{"write.metadata.delete-after-commit.enabled":"TRUE","gc.enabled":"false"}`)
	if !m.DeleteAfterCommit() || m.GCEnabled() {
		t.Error("set values")
	}
}

func TestSummarize(t *testing.T) {
	t.Parallel()
	m := newTable(t, 2)
	if s := Summarize(m); s.SnapshotID != nil || s.SnapshotCount != 0 || s.FormatVersion != 2 {
		t.Errorf("%+v", s)
	}
	m = appended(t, m, 1)
	const snap = `{"snapshot-id":2,"parent-snapshot-id":1,"sequence-number":2,"timestamp-ms":1700000000002,"summary":{"operation":"overwrite","total-records":"12","total-files-size":"x","owner":"me","added-records":"9223372036854775807"},"manifest-list":"x"}`
	m = apply(t, m, `[{"action":"add-snapshot","snapshot":`+snap+`},`+setMainJSON(2)+"]")
	s := Summarize(m)
	if *s.SnapshotID != 2 || *s.ParentSnapshotID != 1 || s.SequenceNumber != 2 || s.Operation != "overwrite" || s.TimestampMS != testNow+2 ||
		fmt.Sprint(s.Totals) != "map[added-records:9223372036854775807 total-records:12]" {
		t.Errorf("%+v", s)
	}
}

// TestRefsOnly: only referenced snapshots, all else untouched, also
// statistics of a snapshot that no ref reaches.
func TestRefsOnly(t *testing.T) {
	t.Parallel()
	m := appended(t, newTable(t, 2), 5)
	m = apply(t, m, setRefJSON("v2", "tag", 2, ""))
	m = apply(t, m, "["+setStats(1, "s")+"]")
	got, err := ParseMetadata(m.RefsOnly())
	if err != nil {
		t.Fatal(err)
	}
	if got.SnapshotCount() != 2 || got.SnapshotAt(0).ID != 2 || got.SnapshotAt(1).ID != 5 {
		t.Errorf("%s", got.Bytes())
	}
	if got.LastUpdatedMS() != m.LastUpdatedMS() || len(got.SnapshotLog()) != 5 || len(got.stats) != 1 {
		t.Error("more than the snapshots changed")
	}
	before, _, _ := strings.Cut(string(m.Bytes()), `"snapshots":[`)
	_, after, _ := strings.Cut(string(m.Bytes()), `"statistics":`)
	if !strings.HasPrefix(string(m.RefsOnly()), before) || !strings.HasSuffix(string(m.RefsOnly()), after) {
		t.Error("bytes outside the snapshots changed")
	}
	one := appended(t, newTable(t, 2), 1)
	if &one.RefsOnly()[0] != &one.Bytes()[0] {
		t.Error("copied although every snapshot is named")
	}
	bare := apply(t, appended(t, newTable(t, 2), 2), `[{"action":"remove-snapshot-ref","ref-name":"main"}]`)
	if got, err := ParseMetadata(bare.RefsOnly()); err != nil || got.SnapshotCount() != 0 {
		t.Errorf("no refs, no snapshots: %v", err)
	}
}

// TestHasSnapshots: a repeated commit whose answer was lost.
func TestHasSnapshots(t *testing.T) {
	t.Parallel()
	for version := 1; version <= 2; version++ {
		seq := int64(version - 1)
		m := newTable(t, version)
		updates := decode(t, "["+addSnapshotJSON(1, 0, seq)+","+setMainJSON(1)+"]")
		if HasSnapshots(m, updates) {
			t.Error("has what was not added")
		}
		m, _, err := Apply(m, updates, testContext())
		if err != nil {
			t.Fatal(err)
		}
		if !HasSnapshots(m, updates) {
			t.Errorf("v%d: repeat not known", version)
		}
		other := decode(t, strings.Replace("["+addSnapshotJSON(1, 0, seq)+"]", "snap-1", "snap-x", 1))
		if HasSnapshots(m, other) || HasSnapshots(m, decode(t, "["+setMainJSON(1)+"]")) {
			t.Error("another snapshot with the id, or none at all, is no repeat")
		}
		if HasSnapshots(m, append(updates, decode(t, "["+addSnapshotJSON(2, 1, 2)+"]")...)) {
			t.Error("all must be there")
		}
	}
}
