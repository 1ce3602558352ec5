package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/httpapi"
)

// unkeyed are the routes whose method could change something and that append
// nothing, so that a key has nothing to be bound to.
var unkeyed = map[string]string{
	"POST /catalog/v1/oauth/tokens":                                                "refuses always",
	"POST /catalog/w/{warehouse}/v1/oauth/tokens":                                  "refuses always",
	"POST /catalog/v1/{prefix}/namespaces/{namespace}/tables/{table}/metrics":      "keeps a report beside the log",
	"POST /catalog/w/{warehouse}/v1/namespaces/{namespace}/tables/{table}/metrics": "keeps a report beside the log",
	"POST /management/v1/endpoint-statistics":                                      "reads",
	"POST /management/v1/warehouse-creation-validation":                            "tries out",
	"POST /management/v1/warehouse/{warehouse_id}/storage/validate-access":         "tries out",
	"POST /management/v1/warehouse/{warehouse_id}/storage/validate-profile":        "tries out",
	"POST /management/v1/warehouse/{warehouse_id}/storage/validate-credential":     "tries out",
	"POST /management/v1/warehouse/{warehouse_id}/search-tabular":                  "reads",
	"POST /management/v1/warehouse/{warehouse_id}/task/list":                       "reads",
	"POST /management/v1/project/task/list":                                        "reads",
	"POST /management/v1/warehouse/{warehouse_id}/task/control":                    "moves jobs, and the same again moves none",
	"POST /management/v1/project/task/control":                                     "moves jobs, and the same again moves none",
	"POST /management/v1/warehouse/{warehouse_id}/storage":                         "of a file profile nothing may change",
	"POST /management/v1/warehouse/{warehouse_id}/storage-credential":              "files need none",
}

// keyed is one mutation that would succeed, in surroundings of its own.
type keyed struct {
	path, body string
	header     []string
	events     int // 0 means 1
}

