package iceberg

import (
	"testing"
)

func TestNewTableDocument(t *testing.T) {
	t.Parallel()
	m := newTable(t, 2, `,"partition-spec":{"fields":[{"source-id":3,"transform":"day","name":"ts_day"}]}`,
		`,"write-order":{"order-id":5,"fields":[{"source-id":1,"transform":"identity","direction":"asc","null-order":"nulls-first"}]}`)
	const want = `{"format-version":2,"table-uuid":"11111111-2222-4333-8444-555555555555","location":"s3://bucket/ns/t",` +
		`"last-sequence-number":0,"last-updated-ms":1700000000000,"last-column-id":8,"current-schema-id":0,"schemas":[` +
		`{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"id","required":true,"type":"long"},` +
		`{"id":2,"name":"data","required":false,"type":"string"},{"id":3,"name":"ts","required":false,"type":"timestamp"},` +
		`{"id":4,"name":"point","required":false,"type":{"type":"struct","fields":[{"id":6,"name":"x","required":true,"type":"int"},` +
		`{"id":7,"name":"y","required":false,"type":"float"}]}},` +
		`{"id":5,"name":"tags","required":false,"type":{"type":"list","element-id":8,"element":"string","element-required":false}}]}],` +
		`"default-spec-id":0,"partition-specs":[{"spec-id":0,"fields":[{"source-id":3,"field-id":1000,"transform":"day","name":"ts_day"}]}],` +
		`"last-partition-id":1000,"default-sort-order-id":1,"sort-orders":[{"order-id":1,"fields":[{"source-id":1,"transform":"identity",` +
		`"direction":"asc","null-order":"nulls-first"}]}],"properties":{"write.parquet.compression-codec":"zstd"},` +
		`"current-snapshot-id":-1,"refs":{},"snapshots":[],"statistics":[],"partition-statistics":[],"snapshot-log":[],"metadata-log":[]}`
	if got := string(m.Bytes()); got != want {
		t.Errorf("document:\n%s\nwant:\n%s", got, want)
	}
}

func TestAppendKeepsEverything(t *testing.T) {
	t.Parallel()
	for version := 1; version <= 2; version++ {
		m := newTable(t, version)
		for i := int64(1); i <= 3; i++ {
			seq := i
			if version == 1 {
				seq = 0
			}
			m = apply(t, m, "["+addSnapshotJSON(i, i-1, seq)+","+setMainJSON(i)+"]")
		}
		if id, ok := m.CurrentSnapshotID(); !ok || id != 3 || m.SnapshotCount() != 3 {
			t.Errorf("v%d: current %d, %d snapshots", version, id, m.SnapshotCount())
		}
	}
}
