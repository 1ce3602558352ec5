package iceberg

import (
	"strings"
	"testing"
)

// strange holds members no specification knows, at every level of a document,
// in spellings that a re-encoder would change.
const strange = `{
 "format-version" : 3, "future-top": {"b": 1.50, "a": [1e400, "\u00e9\/", null]},
 "table-uuid":"11111111-2222-4333-8444-555555555555","location":"s3:\/\/bucket\/t",
 "last-sequence-number":34, "last-updated-ms":1700000000000,"last-column-id":6,
 "current-schema-id":1,"schemas":[
  {"type":"struct","schema-id":0,"fields":[ {"id":1,"name":"x","required":true,"type":"long","field-future":{"k":12345678901234567890}} ], "schema-future":[1.0]},
  {"type":"struct","schema-id":1,"identifier-field-ids":[1],"fields":[{"id":1,"name":"x","required":true,"type":"long"},
   {"id":2,"name":"l","required":false,"type":{"type":"list","element-id":3,"element":{"type":"struct","fields":[{"id":4,"name":"y","required":false,"type":"vector[3]","deep":{"z":"\u2028"}}],"struct-future":1},"element-required":false,"list-future":2}},
   {"id":5,"name":"m","required":false,"type":{"type":"map","key-id":6,"key":"string","value-id":7,"value":"int","value-required":false,"map-future":3}}]}],
 "default-spec-id":0,"partition-specs":[{"spec-id":0,"fields":[{"source-id":1,"field-id":1000,"transform":"bucket[4]","name":"b","pf-future":4}],"spec-future":5}],
 "last-partition-id":1000,"default-sort-order-id":1,"sort-orders":[{"order-id":1,"fields":[{"source-id":1,"transform":"identity","direction":"asc","null-order":"nulls-first","sf-future":6}],"order-future":7}],
 "properties":{"a":"\u0062","c":"d\/e"},
 "current-snapshot-id":3055729675574597004,"next-row-id":100,
 "encryption-keys":[{"key-id":"k","encrypted-key-metadata":"YQ==","key-future":8}],
 "refs":{"main":{"snapshot-id":3055729675574597004,"type":"branch","ref-future":9},"t\u00e4g":{"snapshot-id":3051729675574597004,"type":"tag"}},
 "snapshots":[
  {"snapshot-id":3051729675574597004,"timestamp-ms":1515100955770,"sequence-number":0,"summary":{"operation":"append","summary-future":"10"},"manifest-list":"s3://a/b/1.avro","snap-future":{"n":-0.0}},
  {"snapshot-id":3055729675574597004,"parent-snapshot-id":3051729675574597004,"timestamp-ms":1555100955770,"sequence-number":1,"summary":{"operation":"append"},"manifest-list":"s3://a/b/2.avro","schema-id":1,"key-id":"k"}],
 "statistics":[{"snapshot-id":3055729675574597004,"statistics-path":"s3://a/s.puffin","file-size-in-bytes":413,"file-footer-size-in-bytes":42,"stat-future":11,
   "blob-metadata":[{"type":"ndv","snapshot-id":3055729675574597004,"sequence-number":1,"fields":[1],"properties":{"p":"q"},"blob-future":12}]}],
 "partition-statistics":[{"snapshot-id":3055729675574597004,"statistics-path":"s3://a/p.parquet","file-size-in-bytes":43,"ps-future":13}],
 "snapshot-log":[{"snapshot-id":3051729675574597004,"timestamp-ms":1515100955770,"log-future":14},{"timestamp-ms":1555100955770,"snapshot-id":3055729675574597004}],
 "metadata-log":[{"metadata-file":"s3://bucket/t/metadata/00000-a.metadata.json","timestamp-ms":1515100,"file-future":15}],
 "another-future": 3.14159265358979323846264338327950288
}`

// pieces are the parts of strange that must come through a commit as they are.
var pieces = []string{
	`"future-top": {"b": 1.50, "a": [1e400, "\u00e9\/", null]}`,
	`{"type":"struct","schema-id":0,"fields":[ {"id":1,"name":"x","required":true,"type":"long","field-future":{"k":12345678901234567890}} ], "schema-future":[1.0]}`,
	`{"id":4,"name":"y","required":false,"type":"vector[3]","deep":{"z":"\u2028"}}],"struct-future":1},"element-required":false,"list-future":2}`,
	`"value-required":false,"map-future":3}`,
	`{"spec-id":0,"fields":[{"source-id":1,"field-id":1000,"transform":"bucket[4]","name":"b","pf-future":4}],"spec-future":5}`,
	`{"order-id":1,"fields":[{"source-id":1,"transform":"identity","direction":"asc","null-order":"nulls-first","sf-future":6}],"order-future":7}`,
	`"a":"\u0062"`, `"c":"d\/e"`,
	`{"key-id":"k","encrypted-key-metadata":"YQ==","key-future":8}`,
	`{"snapshot-id":3055729675574597004,"type":"branch","ref-future":9}`,
	`{"snapshot-id":3051729675574597004,"timestamp-ms":1515100955770,"sequence-number":0,"summary":{"operation":"append","summary-future":"10"},"manifest-list":"s3://a/b/1.avro","snap-future":{"n":-0.0}}`,
	`"schema-id":1,"key-id":"k"}`,
	`"stat-future":11`, `"properties":{"p":"q"},"blob-future":12}`,
	`{"snapshot-id":3055729675574597004,"statistics-path":"s3://a/p.parquet","file-size-in-bytes":43,"ps-future":13}`,
	`{"snapshot-id":3051729675574597004,"timestamp-ms":1515100955770,"log-future":14}`,
	`{"metadata-file":"s3://bucket/t/metadata/00000-a.metadata.json","timestamp-ms":1515100,"file-future":15}`,
	`"another-future": 3.14159265358979323846264338327950288`,
}

