package iceberg

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// bigDocument makes a v2 document with n snapshots of about 720 bytes, the
// size that engines write.
func bigDocument(t testing.TB, n int) []byte {
	t.Helper()
	base := string(newTable(t, 2).Bytes())
	var snaps, log strings.Builder
	for i := range n {
		id := 3051729675574597004 + int64(i)*7919
		parent := ""
		if i > 0 {
			parent = fmt.Sprintf(`"parent-snapshot-id":%d,`, id-7919)
		}
		if i > 0 {
			snaps.WriteByte(',')
			log.WriteByte(',')
		}
		fmt.Fprintf(&snaps, `{"sequence-number":%d,"snapshot-id":%d,%s"timestamp-ms":%d,"summary":{"operation":"append",`+
			`"spark.app.id":"local-1700000000000","added-data-files":"1","added-records":"1000","added-files-size":"104857",`+
			`"changed-partition-count":"1","total-records":"%d","total-files-size":"%d","total-data-files":"%d",`+
			`"total-delete-files":"0","total-position-deletes":"0","total-equality-deletes":"0","engine-version":"4.1.4",`+
			`"app-id":"local-1700000000000","engine-name":"spark","iceberg-version":"Apache Iceberg 1.12.0 (commit 0f08e66e5)"},`+
			`"manifest-list":"s3://bucket/warehouse/ns/table-11111111-2222-4333-8444-555555555555/metadata/snap-%d-1-%036d.avro","schema-id":0}`,
			i+1, id, parent, testNow+int64(i), 1000*i, 104857*i, i, id, i)
		fmt.Fprintf(&log, `{"timestamp-ms":%d,"snapshot-id":%d}`, testNow+int64(i), id)
	}
	if n == 0 {
		return []byte(base)
	}
	last := 3051729675574597004 + int64(n-1)*7919
	for _, r := range [][2]string{
		{`"snapshots":[]`, `"snapshots":[` + snaps.String() + `]`},
		{`"snapshot-log":[]`, `"snapshot-log":[` + log.String() + `]`},
		{`"current-snapshot-id":-1`, fmt.Sprintf(`"current-snapshot-id":%d`, last)},
		{`"refs":{}`, fmt.Sprintf(`"refs":{"main":{"snapshot-id":%d,"type":"branch"}}`, last)},
		{`"last-sequence-number":0`, fmt.Sprintf(`"last-sequence-number":%d`, n)},
	} {
		base = strings.Replace(base, r[0], r[1], 1)
	}
	return []byte(base)
}

func bigTable(t testing.TB, n int) *Metadata {
	t.Helper()
	m, err := ParseMetadata(bigDocument(t, n))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// nextAppend makes the updates of one append on top of m.
func nextAppend(t testing.TB, m *Metadata) []Update {
	t.Helper()
	parent, _ := m.CurrentSnapshotID()
	if parent == noSnapshot {
		parent = 0
	}
	seq := m.LastSequenceNumber() + 1
	return decode(t, "["+addSnapshotJSON(77, parent, seq)+","+setMainJSON(77)+"]")
}

var benchSizes = []int{1, 1000, 20000}

// BenchmarkAppend is the hot path: the base is parsed and cached.
func BenchmarkAppend(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m := bigTable(b, n)
			updates := nextAppend(b, m)
			b.SetBytes(int64(len(m.Bytes())))
			b.ReportAllocs()
			for b.Loop() {
				next, changed, err := Apply(m, updates, testContext())
				if err != nil || !changed || len(next.Bytes()) == 0 {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkParseAppend is a cold append: the base is parsed first.
func BenchmarkParseAppend(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			doc := bigDocument(b, n)
			updates := nextAppend(b, bigTable(b, n))
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				m, err := ParseMetadata(doc)
				if err != nil {
					b.Fatal(err)
				}
				if _, _, err := Apply(m, updates, testContext()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkJSONValid is the yardstick: one pass of encoding/json.Valid.
func BenchmarkJSONValid(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			doc := bigDocument(b, n)
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				if !json.Valid(doc) {
					b.Fatal("invalid")
				}
			}
		})
	}
}