// keyedRequest prepares the n-th warehouse and project for one route and
// returns its request.
func (s *stack) keyedRequest(t *testing.T, n int, key string) keyed {
	t.Helper()
	name := fmt.Sprintf("k%d", n)
	made := expect(t, s.do("POST", "/management/v1/warehouse", fmt.Sprintf(`{"warehouse-name":%q,"storage-profile":{"type":"file","root":%q}}`, name, "file://"+s.root+"/"+name)), 201)
	id := member(t, made, "warehouse-id")
	warehouse := "/management/v1/warehouse/" + id
	own := *s // the same server, seen from the new warehouse
	own.prefix = "/catalog/v1/" + id
	project := fmt.Sprintf("p%d", n)
	expect(t, own.do("POST", "/management/v1/project", fmt.Sprintf(`{"project-name":"was","project-id":%q}`, project)), 201)

	switch key {
	case "POST /management/v1/bootstrap":
		bare := newBareStack(t)
		*s = *bare // nothing else is asked of the old one
		return keyed{path: "/management/v1/bootstrap", body: `{"accept-terms-of-use":true}`, events: 2}
	case "DELETE /management/v1/warehouse/{warehouse_id}": // empty
		return keyed{path: warehouse}
	case "POST /management/v1/warehouse/{warehouse_id}/activate":
		expect(t, own.do("POST", warehouse+"/deactivate", ""), 200)
	case "DELETE /management/v1/project":
		return keyed{path: "/management/v1/project", header: []string{"X-Project-Id", project}}
	case "DELETE /management/v1/project/{project_id}":
		return keyed{path: "/management/v1/project/" + project}
	case "POST /management/v1/project/rename":
		return keyed{path: "/management/v1/project/rename", body: `{"new-name":"is"}`, header: []string{"X-Project-Id", project}}
	case "POST /management/v1/project/{project_id}/rename":
		return keyed{path: "/management/v1/project/" + project + "/rename", body: `{"new-name":"is"}`}
	}
	if method, verb, ok := strings.Cut(key, " /management/v1/destinations/{destination}"); ok {
		return s.keyedDestination(t, name, method, verb)
	}
	if !strings.HasSuffix(key, "/activate") {
		expect(t, own.do("POST", own.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
		expect(t, own.do("POST", own.prefix+"/namespaces", `{"namespace":["empty"]}`), 200)
		own.table = tableUUID(t, expect(t, own.do("POST", own.prefix+"/namespaces/n/tables", create("t")), 200))
		view := expect(t, own.do("POST", own.prefix+"/namespaces/n/views", createView("v")), 200)
		own.dropTable(t, "gone")
		if strings.HasSuffix(key, "/undrop") {
			own.softDropped(t, "n", "hidden")
		}
		if strings.HasSuffix(key, "/register-view") {
			own.dropped = member(t, view, "metadata-location")
			expect(t, own.do("DELETE", own.prefix+"/namespaces/n/views/v", ""), 204)
		}
	}
	asked := withOwn(&own, requests(&own))
	maps.Copy(asked, managementRequests(&own))
	request, ok := asked[key]
	if !ok {
		t.Fatalf("no request for %s", key)
	}
	return keyed{path: strings.Replace(request[0], "/catalog/w/demo/", "/catalog/w/"+name+"/", 1), body: request[1]}
}

// Every route that changes something does so once under one key, says the same
// again when it is asked again, and lets no other request have the key.
func TestEveryMutationObeysItsKey(t *testing.T) {
	t.Parallel()
	shared := newStack(t)
	for n, route := range httpapi.Routes(httpapi.Deps{}) {
		key := route.Method + " " + route.Template
		if route.Method == http.MethodGet || route.Method == http.MethodHead || unkeyed[key] != "" ||
			strings.HasPrefix(route.Template, httpapi.JobsRoot) { // the console of jobs moves those alone
			continue
		}
		t.Run(key, func(t *testing.T) {
			s := *shared
			request := s.keyedRequest(t, n, key)
			events := func() (n int) {
				if err := s.db.App.QueryRow(t.Context(), "SELECT count(*) FROM es.event").Scan(&n); err != nil {
					t.Fatal(err)
				}
				return n
			}
			ask := func(path, body, id string) answer {
				return s.do(route.Method, path, body, append(request.header, "Idempotency-Key", id)...)
			}
			before := events()
			errorOf(t, expect(t, ask(request.path, request.body, "nonsense"), 400))
			if n := events(); n != before {
				t.Fatalf("%d events under a key that is none", n-before)
			}

			id := fmt.Sprintf("0190a000-0000-7000-8000-%012x", n+1)
			first := ask(request.path, request.body, id)
			if first.status >= 300 {
				t.Fatalf("%d %s", first.status, first.body)
			}
			if n := events() - before; n != max(request.events, 1) {
				t.Errorf("%d events", n)
			}
			state := s.state(t)
			for range 2 {
				again := ask(request.path, request.body, id)
				if again.status != first.status || again.body != first.body || again.header.Get(etagName) != first.header.Get(etagName) {
					t.Errorf("again %d %s\nfirst %d %s", again.status, again.body, first.status, first.body)
				}
			}
			path, body := request.path, request.body
			if body != "" {
				body += " " // the key is bound to bytes
			} else if strings.Contains(path, "?") {
				path += "&other=1"
			} else {
				path += "?other=1"
			}
			errorOf(t, expect(t, ask(path, body, id), 422))
			if after := s.state(t); after != state {
				t.Errorf("something was touched by a replay:\n%s\nthen\n%s", state, after)
			}
		})
	}
	for key := range unkeyed {
		method, template, _ := strings.Cut(key, " ")
		if !served(method, template) {
			t.Errorf("%s is not served", key)
		}
	}
}

func served(method, template string) bool {
	for _, route := range httpapi.Routes(httpapi.Deps{}) {
		if route.Method == method && route.Template == template {
			return true
		}
	}
	return false
}

// member is a text of an answer.
func member(t *testing.T, a answer, name string) string {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal([]byte(a.body), &doc); err != nil {
		t.Fatalf("%d %s: %v", a.status, a.body, err)
	}
	text, _ := doc[name].(string)
	return text
}
