package httpapi_test

import (
	"strings"
	"testing"
)

// What real clients send, to the letter of what they were seen to send: each
// script is a session of one of them, with its headers and habits.

func TestPyIcebergsRequests(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(s.prefix,
		"Authorization", "Bearer None", // it has no token, and says so
		"X-Iceberg-Access-Delegation", "vended-credentials", "Content-Type", "application/json", "Accept", "*/*", "Accept-Encoding", "gzip, deflate",
		"User-Agent", "PyIceberg/0.12.0", "X-Client-Version", "PyIceberg 0.12.0")
	schema := `{"type":"struct","schema-id":0,"identifier-field-ids":[],"fields":[{"id":1,"name":"id","type":"long","required":false},{"id":2,"name":"data","type":"string","required":false}]}`
	mains := func(id string) string {
		return `{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":` + id + `},` + sameUUID
	}
	named := func(body string) string { return `{"identifier":{"namespace":["py","inner"],"name":"t"},` + body[1:] }
	c.play(t, []step{
		{send: "GET /catalog/v1/config?warehouse=demo", want: 200, is: map[string]string{"defaults": "{}", "overrides/namespace-separator": `"%1F"`}, not: `"token"`},
		{send: "POST /namespaces", body: `{"namespace":["py"],"properties":{}}`, want: 200},
		{send: "POST /namespaces", body: `{"namespace":["py","inner"],"properties":{}}`, want: 200},
		{why: "create_namespace_if_not_exists swallows this", send: "POST /namespaces", body: `{"namespace":["py","inner"],"properties":{}}`, want: 409, kind: "AlreadyExistsException"},
		{send: "GET /namespaces?parent=py", want: 200, is: map[string]string{"namespaces": `[["py","inner"]]`}, not: "next-page-token"},
		{why: "it asks for this member before 0.12", send: "GET /namespaces/py%1Finner", want: 200, is: map[string]string{"properties/location": `"@root@/py/inner"`}},
		{
			send: "POST /namespaces/py%1Finner/tables",
			body: `{"name":"t","location":null,"schema":` + schema + `,"partition-spec":{"spec-id":0,"fields":[]},"write-order":{"order-id":0,"fields":[]},"stage-create":false,"properties":{"format-version":"2","owner":"x"}}`,
			want: 200, is: map[string]string{"metadata/format-version": "2", "metadata/last-column-id": "2", "metadata/snapshots": "[]", "metadata/refs": "{}", "metadata/properties/owner": `"x"`, "config": "{}"},
			keep: map[string]string{"uuid": "metadata/table-uuid", "location": "metadata-location"},
		},
		{send: "HEAD /namespaces/py%1Finner/tables/t", want: 204},
		{
			why: "append to a new branch: null is no snapshot", send: "POST /namespaces/py%1Finner/tables/t", body: named(commit(mains("null"), snapshot(1, "", 1)+","+branch("main", 1))),
			want: 200, is: map[string]string{"metadata/current-snapshot-id": "1", "metadata/refs/main/type": `"branch"`},
		},
		{
			why: "the first write of somebody else, prepared at the same time, must not win as well", send: "POST /namespaces/py%1Finner/tables/t",
			body: named(commit(mains("null"), snapshot(9, "", 1)+","+branch("main", 9))), want: 409, kind: "CommitFailedException",
		},
		{
			why: "overwrite: two snapshots in one commit", send: "POST /namespaces/py%1Finner/tables/t",
			body: named(commit(mains("1"), strings.Join([]string{snapshot(2, "1", 2), branch("main", 2), snapshot(3, "2", 3), branch("main", 3)}, ","))),
			want: 200, is: map[string]string{"metadata/current-snapshot-id": "3", "metadata/last-sequence-number": "3", "metadata/snapshot-log/#": "2", "metadata/snapshots/#": "3"},
		},
		{
			why: "a new branch", send: "POST /namespaces/py%1Finner/tables/t",
			body: named(commit(sameUUID+`,{"type":"assert-ref-snapshot-id","ref":"b","snapshot-id":null}`, `{"action":"set-snapshot-ref","ref-name":"b","type":"branch","snapshot-id":1,"max-ref-age-ms":null,"max-snapshot-age-ms":null,"min-snapshots-to-keep":null}`)),
			want: 200, is: map[string]string{"metadata/refs/b/snapshot-id": "1"},
		},
		{why: "expire_snapshots asserts the uuid alone", send: "POST /namespaces/py%1Finner/tables/t", body: named(commit(sameUUID, `{"action":"remove-snapshots","snapshot-ids":[2]}`)), want: 200, is: map[string]string{"metadata/snapshots/#": "2"}},
		{
			why: "create_table_transaction", send: "POST /namespaces/py/tables", body: `{"name":"ct","location":null,"schema":` + schema + `,"partition-spec":{"spec-id":0,"fields":[]},"write-order":{"order-id":0,"fields":[]},"stage-create":true,"properties":{}}`,
			want: 200, not: "metadata-location", keep: map[string]string{"staged": "metadata/location", "uuid2": "metadata/table-uuid"},
		},
		{send: "HEAD /namespaces/py/tables/ct", want: 404},
		{
			send: "POST /namespaces/py/tables/ct",
			body: `{"identifier":{"namespace":["py"],"name":"ct"},"requirements":[{"type":"assert-create"}],"updates":[{"action":"assign-uuid","uuid":"@uuid2@"},{"action":"upgrade-format-version","format-version":2},{"action":"add-schema","schema":` + schema +
				`,"last-column-id":2},{"action":"set-current-schema","schema-id":-1},{"action":"add-spec","spec":{"spec-id":0,"fields":[]}},{"action":"set-default-spec","spec-id":-1},{"action":"add-sort-order","sort-order":{"order-id":0,"fields":[]}},` +
				`{"action":"set-default-sort-order","sort-order-id":-1},{"action":"set-location","location":"@staged@"},{"action":"set-properties","updates":{}}]}`,
			want: 200, is: map[string]string{"metadata/location": `"@staged@"`, "metadata/table-uuid": `"@uuid2@"`},
		},
		{why: "rename_table looks at both namespaces", send: "HEAD /namespaces/py%1Finner", want: 204},
		{send: "HEAD /namespaces/py", want: 204},
		{send: "POST /tables/rename", body: `{"source":{"namespace":["py","inner"],"name":"t"},"destination":{"namespace":["py"],"name":"t2"}}`, want: 204},
		{send: "GET /namespaces/py/tables/t2", want: 200, is: map[string]string{"metadata/table-uuid": `"@uuid@"`}, keep: map[string]string{"location": "metadata-location"}},
		{why: "Python spells truth so", send: "DELETE /namespaces/py/tables/t2?purgeRequested=False", want: 204},
		{send: "POST /namespaces/py/register", body: `{"name":"t3","metadata-location":"@location@","overwrite":false}`, want: 200, is: map[string]string{"metadata/table-uuid": `"@uuid@"`, "metadata-location": `"@location@"`}},
		{
			why: "create_view of 0.12 writes the quoted name into the body, and that is the name", send: "POST /namespaces/py/views",
			body: createView("my%20view"), want: 200,
		},
		{send: "GET /namespaces/py/views", want: 200, is: map[string]string{"identifiers": `[{"name":"my%20view","namespace":["py"]}]`}},
		{send: "DELETE /namespaces/py/views/my%2520view", want: 204},
		{send: "DELETE /namespaces/py/tables/t3?purgeRequested=True", want: 204},
		{send: "DELETE /namespaces/py/tables/ct?purgeRequested=false", want: 204},
		{why: "Daft takes the alias of the catalog for a namespace first", send: "GET /namespaces/ice.py/tables/t", want: 404, kind: "NoSuchTableException"},
	})
}

