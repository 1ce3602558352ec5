package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
)

// Whatever selects a warehouse finds it or says that it is none: users write
// what other catalogs call so.
func TestWarehouseSelectors(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	id := strings.TrimPrefix(s.prefix, "/catalog/v1/")
	for selector, want := range map[string]string{
		"demo": "", "DEMO": "", id: "", strings.ToUpper(id): "", "demo&warehouse=demo": "", "demo&unknown=1": "", "%64emo": "",
		"00000000-0000-0000-0000-000000000000/demo": "",
		"s3://bucket/warehouse":                     "404 NoSuchWarehouseException", "file:///tmp/demo": "404 NoSuchWarehouseException", "nowhere": "404 NoSuchWarehouseException", "demo+": "404 NoSuchWarehouseException", "%20demo": "404 NoSuchWarehouseException",
		"0190a000-0000-7000-8000-0000000000ff": "404 NoSuchWarehouseException", "00000000-0000-0000-0000-000000000000": "404 NoSuchWarehouseException", "other/demo": "404 NoSuchWarehouseException", "a/b/c": "404 NoSuchWarehouseException", strings.Repeat("w", 5000): "404 NoSuchWarehouseException",
		"": "400 BadRequestException", "demo&warehouse=other": "400 BadRequestException", "%00": "400 BadRequestException", "%ff": "400 BadRequestException", "%zz": "400 BadRequestException",
	} {
		got := s.do("GET", "/catalog/v1/config?warehouse="+selector, "")
		if want == "" {
			if got.status != 200 || look(got, "overrides/prefix") != quoted(id) || look(got, "defaults") != "{}" || strings.Contains(got.body, `"token"`) || strings.Contains(got.body, "secret") {
				t.Errorf("%.100q: %d %s", selector, got.status, got.body)
			}
			continue
		}
		if kind, _ := errorOf(t, got); fmt.Sprint(got.status, " ", kind) != want {
			t.Errorf("%.100q: %d %s, want %s", selector, got.status, got.body, want)
		}
	}
}

// Two tables never share a place, however they came by their names, and one
// goes without the other.
func TestEveryTableHasAPlaceOfItsOwn(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(s.prefix)
	c.play(t, []step{
		{send: "POST /namespaces", body: `{"namespace":["n"]}`, want: 200},
		{send: "POST /namespaces/n/tables", body: create("test"), want: 200, keep: map[string]string{"first": "metadata/location"}},
		{why: "a longer name is no part of the shorter one's place", send: "POST /namespaces/n/tables", body: create("test2"), want: 200, keep: map[string]string{"longer": "metadata/location"}},
		{send: "POST /tables/rename", body: `{"source":{"namespace":["n"],"name":"test"},"destination":{"namespace":["n"],"name":"old"}}`, want: 204},
		{why: "a table under the old name", send: "POST /namespaces/n/tables", body: create("test"), want: 200, keep: map[string]string{"second": "metadata/location", "file": "metadata-location"}},
		{send: "DELETE /namespaces/n/tables/test?purgeRequested=true", want: 204},
		{send: "POST /namespaces/n/tables", body: create("test"), want: 200, keep: map[string]string{"third": "metadata/location"}},
		{send: "GET /namespaces/n/tables/old", want: 200, is: map[string]string{"metadata/location": `"@first@"`}},
		{send: "GET /namespaces/n/tables/test2", want: 200},
		{why: "nor does a place that a client chose overlap", send: "POST /namespaces/n/tables", body: strings.Replace(create("x"), "{", `{"location":"@first@/below",`, 1), want: 400, kind: "BadRequestException"},
		{send: "POST /namespaces/n/tables", body: strings.Replace(create("x"), "{", `{"location":"@root@/n",`, 1), want: 400, kind: "BadRequestException"},
		{send: "POST /namespaces/n/tables", body: strings.Replace(create("x"), "{", `{"location":"@first@2",`, 1), want: 200},
		{why: "trailing slashes are no other place", send: "POST /namespaces/n/tables", body: strings.Replace(create("y"), "{", `{"location":"@first@2///",`, 1), want: 400, kind: "BadRequestException"},
		{send: "POST /namespaces/n/tables", body: strings.Replace(create("y"), "{", `{"stage-create":true,"location":"@first@2/",`, 1), want: 400, kind: "BadRequestException"},
	})
	places := map[string]bool{}
	for _, name := range []string{"first", "longer", "second", "third"} {
		places[c.vars[name]] = true
	}
	if len(places) != 4 {
		t.Errorf("places %v", c.vars)
	}
}

