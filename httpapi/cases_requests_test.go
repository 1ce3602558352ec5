package httpapi_test

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
)

// Every list takes the same paging parameters in the same way.
func TestEveryListJudgesItsPagingParameters(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(s.prefix)
	for _, ns := range []string{`["n"]`, `["n","a"]`, `["n","b"]`, `["n","c"]`, `["n","a","deep"]`, `["n2"]`, `["N3"]`} {
		c.play(t, []step{{send: "POST /namespaces", body: `{"namespace":` + ns + `}`, want: 200}})
	}
	for _, name := range []string{"x", "y", "z"} {
		c.play(t, []step{{send: "POST /namespaces/n/tables", body: create(name), want: 200}, {send: "POST /namespaces/n/views", body: createView("v" + name), want: 200}})
	}
	lists := map[string]string{"/namespaces?": "namespaces", "/namespaces?parent=n&": "namespaces", "/namespaces/n/tables?": "identifiers", "/namespaces/n/views?": "identifiers"}
	tokens := map[string]string{}
	for list, member := range lists {
		c.play(t, []step{
			{send: "GET " + list + "pageSize=1", why: "nobody asked for pages", want: 200, is: map[string]string{member + "/#": "3"}, not: "next-page-token"},
			{send: "GET " + list + "pageToken=", why: "one page without a size", want: 200, is: map[string]string{member + "/#": "3"}, not: "next-page-token\":\""},
			{send: "GET " + list + "pageToken=&pageSize=2147483648", want: 200, is: map[string]string{member + "/#": "3"}},
			{send: "GET " + list + "pageToken=&pageSize=3", why: "exactly as many", want: 200, is: map[string]string{member + "/#": "3"}},
			{send: "GET " + list + "pageToken=&pageSize=1", want: 200, is: map[string]string{member + "/#": "1"}, keep: map[string]string{"token": "next-page-token"}},
			{send: "GET " + list + "PAGETOKEN=@token@&PageSize=1", want: 200, is: map[string]string{member + "/#": "1"}},
		})
		tokens[list] = c.vars["token"]
		for _, size := range []string{"0", "-1", "abc", "1e9", "1.0", "99999999999999999999", "%00", "1&pageSize=2"} {
			for _, token := range []string{"", "pageToken=&"} {
				refused(t, s.do("GET", s.prefix+list+token+"pageSize="+size, ""), 400, "BadRequestException")
			}
		}
		for _, token := range []string{"garbage", "%00", "%ff", strings.Repeat("A", 10_000), c.vars["token"] + "A", c.vars["token"][:len(c.vars["token"])-2]} {
			refused(t, s.do("GET", s.prefix+list+"pageToken="+token+"&pageSize=1", ""), 400, "BadRequestException")
		}
	}
	for list := range lists { // a token belongs to its list
		for other, token := range tokens {
			if other != list {
				refused(t, s.do("GET", s.prefix+list+"pageSize=1&pageToken="+url.QueryEscape(token), ""), 400, "BadRequestException")
			}
		}
	}
	// Who walks down from the root comes to an end, and meets each level once.
	seen := map[string]bool{}
	var walk func(parent string)
	walk = func(parent string) {
		got := s.do("GET", s.prefix+"/namespaces?parent="+parent, "")
		for i := 0; look(got, fmt.Sprint("namespaces/", i)) != ""; i++ {
			full := look(got, fmt.Sprint("namespaces/", i))
			if seen[full] || full == "[]" || len(seen) > 20 {
				t.Fatalf("below %q: %s again", parent, full)
			}
			seen[full] = true
			walk(strings.ReplaceAll(strings.Trim(full, `["]`), `","`, "%1F"))
		}
	}
	walk("")
	if len(seen) != 7 {
		t.Errorf("walked over %v", seen)
	}
}