func TestSparksRequests(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(s.prefix, "Content-Type", "application/json", "Accept", "application/json", "Accept-Encoding", "gzip, deflate, zstd, xz, lzma, lz4-framed, lz4-block, bzip2, pack200, deflate64, x-gzip",
		"User-Agent", "Apache-HttpClient/5.6.4 (Java/17.0.15)", "X-Client-Version", "Apache Iceberg 1.12.0 (commit 0000000)", "X-Client-Git-Commit-Short", "0000000")
	fromZero := `{"type":"struct","schema-id":0,"fields":[{"id":0,"name":"id","required":false,"type":"long"},{"id":1,"name":"data","required":false,"type":"string"}]}`
	c.play(t, []step{
		{send: "HEAD /namespaces/spk", want: 404},
		{send: "POST /namespaces", body: `{"namespace":["spk"],"properties":{"owner":"somebody"}}`, want: 200},
		{why: "an empty token is the first page, and without a size it is the only one", send: "GET /namespaces?pageToken=", want: 200, is: map[string]string{"namespaces": `[["spk"]]`}},
		{send: "GET /namespaces?parent=spk&pageToken=", want: 200, is: map[string]string{"namespaces": `[]`}},
		{send: "GET /namespaces/spk/tables?pageToken=", want: 200, is: map[string]string{"identifiers": `[]`}},
		{send: "GET /namespaces/spk/views?pageToken=", want: 200, is: map[string]string{"identifiers": `[]`}},
		{why: "any name is asked for as a table, then as a view", send: "GET /namespaces/spk/tables/t?snapshots=all", want: 404, kind: "NoSuchTableException"},
		{send: "GET /namespaces/spk/views/t", want: 404, kind: "NoSuchViewException"},
		{
			why: "fields are numbered from 0, and nothing else is said", send: "POST /namespaces/spk/tables",
			body: `{"name":"t","location":null,"schema":` + fromZero + `,"partition-spec":{"spec-id":0,"fields":[]},"write-order":null,"properties":{"owner":"somebody"},"stage-create":false}`,
			want: 200, is: map[string]string{"metadata/last-column-id": "2", "metadata/schemas/0/fields/0/id": "1", "metadata/schemas/0/fields/1/id": "2", "metadata/default-sort-order-id": "0"},
			keep: map[string]string{"uuid": "metadata/table-uuid", "tag": "ETag:"},
		},
		{why: "a metadata table has the dotted name of its table as namespace", send: "GET /namespaces/spk%2Et/tables/snapshots?snapshots=all", want: 404, kind: "NoSuchTableException"},
		{send: "GET /namespaces/spk%1Ft/tables/branch_b1?snapshots=all", want: 404, kind: "NoSuchTableException"},
		{why: "the table cache", send: "GET /namespaces/spk/tables/t?snapshots=all", more: []string{"If-None-Match", "@tag@"}, want: 304},
		{
			why: "a write: no identifier", send: "POST /namespaces/spk/tables/t",
			body: commit(sameUUID+`,{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":null}`, snapshot(1, "", 1, `,"spark.app.id":"local-1","added-records":"3"`)+","+branch("main", 1)),
			want: 200, is: map[string]string{"metadata/snapshots/0/summary": `{"added-records":"3","operation":"append","spark.app.id":"local-1"}`},
		},
		{send: "GET /namespaces/spk/tables/t?snapshots=all", more: []string{"If-None-Match", "@tag@"}, want: 200},
		{send: "POST /namespaces/spk/tables/t/metrics", body: `{"report-type":"commit-report","table-name":"ice.spk.t","snapshot-id":1,"sequence-number":1,"operation":"append","metrics":{"total-duration":{"count":1,"time-unit":"nanoseconds","total-duration":5},"attempts":{"unit":"count","value":1}},"metadata":{"engine-name":"spark"}}`, want: 204},
		{why: "a second writer of the same base", send: "POST /namespaces/spk/tables/t", body: commit(sameUUID, snapshot(2, "1", 1)+","+branch("main", 2)), want: 409, kind: "CommitFailedException"},
		{send: "POST /namespaces/spk/tables/t", body: commit(sameUUID+`,{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":1}`, snapshot(2, "1", 2)+","+branch("main", 2)), want: 200},
		{send: "POST /namespaces/spk/tables/t", body: commit(sameUUID+`,{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":2}`, snapshot(3, "2", 3)+","+branch("main", 3)), want: 200},
		{
			why: "expire_snapshots: an update for each", send: "POST /namespaces/spk/tables/t",
			body: commit(sameUUID, `{"action":"remove-snapshots","snapshot-ids":[1]},{"action":"remove-snapshots","snapshot-ids":[2]}`), want: 200, is: map[string]string{"metadata/snapshots/#": "1"},
		},
		{send: "HEAD /namespaces/spk/views/t", want: 404},
		{
			why: "CREATE OR REPLACE", send: "POST /namespaces/spk/tables/t",
			body: commit(sameUUID+`,{"type":"assert-last-assigned-field-id","last-assigned-field-id":2}`,
				`{"action":"set-default-spec","spec-id":0},{"action":"set-default-sort-order","sort-order-id":0},{"action":"remove-snapshot-ref","ref-name":"main"},{"action":"add-schema","last-column-id":1,"schema":{"type":"struct","schema-id":1,"fields":[{"id":1,"name":"id","required":false,"type":"long"}]}},{"action":"set-current-schema","schema-id":-1},{"action":"set-properties","updates":{"owner":"somebody"}}`),
			want: 200, is: map[string]string{"metadata/table-uuid": `"@uuid@"`, "metadata/last-column-id": "2", "metadata/current-schema-id": "1", "metadata/current-snapshot-id": "-1", "metadata/refs": "{}"},
		},
		{why: "CTAS", send: "POST /namespaces/spk/tables", body: `{"name":"ctas","location":null,"schema":` + fromZero + `,"partition-spec":null,"write-order":null,"properties":{},"stage-create":true}`, want: 200, keep: map[string]string{"staged": "metadata/location", "uuid2": "metadata/table-uuid"}},
		{
			send: "POST /namespaces/spk/tables/ctas",
			body: commit(`{"type":"assert-create"}`, `{"action":"assign-uuid","uuid":"@uuid2@"},{"action":"upgrade-format-version","format-version":2},{"action":"add-schema","last-column-id":2,"schema":{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"id","required":false,"type":"long"}]}},`+
				`{"action":"set-current-schema","schema-id":-1},{"action":"add-spec","spec":{"spec-id":0,"fields":[]}},{"action":"set-default-spec","spec-id":-1},{"action":"add-sort-order","sort-order":{"order-id":0,"fields":[]}},{"action":"set-default-sort-order","sort-order-id":-1},`+
				`{"action":"set-location","location":"@staged@"},`+snapshot(1, "", 1)+","+branch("main", 1)),
			want: 200, is: map[string]string{"metadata/table-uuid": `"@uuid2@"`, "metadata/current-snapshot-id": "1"},
		},
		{why: "who stages the same name meanwhile finds it taken", send: "POST /namespaces/spk/tables/ctas", body: commit(`{"type":"assert-create"}`, `{"action":"add-schema","schema":`+fromZero+`}`), want: 409, kind: "CommitFailedException"},
		{
			why: "a view, its schema numbered from 0", send: "POST /namespaces/spk/views",
			body: `{"name":"v","schema":{"type":"struct","schema-id":0,"fields":[{"id":0,"name":"x","required":false,"type":"int"}]},"view-version":` + viewVersion(1, 0, "spark", "select 1 x") + `,"properties":{"owner":"somebody"}}`,
			want: 200, keep: map[string]string{"view": "metadata/view-uuid"},
		},
		{
			send: "POST /namespaces/spk/views/v",
			body: commit(`{"type":"assert-view-uuid","uuid":"@view@"}`, `{"action":"set-properties","updates":{"a":"b"}},{"action":"add-schema","schema":{"type":"struct","schema-id":0,"fields":[{"id":0,"name":"y","required":false,"type":"int"}]},"last-column-id":0},{"action":"add-view-version","view-version":`+
				viewVersion(2, -1, "spark", "select 1 y")+`},{"action":"set-current-view-version","view-version-id":-1}`),
			want: 200, is: map[string]string{"metadata/current-version-id": "2", "metadata/schemas/#": "2", "metadata/versions/1/schema-id": "1"},
		},
		{why: "DROP VIEW IF EXISTS", send: "DELETE /namespaces/spk/views/nov", want: 404, kind: "NoSuchViewException"},
		{send: "POST /namespaces", body: `{"namespace":["other"],"properties":{"owner":"somebody"}}`, want: 200},
		{why: "RENAME into another namespace", send: "POST /tables/rename", body: `{"source":{"namespace":["spk"],"name":"ctas"},"destination":{"namespace":["other"],"name":"ctas"}}`, want: 204},
		{why: "DROP NAMESPACE CASCADE is this and nothing more", send: "DELETE /namespaces/other", want: 409, kind: "NamespaceNotEmptyException"},
		{why: "DROP TABLE has no query at all", send: "DELETE /namespaces/other/tables/ctas", want: 204},
		{send: "DELETE /namespaces/other", want: 204},
	})
}
