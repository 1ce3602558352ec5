package httpapi_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/authz/allowall"
	"github.com/icecore-catalog/icecore/httpapi"
	"github.com/icecore-catalog/icecore/httpapi/middleware"
)

// A page of an allowed origin can read each answer, whoever made it: handler,
// router, limits or recovery; and no other page can.
func TestBrowsersOfAllowedOriginsReadErrorsToo(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	origins, err := middleware.ParseOrigins([]string{"https://console.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	h := s.with(t, allowall.Authorizer{}, func(d *httpapi.Deps) { d.Origins, d.MaxBody = origins, 1024 })
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/catalog/v1/config?warehouse=demo", "", 200},
		{"GET", s.prefix + "/namespaces/none", "", 404},
		{"GET", "/nowhere", "", 404},
		{"PATCH", s.prefix + "/namespaces", "", 405},
		{"POST", s.prefix + "/namespaces", "{", 400},
		{"POST", s.prefix + "/namespaces", strings.Repeat(" ", 1025), 413},
	} {
		for origin, want := range map[string]string{"https://console.example.com": "https://console.example.com", "https://evil.example": "", "": ""} {
			got := do(h, c.method, c.path, c.body, "Origin", origin)
			if got.status != c.status || got.header.Get("Access-Control-Allow-Origin") != want || !strings.Contains(strings.Join(got.header["Vary"], ","), "Origin") {
				t.Errorf("%s %s from %q: %d %v", c.method, c.path, origin, got.status, got.header)
			}
		}
		if got := do(h, "OPTIONS", c.path, "", "Origin", "https://console.example.com", "Access-Control-Request-Method", c.method); got.status != 204 || got.body != "" {
			t.Errorf("preflight of %s %s: %d %s", c.method, c.path, got.status, got.body)
		}
		if got := s.do(c.method, c.path, "", "Origin", "https://console.example.com"); got.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s %s: allowed although nothing is configured", c.method, c.path)
		}
	}
}

// The same holds for what each route answers: none forgets, in a success or a
// refusal, that the answer to another origin differs.
func TestEveryRouteVariesByOrigin(t *testing.T) {
	t.Parallel()
	const origin = "https://console.example.com"
	s := newStack(t)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["empty"]}`), 200)
	s.table = tableUUID(t, expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", create("t")), 200))
	expect(t, s.do("POST", s.prefix+"/namespaces/n/views", createView("v")), 200)
	s.dropTable(t, "gone")
	origins, err := middleware.ParseOrigins([]string{origin})
	if err != nil {
		t.Fatal(err)
	}
	h := s.with(t, allowall.Authorizer{}, func(d *httpapi.Deps) { d.Origins = origins })
	asked := withOwn(s, requests(s))
	maps.Copy(asked, managementRequests(s))
	routes := httpapi.Routes(httpapi.Deps{})
	reads := 0
	for _, reading := range []bool{true, false} { // before anything is dropped
		for _, route := range routes {
			if safe := route.Method == http.MethodGet || route.Method == http.MethodHead; safe != reading {
				continue
			}
			key := route.Method + " " + route.Template
			request, ok := asked[key]
			if !ok {
				request[0] = strings.ReplaceAll(route.Template, "{", "")
			}
			got := do(h, route.Method, request[0], request[1], "Origin", origin, "Accept-Encoding", "gzip")
			if got.header.Get("Access-Control-Allow-Origin") != origin || !strings.Contains(strings.Join(got.header["Vary"], ","), "Origin") {
				t.Errorf("%s: %d %v", key, got.status, got.header)
			}
			if reading && got.status < 300 {
				reads++
			}
		}
	}
	if reads < 25 {
		t.Errorf("only %d reads were answered", reads)
	}
}
