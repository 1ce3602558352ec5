package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestTrinosRequests(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(s.prefix, "Content-Type", "application/json", "Accept", "application/json", "Accept-Encoding", "gzip, x-gzip, deflate",
		"User-Agent", "Apache-HttpClient/5.5 (Java/25.0.3)", "X-Client-Version", "Apache Iceberg 1.9.1 (commit 0000000)")
	columns := `{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"x","required":false,"type":"int"}]}`
	c.play(t, []step{
		{send: "GET /catalog/v1/config?warehouse=demo", want: 200},
		{send: "POST /namespaces", body: `{"namespace":["tr"],"properties":{}}`, want: 200},
		{why: "the separator is this, whatever config says", send: "POST /namespaces", body: `{"namespace":["tr","inner"],"properties":{}}`, want: 200},
		{send: "HEAD /namespaces/tr%1Finner", want: 204},
		{send: "GET /namespaces?pageToken=", want: 200, is: map[string]string{"namespaces": `[["tr"]]`}},
		{send: "GET /namespaces?parent=tr&pageToken=", want: 200, is: map[string]string{"namespaces": `[["tr","inner"]]`}},
		{why: "no level below says that it is its own child", send: "GET /namespaces?parent=tr%1Finner&pageToken=", want: 200, is: map[string]string{"namespaces": `[]`}},
		{why: "schemas that every engine has", send: "GET /namespaces/system", want: 404, kind: "NoSuchNamespaceException"},
		{send: "HEAD /namespaces/information_schema", want: 404},
		{send: "GET /namespaces/system/tables?pageToken=", want: 404, kind: "NoSuchNamespaceException"},
		{why: "any table name is asked for as a view first", send: "GET /namespaces/tr/views/t", want: 404, kind: "NoSuchViewException"},
		{send: "GET /namespaces/tr/tables/t?snapshots=all", want: 404, kind: "NoSuchTableException"},
		{
			why: "without a location here a CTAS finds its own place not empty", send: "GET /namespaces/tr", want: 200, keep: map[string]string{"place": "properties/location"},
			is: map[string]string{"properties/location": `"@root@/tr"`},
		},
		{
			why: "it chooses a place of its own", send: "POST /namespaces/tr/tables",
			body: `{"name":"t","location":"@place@/t-0123456789abcdef0123456789abcdef","schema":` + columns + `,"partition-spec":{"spec-id":0,"fields":[]},"write-order":null,"properties":{"write.format.default":"PARQUET","created-at":"2026-01-01T00:00:00Z"},"stage-create":true}`,
			want: 200, not: "metadata-location", is: map[string]string{"metadata/location": `"@place@/t-0123456789abcdef0123456789abcdef"`}, keep: map[string]string{"uuid": "metadata/table-uuid"},
		},
		{send: "GET /namespaces/tr/tables/t?snapshots=all", want: 404, kind: "NoSuchTableException"},
		{
			why: "the commit brings an empty snapshot and what was staged", send: "POST /namespaces/tr/tables/t",
			body: commit(`{"type":"assert-create"}`, `{"action":"assign-uuid","uuid":"@uuid@"},{"action":"upgrade-format-version","format-version":2},{"action":"add-schema","schema":`+columns+`,"last-column-id":1},{"action":"set-current-schema","schema-id":-1},{"action":"add-spec","spec":{"spec-id":0,"fields":[]}},`+
				`{"action":"set-default-spec","spec-id":-1},{"action":"add-sort-order","sort-order":{"order-id":0,"fields":[]}},{"action":"set-default-sort-order","sort-order-id":-1},{"action":"set-location","location":"@place@/t-0123456789abcdef0123456789abcdef"},`+
				`{"action":"set-properties","updates":{"write.format.default":"PARQUET","created-at":"2026-01-01T00:00:00Z"}},`+snapshot(1, "", 1)+","+branch("main", 1)),
			want: 200, is: map[string]string{"metadata/location": `"@place@/t-0123456789abcdef0123456789abcdef"`, "metadata/table-uuid": `"@uuid@"`, "metadata/properties/write.format.default": `"PARQUET"`}, keep: map[string]string{"file": "metadata-location"},
		},
		{
			why: "statistics come in a commit of their own", send: "POST /namespaces/tr/tables/t",
			body: commit(sameUUID, `{"action":"set-statistics","snapshot-id":1,"statistics":{"snapshot-id":1,"statistics-path":"@place@/t-0123456789abcdef0123456789abcdef/metadata/1.stats","file-size-in-bytes":100,"file-footer-size-in-bytes":20,"blob-metadata":[{"type":"apache-datasketches-theta-v1","snapshot-id":1,"sequence-number":1,"fields":[1],"properties":{"ndv":"1"}}]}}`),
			want: 200, is: map[string]string{"metadata/statistics/#": "1"},
		},
		{send: "POST /namespaces/tr/tables/t", body: commit(sameUUID+`,{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":1}`, snapshot(2, "1", 2)+","+branch("main", 2)), want: 200},
		{
			why: "expire_snapshots removes statistics in between", send: "POST /namespaces/tr/tables/t", body: commit(sameUUID, `{"action":"remove-statistics","snapshot-id":1},{"action":"remove-snapshots","snapshot-ids":[1]},{"action":"remove-statistics","snapshot-id":1}`),
			want: 200, is: map[string]string{"metadata/statistics": "[]", "metadata/snapshots/#": "1"}, keep: map[string]string{"file": "metadata-location"},
		},
		{why: "unregister_table: nothing is purged unless it is asked for", send: "DELETE /namespaces/tr/tables/t", want: 204},
		{send: "POST /namespaces/tr%1Finner/register", body: `{"name":"t","metadata-location":"@file@"}`, want: 200, is: map[string]string{"metadata/table-uuid": `"@uuid@"`}},
		{why: "DROP TABLE", send: "DELETE /namespaces/tr%1Finner/tables/t?purgeRequested=true", want: 204},
		{why: "the shown location is no property that could be removed", send: "POST /namespaces/tr/properties", body: `{"removals":["location"],"updates":{}}`, want: 200, is: map[string]string{"missing": `["location"]`, "removed": "[]"}},
		{send: "GET /namespaces/tr", want: 200, is: map[string]string{"properties/location": `"@place@"`}},
	})
}

