package httpapi_test

import (
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/authztest"
	"github.com/icecore-catalog/icecore/httpapi"
)

// open are the routes that ask nobody: they tell nothing about the catalog.
var open = []string{"GET /", "HEAD /", "GET /health", "HEAD /health", "GET /ready", "HEAD /ready", "POST /catalog/v1/oauth/tokens", "POST /catalog/w/{warehouse}/v1/oauth/tokens"}

// others are served besides what config advertises.
var others = []string{
	"GET /catalog/v1/config", "GET /catalog/w/{warehouse}/v1/config",
	"GET /management/v1/warehouse/{warehouse_id}/table/{table_id}/metrics-reports",
	"GET /metrics",
}

// consoleRoutes are those of the console of jobs, by the path of one request.
func consoleRoutes() map[string]string {
	routes := map[string]string{}
	template, path := "/ui/jobs", "/ui/jobs"
	for depth := range 6 {
		if depth > 0 {
			template, path = fmt.Sprintf("%s/{console%d}", template, depth), path+"/a"
		}
		for _, method := range []string{"GET", "POST", "PUT", "PATCH"} {
			routes[method+" "+template] = path
		}
	}
	return routes
}

// requests has one request for each route: path below the prefix of the
// warehouse ("%s" in others), and a body that would succeed if it were allowed.
func requests(s *stack) map[string][2]string {
	change := `"updates":[{"action":"set-properties","updates":{"a":"2"}}]`
	return map[string][2]string{
		"GET /catalog/v1/config":                                            {"/catalog/v1/config?warehouse=demo", ""},
		"GET /catalog/v1/{prefix}/namespaces":                               {s.prefix + "/namespaces", ""},
		"POST /catalog/v1/{prefix}/namespaces":                              {s.prefix + "/namespaces", `{"namespace":["new"]}`},
		"GET /catalog/v1/{prefix}/namespaces/{namespace}":                   {s.prefix + "/namespaces/n", ""},
		"HEAD /catalog/v1/{prefix}/namespaces/{namespace}":                  {s.prefix + "/namespaces/n", ""},
		"DELETE /catalog/v1/{prefix}/namespaces/{namespace}":                {s.prefix + "/namespaces/empty", ""},
		"POST /catalog/v1/{prefix}/namespaces/{namespace}/properties":       {s.prefix + "/namespaces/n/properties", `{"updates":{"a":"1"}}`},
		"GET /catalog/v1/{prefix}/namespaces/{namespace}/tables":            {s.prefix + "/namespaces/n/tables", ""},
		"POST /catalog/v1/{prefix}/namespaces/{namespace}/tables":           {s.prefix + "/namespaces/n/tables", create("new")},
		"GET /catalog/v1/{prefix}/namespaces/{namespace}/tables/{table}":    {s.prefix + "/namespaces/n/tables/t", ""},
		"HEAD /catalog/v1/{prefix}/namespaces/{namespace}/tables/{table}":   {s.prefix + "/namespaces/n/tables/t", ""},
		"POST /catalog/v1/{prefix}/namespaces/{namespace}/tables/{table}":   {s.prefix + "/namespaces/n/tables/t", "{" + change + "}"},
		"DELETE /catalog/v1/{prefix}/namespaces/{namespace}/tables/{table}": {s.prefix + "/namespaces/n/tables/t?purgeRequested=true", ""},
		"POST /catalog/v1/{prefix}/namespaces/{namespace}/register":         {s.prefix + "/namespaces/n/register", fmt.Sprintf(`{"name":"back","metadata-location":%q}`, s.dropped)},
		"POST /catalog/v1/{prefix}/tables/rename":                           {s.prefix + "/tables/rename", `{"source":{"namespace":["n"],"name":"t"},"destination":{"namespace":["n"],"name":"u"}}`},
		"POST /catalog/v1/{prefix}/transactions/commit":                     {s.prefix + "/transactions/commit", `{"table-changes":[{"identifier":{"namespace":["n"],"name":"t"},` + change + `}]}`},
		"GET /metrics": {"/metrics", ""},

		"POST /catalog/v1/{prefix}/namespaces/{namespace}/tables/{table}/metrics": {s.prefix + "/namespaces/n/tables/t/metrics", scanReport},
		"GET /management/v1/warehouse/{warehouse_id}/table/{table_id}/metrics-reports": {
			"/management/v1/warehouse/" + strings.TrimPrefix(s.prefix, "/catalog/v1/") + "/table/" + s.table + "/metrics-reports", ""},
		"GET /catalog/v1/{prefix}/namespaces/{namespace}/views":           {s.prefix + "/namespaces/n/views", ""},
		"POST /catalog/v1/{prefix}/namespaces/{namespace}/views":          {s.prefix + "/namespaces/n/views", createView("new")},
		"GET /catalog/v1/{prefix}/namespaces/{namespace}/views/{view}":    {s.prefix + "/namespaces/n/views/v", ""},
		"HEAD /catalog/v1/{prefix}/namespaces/{namespace}/views/{view}":   {s.prefix + "/namespaces/n/views/v", ""},
		"POST /catalog/v1/{prefix}/namespaces/{namespace}/views/{view}":   {s.prefix + "/namespaces/n/views/v", "{" + change + "}"},
		"DELETE /catalog/v1/{prefix}/namespaces/{namespace}/views/{view}": {s.prefix + "/namespaces/n/views/v?force=true", ""},
		"POST /catalog/v1/{prefix}/namespaces/{namespace}/register-view":  {s.prefix + "/namespaces/n/register-view", fmt.Sprintf(`{"name":"back","metadata-location":%q}`, s.dropped)},
		"POST /catalog/v1/{prefix}/views/rename":                          {s.prefix + "/views/rename", `{"source":{"namespace":["n"],"name":"v"},"destination":{"namespace":["n"],"name":"w"}}`},

		"GET /catalog/v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials": {s.prefix + "/namespaces/n/tables/t/credentials", ""},
		"POST /catalog/v1/{prefix}/namespaces/{namespace}/tables/{table}/unregister": {s.prefix + "/namespaces/n/tables/t/unregister", ""},
		"GET /catalog/v1/{prefix}/namespaces/{namespace}/functions":                  {s.prefix + "/namespaces/n/functions", ""},
		"GET /catalog/v1/{prefix}/namespaces/{namespace}/functions/{function}":       {s.prefix + "/namespaces/n/functions/f", ""},
	}
}

