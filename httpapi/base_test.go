package httpapi_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// A client that knows a warehouse by its URI alone gets the whole catalog there
// without a prefix, under each spelling of the warehouse.
func TestWarehousesHaveACatalogOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	id := strings.TrimPrefix(s.prefix, "/catalog/v1/")
	for i, base := range []string{"/catalog/w/demo", "/catalog/w/DEMO", "/catalog/w/" + id, "/catalog/w/de%6Do", "/catalog/w/00000000-0000-0000-0000-000000000000%2Fdemo"} {
		var config struct {
			Overrides map[string]string
			Endpoints []string
		}
		got := expect(t, s.do("GET", base+"/v1/config", ""), 200)
		if err := json.Unmarshal([]byte(got.body), &config); err != nil {
			t.Fatal(err)
		}
		if _, prefix := config.Overrides["prefix"]; prefix || config.Overrides["namespace-separator"] != "%1F" || len(config.Endpoints) == 0 ||
			!strings.HasPrefix(config.Endpoints[0], "GET /v1/{prefix}/") {
			t.Errorf("%s: %s", base, got.body)
		}
		p := base + "/v1"
		name := string(rune('a' + i))
		expect(t, s.do("POST", p+"/namespaces", `{"namespace":["`+name+`"]}`), 200)
		expect(t, s.do("POST", p+"/namespaces/"+name+"/tables", create("t")), 200)
		loadedThere := expect(t, s.do("GET", p+"/namespaces/"+name+"/tables/t", ""), 200)
		loadedHere := expect(t, s.do("GET", s.prefix+"/namespaces/"+name+"/tables/t", ""), 200)
		if loadedThere.body != loadedHere.body || loadedThere.header[etagName][0] != loadedHere.header[etagName][0] {
			t.Errorf("%s: %s, by prefix %s", base, loadedThere.body, loadedHere.body)
		}
		expect(t, s.do("POST", p+"/namespaces/"+name+"/tables/t", `{"updates":[{"action":"set-properties","updates":{"a":"1"}}]}`), 200)
		// ClickHouse, to the letter.
		expect(t, s.do("DELETE", p+"/namespaces/"+name+"/tables/t?purgeRequested=False", ""), 204)
		expect(t, s.do("HEAD", p+"/namespaces/"+name, ""), 204)
		if got := s.do("POST", base+"/v1/oauth/tokens", ""); got.status != 400 || !strings.Contains(got.body, "unsupported_grant_type") {
			t.Errorf("token endpoint: %d %s", got.status, got.body)
		}
	}
	// The parameter may repeat the warehouse, not name another.
	for query, status := range map[string]int{"?warehouse=": 200, "?warehouse=demo": 200, "?warehouse=Demo": 200, "?WAREHOUSE=" + id: 200, "?warehouse=none": 404} {
		if got := s.do("GET", "/catalog/w/demo/v1/config"+query, ""); got.status != status {
			t.Errorf("%s: %d %s", query, got.status, got.body)
		}
	}
	expect(t, s.do("POST", "/management/v1/warehouse", `{"warehouse-name":"two","storage-profile":{"type":"file","root":"file://`+s.root+`/two"}}`), 201)
	refused(t, s.do("GET", "/catalog/w/demo/v1/config?warehouse=two", ""), 400, "BadRequestException")
	for _, base := range []string{"/catalog/w/none", "/catalog/w/0190a000-0000-7000-8000-0000000000ff", "/catalog/w/00000000-0000-0000-0000-000000000000", "/catalog/w/a%2Fb"} {
		for _, path := range []string{"/v1/config", "/v1/namespaces", "/v1/namespaces/a/tables/t"} {
			refused(t, s.do("GET", base+path, ""), 404, "NoSuchWarehouseException")
		}
	}
	refused(t, s.do("GET", "/catalog/w/demo/v1/nothing", ""), 404, "BadRequestException")
	refused(t, s.do("GET", "/catalog/w//v1/namespaces", ""), 404, "BadRequestException")
	refused(t, s.do("GET", "/catalog/w/%ff/v1/namespaces", ""), 400, "BadRequestException")
}