// The format of a table is what was asked for, in each of the ways to ask.
func TestFormatVersionsAreWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(s.prefix)
	c.play(t, []step{{send: "POST /namespaces", body: `{"namespace":["n"]}`, want: 200}})
	rest := `{"action":"add-schema","schema":` + schema + `},{"action":"set-current-schema","schema-id":-1},{"action":"add-spec","spec":{"spec-id":0,"fields":[]}},{"action":"set-default-spec","spec-id":-1},{"action":"add-sort-order","sort-order":{"order-id":0,"fields":[]}},{"action":"set-default-sort-order","sort-order-id":-1}`
	for version := 1; version <= 3; version++ {
		upgrade := fmt.Sprintf(`{"action":"upgrade-format-version","format-version":%d}`, version)
		is := map[string]string{"metadata/format-version": fmt.Sprint(version), "metadata/properties/format-version": "", "metadata/next-row-id": "", "metadata/last-sequence-number": "0"}
		if version == 1 {
			is["metadata/last-sequence-number"] = ""
		}
		if version == 3 {
			is["metadata/next-row-id"] = "0" // Java reads no document of this format without it
		}
		c.play(t, []step{
			{send: "POST /namespaces/n/tables", body: strings.Replace(create(fmt.Sprint("p", version)), "{", fmt.Sprintf(`{"properties":{"format-version":"%d"},`, version), 1), want: 200, is: is},
			{send: "GET /namespaces/n/tables/" + fmt.Sprint("p", version), want: 200, is: is},
			{send: "POST /namespaces/n/tables", body: strings.Replace(create(fmt.Sprint("s", version)), "{", fmt.Sprintf(`{"stage-create":true,"properties":{"format-version":"%d"},`, version), 1), want: 200, is: is},
			{send: "POST /namespaces/n/tables/" + fmt.Sprint("c", version), body: commit(`{"type":"assert-create"}`, upgrade+","+rest+fmt.Sprintf(`,{"action":"set-location","location":"@root@/c%d"}`, version)), want: 200, is: is},
			{why: "the first upgrade says where to begin", send: "POST /namespaces/n/tables/" + fmt.Sprint("u", version), body: commit(`{"type":"assert-create"}`, upgrade+","+rest+`,{"action":"upgrade-format-version","format-version":3}`+fmt.Sprintf(`,{"action":"set-location","location":"@root@/u%d"}`, version)), want: 200, is: map[string]string{"metadata/format-version": "3"}},
			{send: "POST /namespaces/n/tables/" + fmt.Sprint("p", version), body: commit("", upgrade), want: 200, is: is},
			{why: "there is no way back", send: "POST /namespaces/n/tables/" + fmt.Sprint("p", version), body: commit("", fmt.Sprintf(`{"action":"upgrade-format-version","format-version":%d}`, version-1)), want: 400, kind: "IllegalArgumentException"},
			{send: "POST /namespaces/n/tables/" + fmt.Sprint("p", version), body: commit("", `{"action":"upgrade-format-version","format-version":4}`), want: 400, kind: "IllegalArgumentException"},
		})
	}
	for _, version := range []string{"0", "4", "-1", "x", "", "2.0"} {
		if got := s.do("POST", s.prefix+"/namespaces/n/tables", strings.Replace(create("bad"), "{", fmt.Sprintf(`{"properties":{"format-version":%q},`, version), 1)); got.status != 400 {
			t.Errorf("%q: %d %s", version, got.status, got.body)
		}
	}
}