// CREATE OR REPLACE VIEW of Trino sends a fresh place each time.
func TestAViewMovesWithEachReplace(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(s.prefix)
	steps := []step{
		{send: "POST /namespaces", body: `{"namespace":["tr"]}`, want: 200},
		{send: "POST /namespaces/tr/views", body: strings.ReplaceAll(createView("v"), "spark", "trino"), want: 200, keep: map[string]string{"uuid": "metadata/view-uuid", "first": "metadata/location"}},
		{why: "the place is taken", send: "POST /namespaces/tr/tables", body: strings.Replace(create("t"), "{", `{"location":"@first@",`, 1), want: 400, kind: "BadRequestException"},
	}
	for i := 2; i < 14; i++ {
		place := fmt.Sprintf("@root@/tr/v-%d", i)
		updates := fmt.Sprintf(`{"action":"set-location","location":%q},{"action":"add-view-version","view-version":%s},{"action":"set-current-view-version","view-version-id":-1}`, place, viewVersion(i, 0, "trino", fmt.Sprint("SELECT ", i)))
		steps = append(steps, step{
			send: "POST /namespaces/tr/views/v", body: commit(`{"type":"assert-view-uuid","uuid":"@uuid@"}`, updates), want: 200,
			is:   map[string]string{"metadata/location": quoted(place), "metadata/schemas/#": "1", "metadata/versions/#": fmt.Sprint(min(i, 10))},
			keep: map[string]string{"file": "metadata-location"},
		})
	}
	steps = append(steps,
		step{why: "and every place that it left is free", send: "POST /namespaces/tr/tables", body: strings.Replace(create("t"), "{", `{"location":"@first@",`, 1), want: 200},
		step{send: "POST /namespaces/tr/tables", body: strings.Replace(create("t2"), "{", `{"location":"@root@/tr/v-3",`, 1), want: 200},
		step{send: "POST /namespaces/tr/views/v", body: commit("", `{"action":"set-location","location":"@root@/tr/v-3/below"}`), want: 400, kind: "BadRequestException"},
		step{send: "POST /namespaces/tr/views/v", body: commit("", `{"action":"set-location","location":"s3://another/x"}`), want: 400, kind: "BadRequestException"},
		step{send: "GET /namespaces/tr/views/v", want: 200, is: map[string]string{"metadata-location": `"@file@"`}},
	)
	c.play(t, steps)
}