// A member that may be missing may be null: clients in some languages print
// what they do not have.
func TestNullsOfOptionalMembersAreAbsent(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(s.prefix)
	column := `{"id":3,"name":"c","required":false,"type":"int","doc":null,"initial-default":null,"write-default":null}`
	c.play(t, []step{
		{send: "POST /namespaces", body: `{"namespace":["n"],"properties":null}`, want: 200},
		{send: "POST /namespaces/n/properties", body: `{"removals":null,"updates":{"a":"b"}}`, want: 200, is: map[string]string{"updated": `["a"]`, "removed": "[]", "missing": "[]"}},
		{send: "POST /namespaces/n/properties", body: `{"removals":["a"],"updates":null}`, want: 200, is: map[string]string{"updated": "[]", "removed": `["a"]`}},
		{send: "POST /namespaces/n/tables", body: `{"name":"t","schema":{"type":"struct","schema-id":null,"identifier-field-ids":null,"fields":[` + column + `]},"location":null,"partition-spec":null,"write-order":null,"stage-create":null,"properties":null}`, want: 200, keep: map[string]string{"uuid": "metadata/table-uuid", "file": "metadata-location"}},
		{send: "POST /namespaces/n/tables", body: `{"name":"s","schema":` + schema + `,"partition-spec":{"spec-id":null,"fields":[{"source-id":1,"field-id":null,"name":"p","transform":"identity"}]},"write-order":{"order-id":null,"fields":[]}}`, want: 200, is: map[string]string{"metadata/partition-specs/0/fields/0/field-id": "1000"}},
		{send: "POST /namespaces/n/tables/t", body: `{"identifier":null,"requirements":null,"updates":null}`, want: 200, is: map[string]string{"metadata-location": `"@file@"`}},
		{
			send: "POST /namespaces/n/tables/t",
			body: commit(`{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":null}`, `{"action":"add-snapshot","snapshot":{"snapshot-id":1,"parent-snapshot-id":null,"sequence-number":1,"timestamp-ms":1900000000000,"manifest-list":"@root@/x.avro","summary":{"operation":"append"},"schema-id":null,"first-row-id":null,"added-rows":null,"key-id":null}},`+
				`{"action":"set-snapshot-ref","ref-name":"main","type":"branch","snapshot-id":1,"max-ref-age-ms":null,"max-snapshot-age-ms":null,"min-snapshots-to-keep":null}`),
			want: 200, is: map[string]string{"metadata/current-snapshot-id": "1"},
		},
		{send: "POST /namespaces/n/tables/t", body: commit("", `{"action":"add-schema","last-column-id":null,"schema":{"type":"struct","schema-id":null,"fields":[`+column+`,{"id":4,"name":"d","required":false,"type":"int"}]}},{"action":"set-current-schema","schema-id":-1}`), want: 200},
		{send: "POST /transactions/commit", body: `{"table-changes":[{"identifier":{"namespace":["n"],"name":"t"},"requirements":null,"updates":null}]}`, want: 204},
		{
			send: "POST /namespaces/n/views", body: `{"name":"v","location":null,"schema":` + schema + `,"properties":null,"view-version":{"version-id":1,"timestamp-ms":1900000000000,"schema-id":0,"summary":{},"default-catalog":null,"default-namespace":["n"],"representations":[{"type":"sql","sql":"x","dialect":"spark"}]}}`, want: 200,
		},
		{send: "POST /namespaces/n/views/v", body: `{"identifier":null,"requirements":null,"updates":null}`, want: 200},
		{send: "GET /namespaces/n/tables/t", want: 200, keep: map[string]string{"file": "metadata-location"}},
		{send: "DELETE /namespaces/n/tables/t", want: 204},
		{send: "POST /namespaces/n/register", body: `{"name":"t","metadata-location":"@file@","overwrite":null}`, want: 200},
	})
	// What has to be there is missing when it is null.
	for path, bodies := range map[string][]string{
		"/namespaces":            {`{"namespace":null}`, `{"namespace":[null]}`, `{"namespace":["a",null]}`, "null"},
		"/namespaces/n/tables":   {`{"name":null,"schema":` + schema + `}`, `{"name":"x","schema":null}`, `{"name":"x","schema":{"type":"struct","fields":null}}`, `{"name":"x","schema":{"type":null,"fields":[]}}`, `{"name":"x","schema":{"type":"struct","fields":[null]}}`, `{"name":"x","schema":` + schema + `,"properties":{"a":null}}`},
		"/namespaces/n/tables/t": {`{"updates":[null]}`, `{"requirements":[null],"updates":[]}`, `{"updates":[{"action":null}]}`, `{"updates":[{"action":"add-schema","schema":null}]}`, `{"updates":[{"action":"set-properties","updates":{"a":null}}]}`, `{"requirements":[{"type":"assert-table-uuid","uuid":null}],"updates":[]}`},
		"/namespaces/n/register": {`{"name":null,"metadata-location":"x"}`, `{"name":"x","metadata-location":null}`},
		"/tables/rename":         {`{"source":null,"destination":null}`, `{"source":{"namespace":null,"name":"t"},"destination":{"namespace":["n"],"name":"u"}}`},
		"/transactions/commit":   {`{"table-changes":null}`, `{"table-changes":[null]}`, `{"table-changes":[{"identifier":null,"updates":[]}]}`},
		"/namespaces/n/views":    {`{"name":"x","schema":` + schema + `,"view-version":null}`, `{"name":"x","schema":null,"view-version":` + viewVersion(1, 0, "a", "b") + `}`},
	} {
		for _, body := range bodies {
			if got := s.do("POST", s.prefix+path, body); got.status != 400 {
				t.Errorf("%s %s: %d %s", path, body, got.status, got.body)
			}
		}
	}
}