// own is the second form of a template: below the warehouse's own base.
func own(template string) string {
	return strings.Replace(template, "/catalog/v1/{prefix}/", "/catalog/w/{warehouse}/v1/", 1)
}

// withOwn adds the second form of each request, by the warehouse's name.
func withOwn(s *stack, asked map[string][2]string) map[string][2]string {
	for key, request := range maps.Clone(asked) {
		if second := own(key); second != key {
			asked[second] = [2]string{strings.Replace(request[0], s.prefix+"/", "/catalog/w/demo/v1/", 1), request[1]}
		}
	}
	asked["GET /catalog/w/{warehouse}/v1/config"] = [2]string{"/catalog/w/demo/v1/config", ""}
	return asked
}

func TestRoutesAreWhatIsAdvertisedAndTheKnownOthers(t *testing.T) {
	t.Parallel()
	var served, want []string
	for _, route := range httpapi.Routes(httpapi.Deps{}) {
		served = append(served, route.Method+" "+route.Template)
		if strings.HasPrefix(route.Template, "/catalog/v1/{prefix}/") {
			want = append(want, route.Method+" "+route.Template, route.Method+" "+own(route.Template))
		}
	}
	want = slices.Concat(want, others, open, managementRoutes(), slices.Collect(maps.Keys(consoleRoutes())))
	slices.Sort(served)
	slices.Sort(want)
	if !slices.Equal(served, want) {
		t.Errorf("served %q, want %q", served, want)
	}
}