func TestDuckDBsRequests(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(s.prefix, "User-Agent", "duckdb/v1.5.5(linux_amd64) python/3.11 d8cdaa33fd")
	columns := `{"fields":[{"name":"id","id":1,"type":"int","required":false},{"name":"d","id":2,"type":"string","required":false}],"type":"struct","schema-id":0,"identifier-field-ids":[]}`
	change := func(requirements, updates string) string {
		return `{"identifier":{"name":"t","namespace":["s"]},` + commit(requirements, updates)[1:]
	}
	c.play(t, []step{
		{send: "GET /catalog/v1/config?warehouse=demo", want: 200, is: map[string]string{"defaults": "{}"}},
		{send: "HEAD /namespaces/s", want: 404},
		{send: "POST /namespaces", body: `{"namespace":["s"],"properties":{}}`, want: 200},
		{send: "GET /namespaces/s/tables/t", more: []string{"X-Iceberg-Access-Delegation", "vended-credentials"}, want: 404, kind: "NoSuchTableException"},
		{
			why: "a spec has a type, and ids stand after names", send: "POST /namespaces/s/tables", more: []string{"X-Iceberg-Access-Delegation", "vended-credentials", "Content-Type", "application/json"},
			body: `{"stage-create":true,"name":"t","schema":` + columns + `,"partition-spec":{"spec-id":0,"type":"struct","fields":[{"name":"d_identity","transform":"identity","source-id":2,"field-id":1000}]},"write-order":{"order-id":0,"fields":[]},"properties":{"created-at":"now"}}`,
			want: 200, keep: map[string]string{"uuid": "metadata/table-uuid", "place": "metadata/location"}, is: map[string]string{"config": "{}"},
		},
		{
			why: "tables are made in a transaction, and the current schema is set last", send: "POST /transactions/commit",
			body: `{"table-changes":[` + change(`{"type":"assert-create"}`, `{"action":"assign-uuid","uuid":"@uuid@"},{"action":"upgrade-format-version","format-version":2},{"action":"add-schema","schema":`+columns+`,"last-column-id":2},`+
				`{"action":"add-spec","spec":{"spec-id":0,"type":"struct","fields":[{"name":"d_identity","transform":"identity","source-id":2,"field-id":1000}]}},{"action":"set-default-spec","spec-id":0},{"action":"add-sort-order","sort-order":{"order-id":0,"fields":[]}},`+
				`{"action":"set-default-sort-order","sort-order-id":0},{"action":"set-location","location":"@place@"},{"action":"set-properties","updates":{"created-at":"now"}},{"action":"set-current-schema","schema-id":0}`) + `]}`,
			want: 204,
		},
		{
			send: "GET /namespaces/s/tables/t", want: 200,
			is: map[string]string{"metadata/table-uuid": `"@uuid@"`, "metadata/location": `"@place@"`, "metadata/current-schema-id": "0", "metadata/partition-specs/0/fields/0/source-id": "2", "metadata/sort-orders/0/order-id": "0", "metadata/properties/created-at": `"now"`},
		},
		{
			why: "an insert is a transaction of one table", send: "POST /transactions/commit",
			body: `{"table-changes":[` + change(sameUUID+`,{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":null}`, snapshot(1, "", 1, `,"added-data-files":"1"`)+","+branch("main", 1)) + `]}`, want: 204,
		},
		{why: "the loser of a race", send: "POST /transactions/commit", body: `{"table-changes":[` + change(sameUUID+`,{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":null}`, snapshot(2, "", 1)+","+branch("main", 2)) + `]}`, want: 409, kind: "CommitFailedException"},
		{
			why: "ADD COLUMN does not say how many there are", send: "POST /transactions/commit",
			body: `{"table-changes":[` + change(sameUUID+`,{"type":"assert-current-schema-id","current-schema-id":0}`, `{"action":"add-schema","schema":{"type":"struct","schema-id":1,"fields":[{"name":"id","id":1,"type":"int","required":false},{"name":"d","id":2,"type":"string","required":false},{"name":"e","id":3,"type":"int","required":false}]}},{"action":"set-current-schema","schema-id":1}`) + `]}`,
			want: 204,
		},
		{send: "GET /namespaces/s/tables/t", want: 200, is: map[string]string{"metadata/last-column-id": "3", "metadata/current-schema-id": "1", "metadata/snapshots/0/timestamp-ms": "1900000000001"}},
		{why: "did you mean", send: "GET /namespaces/s/tables/tt", want: 404, kind: "NoSuchTableException"},
		{send: "HEAD /namespaces/s", want: 204},
		{send: "GET /namespaces/s/tables", want: 200, is: map[string]string{"identifiers": `[{"name":"t","namespace":["s"]}]`}},
		{send: "GET /namespaces", want: 200},
		{send: "POST /tables/rename", body: `{"source":{"namespace":["s"],"name":"t"},"destination":{"namespace":["s"],"name":"u"}}`, want: 204},
		{send: "DELETE /namespaces/s/tables/u?purgeRequested=false", want: 204},
		{send: "DELETE /namespaces/s", want: 204},
	})
}