// Metadata rules that clients were once answered wrongly about, as they look on
// the wire.
func TestMetadataRulesOnTheWire(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(s.prefix)
	nested := `[{"id":1,"name":"id","required":true,"type":"long"},{"id":2,"name":"addr","required":false,"type":{"type":"struct","fields":[{"id":5,"name":"street","required":false,"type":"string"},{"id":6,"name":"zip","required":false,"type":"string"}]}},` +
		`{"id":3,"name":"tags","required":false,"type":{"type":"list","element-id":7,"element":"string","element-required":false}},{"id":4,"name":"attrs","required":false,"type":{"type":"map","key-id":8,"key":"string","value-id":9,"value":"string","value-required":false}}%s]`
	add := func(more string) string {
		return `{"action":"add-schema","schema":{"type":"struct","schema-id":1,"fields":` + fmt.Sprintf(nested, more) + `}},{"action":"set-current-schema","schema-id":-1}`
	}
	last := func(id int) string {
		return fmt.Sprintf(`{"type":"assert-last-assigned-field-id","last-assigned-field-id":%d}`, id)
	}
	extra := `,{"id":10,"name":"extra","required":false,"type":{"type":"struct","fields":[{"id":11,"name":"a","required":false,"type":"int"}]}}`
	c.play(t, []step{
		{send: "POST /namespaces", body: `{"namespace":["n"]}`, want: 200},
		{send: "POST /namespaces/n/tables", body: `{"name":"t","schema":{"type":"struct","fields":` + fmt.Sprintf(nested, "") + `}}`, want: 200, is: map[string]string{"metadata/last-column-id": "9"}, keep: map[string]string{"uuid": "metadata/table-uuid"}},
		{why: "a sink that counts top-level columns alone is wrong", send: "POST /namespaces/n/tables/t", body: commit(last(4), add(extra)), want: 409, kind: "CommitFailedException"},
		{why: "requirements look at the base, not at what comes of it", send: "POST /namespaces/n/tables/t", body: commit(last(9), add(extra)), want: 200, is: map[string]string{"metadata/last-column-id": "11"}},
		{why: "a nested field has this id", send: "POST /namespaces/n/tables/t", body: commit("", add(`,{"id":5,"name":"dup","required":false,"type":"int"}`)), want: 400, kind: "ValidationException"},
		{why: "names of columns may differ in letter case alone", send: "POST /namespaces/n/tables/t", body: commit("", add(`,{"id":12,"name":"ID","required":false,"type":"int"}`)), want: 200},
		{send: "POST /namespaces/n/tables/t", body: commit("", add(`,{"id":13,"name":"id","required":false,"type":"int"}`)), want: 400, kind: "ValidationException"},
		{why: "expiry with nothing to expire writes nothing", send: "GET /namespaces/n/tables/t", want: 200, keep: map[string]string{"file": "metadata-location"}},
		{send: "POST /namespaces/n/tables/t", body: commit(sameUUID, `{"action":"remove-partition-specs","spec-ids":[]},{"action":"remove-schemas","schema-ids":[]},{"action":"remove-snapshots","snapshot-ids":[]}`), want: 200, is: map[string]string{"metadata-location": `"@file@"`}},
		{send: "POST /namespaces/n/tables", body: strings.Replace(create("e"), "{", `{"properties":{"format-version":"3","encryption.key-id":"k1"},`, 1), want: 200},
		{send: "POST /namespaces/n/tables/e", body: commit("", `{"action":"set-properties","updates":{"encryption.key-id":"k2"}}`), want: 400, kind: "IllegalArgumentException"},
		{send: "POST /namespaces/n/tables/e", body: commit("", `{"action":"remove-properties","removals":["encryption.key-id"]},{"action":"set-properties","updates":{"encryption.key-id":"k2"}}`), want: 400, kind: "IllegalArgumentException"},
		{send: "POST /namespaces/n/tables/e", body: commit("", `{"action":"set-properties","updates":{"encryption.key-id":"k1","a":"b"}}`), want: 200, is: map[string]string{"metadata/next-row-id": "0"}},
		{why: "letter case of names counts nowhere else", send: "POST /namespaces/n/tables/t", body: commit(`{"type":"ASSERT-TABLE-UUID","uuid":"@uuid@"}`, `{"action":"Set-Properties","updates":{"a":"b"}}`), want: 200},
		{send: "POST /namespaces/n/tables/t", body: commit(`{"type":"assert-nothing"}`, ""), want: 400, kind: "BadRequestException"},
	})
}