// Every route asks for its right before it does anything: with an authorizer
// that refuses, nothing is told and nothing is touched.
func TestEveryRouteRefusesAndNothingIsTouched(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["empty"]}`), 200)
	s.table = tableUUID(t, expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", create("t")), 200))
	expect(t, s.do("POST", s.prefix+"/namespaces/n/views", createView("v")), 200)
	s.dropTable(t, "gone")
	s.softDropped(t, "n", "hidden")
	expect(t, s.do("POST", "/management/v1/destinations", `{"name":"d","kind":"log"}`), 201)
	s.jobs(t)

	for name, c := range map[string]struct {
		authorizer authz.Authorizer
		statuses   []int
	}{
		"hidden":  {authztest.DenyAll{}, []int{403, 404}},
		"visible": {authztest.DenyAll{Visible: true}, []int{403}},
		"away":    {authztest.Failing{}, []int{503}},
	} {
		t.Run(name, func(t *testing.T) {
			h := s.with(t, c.authorizer)
			before := s.state(t)
			asked := withOwn(s, requests(s))
			maps.Copy(asked, managementRequests(s))
			for key, path := range consoleRoutes() {
				asked[key] = [2]string{path, ""}
			}
			for _, route := range httpapi.Routes(httpapi.Deps{}) {
				key := route.Method + " " + route.Template
				if slices.Contains(open, key) {
					continue
				}
				request, ok := asked[key]
				if !ok {
					t.Errorf("no request for %s", key)
					continue
				}
				for _, header := range [][]string{nil, {"Idempotency-Key", "0190a000-0000-7000-8000-0000000000ff"}} {
					got := do(h, route.Method, request[0], request[1], header...)
					if !slices.Contains(c.statuses, got.status) {
						t.Errorf("%s: %d %s", key, got.status, got.body)
					} else if route.Method != http.MethodHead {
						errorOf(t, got)
					}
				}
			}
			if after := s.state(t); after != before {
				t.Errorf("something was touched:\n%s\nthen\n%s", before, after)
			}
		})
	}
}

// Something that is hidden answers as something that is missing, to the letter.
func TestHiddenAndMissingLookTheSame(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", create("t")), 200)
	expect(t, s.do("POST", s.prefix+"/namespaces/n/views", createView("v")), 200)
	h := s.with(t, authztest.DenyAll{})
	for _, c := range []struct{ method, there, missing, body string }{
		{"GET", "/namespaces/n", "/namespaces/m", ""},
		{"DELETE", "/namespaces/n", "/namespaces/m", ""},
		{"GET", "/namespaces/n/tables", "/namespaces/m/tables", ""},
		{"GET", "/namespaces/n/tables/t", "/namespaces/n/tables/m", ""},
		{"POST", "/namespaces/n/tables/t", "/namespaces/n/tables/m", `{"updates":[]}`},
		{"DELETE", "/namespaces/n/tables/t", "/namespaces/n/tables/m", ""},
		{"POST", "/namespaces/n/tables", "/namespaces/m/tables", create("x")},
		{"GET", "/namespaces/n/views", "/namespaces/m/views", ""},
		{"GET", "/namespaces/n/views/v", "/namespaces/n/views/m", ""},
		{"POST", "/namespaces/n/views/v", "/namespaces/n/views/m", `{"updates":[]}`},
		{"DELETE", "/namespaces/n/views/v", "/namespaces/n/views/m", ""},
		{"POST", "/namespaces/n/views", "/namespaces/m/views", createView("x")},
		{"GET", "/namespaces/n/views/t", "/namespaces/n/views/m", ""},
		{"GET", "/namespaces/n/tables/v", "/namespaces/n/tables/m", ""},
	} {
		there, missing := do(h, c.method, s.prefix+c.there, c.body), do(h, c.method, s.prefix+c.missing, c.body)
		normal := func(a answer) string {
			return strings.NewReplacer("n.t", "n.m", "n.v", "n.m", ": n\"", ": m\"").Replace(a.body)
		}
		if there.status != missing.status || normal(there) != normal(missing) {
			t.Errorf("%s %s: %d %s; %s: %d %s", c.method, c.there, there.status, there.body, c.missing, missing.status, missing.body)
		}
	}
}

// files lists what lies below a folder.
func files(t testing.TB, root string) string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !d.IsDir() {
			path = fmt.Sprint(path, " ", info.Size(), " ", info.ModTime().UnixNano())
		}
		list = append(list, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(list, "\n")
}