func TestFlinksRequests(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(s.prefix, "Content-Type", "application/json", "Accept-Encoding", "gzip, deflate, zstd, lz4-framed", "User-Agent", "Apache-HttpClient/5.6.1 (Java/17.0.15)", "X-Client-Version", "Apache Iceberg 1.11.0 (commit 0000000)")
	state := `,"flink.job-id":"ab12","flink.operator-id":"cd34","flink.max-committed-checkpoint-id":"9223372036854775807"`
	c.play(t, []step{
		{send: "GET /catalog/v1/config?warehouse=demo", want: 200, keep: map[string]string{"endpoints": "endpoints"}},
		{why: "each operator opens the catalog again", send: "GET /catalog/v1/config?warehouse=demo", want: 200, is: map[string]string{"endpoints": "@endpoints@"}},
		{why: "the catalog's name is tried as a database", send: "GET /namespaces/ice", want: 404, kind: "NoSuchNamespaceException"},
		{send: "POST /namespaces", body: `{"namespace":["fl"],"properties":{}}`, want: 200},
		{why: "a dot in a database is a dot in one level", send: "POST /namespaces", body: `{"namespace":["fl.inner"],"properties":{}}`, want: 200},
		{send: "GET /namespaces/fl.inner", want: 200, is: map[string]string{"namespace": `["fl.inner"]`}},
		{send: "GET /namespaces?parent=fl", want: 200, is: map[string]string{"namespaces": "[]"}},
		{
			why: "no look before, and fields from 0", send: "POST /namespaces/fl.inner/tables",
			body: `{"name":"t","location":null,"schema":{"type":"struct","schema-id":0,"identifier-field-ids":[0],"fields":[{"id":0,"name":"id","required":true,"type":"int"}]},"partition-spec":{"spec-id":0,"fields":[]},"write-order":null,"properties":{},"stage-create":false}`,
			want: 200, is: map[string]string{"metadata/schemas/0/identifier-field-ids": "[1]"}, keep: map[string]string{"uuid": "metadata/table-uuid"},
		},
		{
			why: "the dynamic sink writes to branches that it makes", send: "POST /namespaces/fl.inner/tables/t",
			body: commit(sameUUID+`,{"type":"assert-ref-snapshot-id","ref":"audit","snapshot-id":null}`, snapshot(1, "", 1, state)+","+branch("audit", 1)),
			want: 200, is: map[string]string{"metadata/current-snapshot-id": "-1", "metadata/refs/audit/snapshot-id": "1", "metadata/snapshot-log": "[]"},
		},
		{
			why: "what it finds its own commits by is never touched", send: "GET /namespaces/fl.inner/tables/t?snapshots=refs", want: 200,
			is: map[string]string{"metadata/snapshots/0/summary": `{"flink.job-id":"ab12","flink.max-committed-checkpoint-id":"9223372036854775807","flink.operator-id":"cd34","operation":"append"}`},
		},
		{send: "DELETE /namespaces/fl.inner/tables/t?purgeRequested=true", want: 204},
	})
}