// A transaction of which one part fails has done nothing to the others: no
// pointer moved, and no file came or went, though a table asks for its old
// metadata to be deleted.
func TestAFailedTransactionTouchesNoFile(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(s.prefix)
	c.play(t, []step{
		{send: "POST /namespaces", body: `{"namespace":["n"]}`, want: 200},
		{send: "POST /namespaces/n/tables", body: strings.Replace(create("a"), "{", `{"properties":{"write.metadata.delete-after-commit.enabled":"true","write.metadata.previous-versions-max":"1"},`, 1), want: 200},
		{send: "POST /namespaces/n/tables", body: create("b"), want: 200},
		{send: "POST /namespaces/n/views", body: createView("v"), want: 200},
	})
	for i := range 3 {
		expect(t, s.do("POST", s.prefix+"/namespaces/n/tables/a", commit("", fmt.Sprintf(`{"action":"set-properties","updates":{"i":"%d"}}`, i))), 200)
	}
	before := bystanders.ReplaceAllString(s.state(t), "")
	a := `{"identifier":{"namespace":["n"],"name":"a"},"updates":[{"action":"set-properties","updates":{"lost":"1"}}]}`
	set := `"updates":[{"action":"set-properties","updates":{"lost":"1"}}]`
	for other, want := range map[string]string{
		`{"identifier":{"namespace":["n"],"name":"b"},"requirements":[{"type":"assert-table-uuid","uuid":"0190a000-0000-7000-8000-000000000001"}],` + set + `}`: "409 CommitFailedException",
		`{"identifier":{"namespace":["n"],"name":"b"},"requirements":[{"type":"assert-create"}],` + set + `}`:                                                   "409 CommitFailedException",
		`{"identifier":{"namespace":["n"],"name":"none"},` + set + `}`:                                                                                          "404 NoSuchTableException",
		`{"identifier":{"namespace":["none"],"name":"b"},` + set + `}`:                                                                                          "404 NoSuchTableException",
		`{"identifier":{"namespace":["n"],"name":"v"},` + set + `}`:                                                                                             "404 NoSuchTableException",
		`{"identifier":{"namespace":["n"],"name":"B"},"updates":[{"action":"set-location","location":"file:///etc"}]}`:                                          "400 BadRequestException",
		`{"identifier":{"namespace":["n"],"name":"b"},"updates":[{"action":"set-current-schema","schema-id":9}]}`:                                               "400",
		`{"identifier":{"namespace":["n"],"name":"b"},"updates":[{"action":"unheard-of"}]}`:                                                                     "400 BadRequestException",
		`{"identifier":{"namespace":["n"],"name":"A"},` + set + `}`:                                                                                             "400", // the same table twice
		`{"identifier":{"namespace":["n"],"name":""},` + set + `}`:                                                                                              "4",
		`{"identifier":{"namespace":[],"name":"b"},` + set + `}`:                                                                                                "4",
	} {
		for _, changes := range []string{a + "," + other, other + "," + a} {
			got := s.do("POST", s.prefix+"/transactions/commit", `{"table-changes":[`+changes+`]}`)
			if kind, _ := errorOf(t, got); !strings.HasPrefix(fmt.Sprint(got.status, " ", kind), want) {
				t.Errorf("%s: %d %s, want %s", other, got.status, got.body, want)
			}
			if after := bystanders.ReplaceAllString(s.state(t), ""); after != before {
				t.Fatalf("%s changed\n%s\nwas\n%s", other, after, before)
			}
		}
	}
	for _, entry := range strings.Split(look(s.do("GET", s.prefix+"/namespaces/n/tables/a", ""), "metadata/metadata-log"), `"metadata-file":"file://`)[1:] {
		if _, err := os.Stat(entry[:strings.IndexByte(entry, '"')]); err != nil {
			t.Error(err)
		}
	}
}
