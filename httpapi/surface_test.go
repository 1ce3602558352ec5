package httpapi_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/authz/authztest"
	"github.com/icecore-catalog/icecore/httpapi"
)

// What config advertises is what the router serves of a warehouse, both ways:
// a client takes for absent what is not named, and calls what is.
func TestConfigAdvertisesExactlyWhatIsServed(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	var config struct{ Endpoints []string }
	got := expect(t, s.do("GET", "/catalog/v1/config?warehouse=demo", ""), 200)
	if err := json.Unmarshal([]byte(got.body), &config); err != nil {
		t.Fatal(err)
	}
	var served []string
	for _, route := range httpapi.Routes(httpapi.Deps{}) {
		if path, ok := strings.CutPrefix(route.Template, "/catalog/v1/{prefix}/"); ok {
			served = append(served, route.Method+" /v1/{prefix}/"+path)
		}
	}
	slices.Sort(served)
	slices.Sort(config.Endpoints)
	if !slices.Equal(served, config.Endpoints) {
		t.Errorf("served %q, advertised %q", served, config.Endpoints)
	}
	// And each of them leads to a handler: never to the router's 404 or 405.
	for _, endpoint := range config.Endpoints {
		method, path, _ := strings.Cut(endpoint, " /v1/{prefix}")
		path = strings.NewReplacer("{namespace}", "n", "{table}", "t", "{view}", "v", "{function}", "f").Replace(path)
		got := s.do(method, s.prefix+path, "{}")
		if got.status == 405 || strings.Contains(got.body, "Nothing is served") {
			t.Errorf("%s: %d %s", endpoint, got.status, got.body)
		}
	}
}

// No function exists, and none can be made: lists are empty, loads are a 404
// of their own type, and both know whether the namespace is there.
func TestFunctionsAreListedEmptyAndNeverFound(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n","a b"]}`), 200)
	for _, path := range []string{"/namespaces/n/functions", "/namespaces/n%1Fa+b/functions", "/namespaces/n/functions?pageToken=&pageSize=1", "/namespaces/n/functions?pageSize=5"} {
		if got := expect(t, s.do("GET", s.prefix+path, ""), 200); got.body != `{"identifiers":[]}` {
			t.Errorf("%s: %s", path, got.body)
		}
	}
	refused(t, s.do("GET", s.prefix+"/namespaces/none/functions", ""), 404, "NoSuchNamespaceException")
	refused(t, s.do("GET", s.prefix+"/namespaces/none/functions/f", ""), 404, "NoSuchNamespaceException")
	refused(t, s.do("GET", s.prefix+"/namespaces/n/functions?pageToken=foreign", ""), 400, "BadRequestException")
	refused(t, s.do("GET", s.prefix+"/namespaces/n/functions?pageToken=&pageSize=0", ""), 400, "BadRequestException")
	for path, want := range map[string]string{
		"/namespaces/n/functions/f": "Function does not exist: n.f", "/namespaces/n%1Fa+b/functions/x%2Fy": "Function does not exist: n.a b.x/y",
		"/namespaces/n/functions/": "Function does not exist: n.",
	} {
		kind, message := errorOf(t, expect(t, s.do("GET", s.prefix+path, ""), 404))
		if kind != "NoSuchFunctionException" || message != want {
			t.Errorf("%s: %s %q", path, kind, message)
		}
	}
}

// Files on a local or mounted file system need no credentials: the list is
// there, and empty. Whoever may not read the data is not told that.
func TestCredentialsOfFilesAreAnEmptyList(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", create("t")), 200)
	path := s.prefix + "/namespaces/n/tables/t/credentials"
	for _, query := range []string{"", "?planId=x", "?PLANID=x&referenced-by=n%251Fv", "?Referenced-By=a%1Fv,b%1Fw"} {
		got := expect(t, s.do("GET", path+query, "", "X-Iceberg-Access-Delegation", "vended-credentials"), 200)
		if got.body != `{"storage-credentials":[]}` || got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v %s", query, got.header, got.body)
		}
	}
	refused(t, s.do("GET", s.prefix+"/namespaces/n/tables/none/credentials", ""), 404, "NoSuchTableException")
	refused(t, s.do("GET", s.prefix+"/namespaces/none/tables/t/credentials", ""), 404, "NoSuchTableException")
	refused(t, do(s.with(t, authztest.DenyAll{}), "GET", path, ""), 404, "NoSuchTableException")
	refused(t, do(s.with(t, authztest.DenyAll{Visible: true}), "GET", path, ""), 403, "ForbiddenException")
	expect(t, s.do("DELETE", s.prefix+"/namespaces/n/tables/t", ""), 204)
	refused(t, s.do("GET", path, ""), 404, "NoSuchTableException")
}

// The chain of views through which a table is read changes nothing.
func TestReferencedByIsAccepted(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", create("t")), 200)
	path := s.prefix + "/namespaces/n/tables/t"
	want := expect(t, s.do("GET", path, ""), 200)
	for _, query := range []string{"?referenced-by=n%1Fv", "?referenced-by=prod%1Fanalytics%1Fq,prod%1Fm", "?referenced-by=", "?REFERENCED-BY=n%1Fv&snapshots=all"} {
		got := expect(t, s.do("GET", path+query, ""), 200)
		if got.body != want.body || got.header[etagName][0] != want.header[etagName][0] {
			t.Errorf("%s: %s", query, got.body)
		}
	}
}

// Clients read the error form of OAuth at the token endpoint, whatever they
// send: a form, a query without a body (ClickHouse), or nonsense.
func TestTokenEndpointSaysThatThereAreNoTokens(t *testing.T) {
	t.Parallel()
	s := newBareStack(t)
	const secret = "hunter2"
	for _, c := range [][2]string{
		{"", "grant_type=client_credentials&client_id=x&client_secret=" + secret},
		{"?grant_type=client_credentials&client_id=x&client_secret=" + secret, ""},
		{"", "grant_type=urn:ietf:params:oauth:grant-type:token-exchange&subject_token=" + secret},
		{"", "{}"}, {"?%zz", ""},
	} {
		got := s.do("POST", "/catalog/v1/oauth/tokens"+c[0], c[1], "Content-Type", "application/x-www-form-urlencoded", "Authorization", "Basic "+secret)
		var doc map[string]string
		if err := json.Unmarshal([]byte(got.body), &doc); err != nil || got.status != 400 || got.header.Get("Content-Type") != "application/json" ||
			doc["error"] != "unsupported_grant_type" || !strings.Contains(doc["error_description"], "authentication is turned off") ||
			got.header.Get("Cache-Control") != "no-store" || strings.Contains(got.body, secret) {
			t.Errorf("%v: %d %v %s", c, got.status, got.header, got.body)
		}
	}
	refused(t, s.do("GET", "/catalog/v1/oauth/tokens", ""), 405, "BadRequestException")
}