func TestUnknownMembersSurvive(t *testing.T) {
	t.Parallel()
	m, err := ParseMetadata([]byte(strange))
	if err != nil {
		t.Fatal(err)
	}
	if string(m.Bytes()) != strange {
		t.Error("parsing changes the bytes")
	}
	for name, updates := range map[string]string{
		"property":     `[{"action":"set-properties","updates":{"new":"1"}}]`,
		"snapshot":     "[" + v3Snapshot(5, 35, 100, 1) + "]",
		"ref":          setRefJSON("b", "branch", 3051729675574597004, ""),
		"schema":       "[" + addSchemaJSON(schemaWith(column(1, "n", `"int"`))) + "]",
		"spec":         "[" + addSpecJSON(specField(1, "identity", "x")) + "]",
		"order":        "[" + addOrderJSON(sortFieldJSON(1, "bucket[2]")) + "]",
		"statistics":   "[" + setStats(77, "n") + "," + setPartStats(77, "n") + "]",
		"key":          `[{"action":"add-encryption-key","encryption-key":{"key-id":"n","encrypted-key-metadata":"YQ=="}}]`,
		"location":     `[{"action":"set-location","location":"s3://elsewhere"}]`,
		"order and id": "[" + addOrderJSON() + `,{"action":"set-default-sort-order","sort-order-id":0}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			next := apply(t, m, updates)
			next = apply(t, next, `[{"action":"set-properties","updates":{"twice":"2"}}]`)
			for _, piece := range pieces {
				if !strings.Contains(string(next.Bytes()), piece) {
					t.Errorf("lost %s in %s", piece, next.Bytes())
				}
			}
		})
	}
}

// TestUnknownMembersOfUpdatesSurvive: what a newer client sends inside the
// parts it adds is kept.
func TestUnknownMembersOfUpdatesSurvive(t *testing.T) {
	t.Parallel()
	m := newTable(t, 2)
	m = apply(t, m, `[{"action":"add-schema","schema":{"type":"struct","s-new":1.0,"fields":[{"id":1,"name":"id","required":true,"type":"long","f-new":[ ]}]}},`+
		`{"action":"add-spec","spec":{"p-new":{"a":1},"fields":[{"name":"b","transform":"bucket[4]","source-id":1,"pf-new":2}],"type":"struct"}},`+
		`{"action":"add-sort-order","sort-order":{"o-new":3,"fields":[{"source-id":1,"transform":"identity","direction":"asc","null-order":"nulls-last","sf-new":4}]}},`+
		`{"action":"set-statistics","statistics":{"snapshot-id":1,"statistics-path":"p","file-size-in-bytes":1,"file-footer-size-in-bytes":2,"blob-metadata":[{"bm-new":5}],"st-new":6}}]`)
	for _, piece := range []string{
		`{"type":"struct","schema-id":1,"s-new":1.0,"fields":[{"id":1,"name":"id","required":true,"type":"long","f-new":[ ]}]}`,
		`{"spec-id":1,"p-new":{"a":1},"fields":[{"name":"b","transform":"bucket[4]","source-id":1,"field-id":1000,"pf-new":2}],"type":"struct"}`,
		`{"order-id":1,"o-new":3,"fields":[{"source-id":1,"transform":"identity","direction":"asc","null-order":"nulls-last","sf-new":4}]}`,
		`"blob-metadata":[{"bm-new":5}],"st-new":6}`,
	} {
		if !strings.Contains(string(m.Bytes()), piece) {
			t.Errorf("lost %s in %s", piece, m.Bytes())
		}
	}
}

func TestUnknownMembersOfCreateSurvive(t *testing.T) {
	t.Parallel()
	req, err := DecodeCreateRequest([]byte(`{"name":"t","location":"s3://b/t","ignored":1,"schema":{"type":"struct","s-new":1,"fields":[` +
		`{"name":"a","id":10,"required":true,"type":"long","f-new":2},{"id":20,"name":"b","required":true,"type":{"type":"struct","t-new":3,"fields":[{"id":30,"name":"c","required":true,"type":"int"}]}}]},` +
		`"partition-spec":{"type":"struct","fields":[{"source-id":30,"transform":"identity","name":"b.c","pf-new":4}]},` +
		`"write-order":{"order-id":3,"o-new":5,"fields":[{"source-id":10,"transform":"identity","direction":"desc","null-order":"nulls-last","sf-new":6}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewTable(req, testContext())
	if err != nil {
		t.Fatal(err)
	}
	checkBuilt(t, m)
	for _, piece := range []string{
		`{"type":"struct","schema-id":0,"s-new":1,"fields":[{"name":"a","id":1,"required":true,"type":"long","f-new":2},{"id":2,"name":"b","required":true,"type":{"type":"struct","t-new":3,"fields":[{"id":3,"name":"c","required":true,"type":"int"}]}}]}`,
		`{"spec-id":0,"type":"struct","fields":[{"source-id":3,"field-id":1000,"transform":"identity","name":"b.c","pf-new":4}]}`,
		`{"order-id":1,"o-new":5,"fields":[{"source-id":1,"transform":"identity","direction":"desc","null-order":"nulls-last","sf-new":6}]}`,
	} {
		if !strings.Contains(string(m.Bytes()), piece) {
			t.Errorf("lost %s in %s", piece, m.Bytes())
		}
	}
}