// ClickHouse knows no prefix, no nesting, and writes once more than it has to.
func TestClickHousesRequests(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client("/catalog/w/demo/v1", "User-Agent", "ClickHouse/26.9.2.1")
	head := `{"ref":"main","type":"assert-ref-snapshot-id"` // without its value on an empty table
	c.play(t, []step{
		{send: "GET /catalog/w/demo/v1/config?warehouse=", want: 200, is: map[string]string{"defaults": "{}"}},
		{send: "GET /namespaces", want: 200, is: map[string]string{"namespaces": "[]"}},
		{send: "GET /namespaces/ch", want: 404, kind: "NoSuchNamespaceException"},
		{send: "POST /namespaces", body: `{"namespace":["ch"],"properties":{"location":"@root@/ch/"}}`, want: 200},
		{send: "GET /namespaces?parent=ch", want: 200, is: map[string]string{"namespaces": "[]"}},
		{
			why: "its place ends in a slash", send: "POST /namespaces/ch/tables",
			body: `{"name":"t","location":"@root@/ch/t/","schema":{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"id","required":true,"type":"long"}]},"partition-spec":{"spec-id":0,"fields":[]},"write-order":{"order-id":0,"fields":[]},"stage-create":false,"properties":{"format-version":"2"}}`,
			want: 200, is: map[string]string{"metadata/location": `"@root@/ch/t"`, "metadata/format-version": "2"}, keep: map[string]string{"file": "metadata-location"},
		},
		{
			why: "the body's identifier is nested wrongly, the requirement has no value, and -1 is no parent", send: "POST /namespaces/ch/tables/t",
			body: `{"identifier":{"name":"t","namespace":["ch.x"]},"requirements":[` + head + `}],"updates":[` + snapshot(1, "-1", 1) + "," + branch("main", 1) + `]}`,
			want: 200, is: map[string]string{"metadata/current-snapshot-id": "1", "metadata/snapshots/0/parent-snapshot-id": ""},
		},
		{why: "now the snapshot must not be there", send: "POST /namespaces/ch/tables/t", body: commit(head+`}`, snapshot(2, "-1", 1)+","+branch("main", 2)), want: 409, kind: "CommitFailedException"},
		{why: "-1 says the same", send: "POST /namespaces/ch/tables/t", body: commit(head+`,"snapshot-id":-1}`, snapshot(2, "-1", 1)+","+branch("main", 2)), want: 409, kind: "CommitFailedException"},
		{send: "POST /namespaces/ch/tables/t", body: commit(head+`,"snapshot-id":1}`, snapshot(2, "1", 2)+","+branch("main", 2)), want: 200},
		{why: "no requirement at all", send: "POST /namespaces/ch/tables/t", body: `{"identifier":{"name":"t","namespace":["ch"]},"updates":[` + snapshot(3, "2", 3) + "," + branch("main", 3) + `]}`, want: 200},
		{
			why: "ALTER ADD COLUMN", send: "POST /namespaces/ch/tables/t",
			body: commit(`{"type":"assert-current-schema-id","current-schema-id":0}`, `{"action":"add-schema","schema":{"type":"struct","schema-id":1,"fields":[{"id":1,"name":"id","required":true,"type":"long"},{"id":2,"name":"s","required":false,"type":"string"}]}},{"action":"set-current-schema","schema-id":-1}`),
			want: 200, is: map[string]string{"metadata/last-column-id": "2", "metadata/current-schema-id": "1"},
		},
		{why: "DROP TABLE", send: "DELETE /namespaces/ch/tables/t?purgeRequested=False", want: 204},
		{why: "and again, which it takes for a failure", send: "DELETE /namespaces/ch/tables/t?purgeRequested=False", want: 404, kind: "NoSuchTableException"},
		{send: "GET /namespaces/ch/tables", want: 200, is: map[string]string{"identifiers": "[]"}},
	})
	if !strings.HasPrefix(c.vars["file"], "file:///") {
		t.Errorf("it looks for the file in its own folder: %s", c.vars["file"])
	}
}
