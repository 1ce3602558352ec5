package httpapi_test

import (
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
