package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/authz/allowall"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/httpapi"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/usage"
	"github.com/icecore-catalog/icecore/queries"
)

// counted is a server of a stack whose requests are counted.
type counted struct {
	*stack
	handler http.Handler
	counter *usage.Counter
}

func newCounted(t *testing.T) *counted {
	t.Helper()
	c := &counted{stack: newStack(t), counter: usage.NewCounter()}
	c.handler = c.with(t, allowall.Authorizer{}, func(d *httpapi.Deps) { d.Counter = c.counter })
	return c
}

func (c *counted) do(method, target, body string, header ...string) answer {
	return do(c.handler, method, target, body, header...)
}

// calls asks for statistics and returns them as texts, hour by hour.
func (c *counted) calls(t *testing.T, body string, header ...string) (hours [][]string, doc map[string]any) {
	t.Helper()
	if err := usage.NewStore(c.db.App, clock.System{}).Flush(t.Context(), c.counter); err != nil {
		t.Fatal(err)
	}
	doc = decoded(t, expect(t, c.stack.do("POST", "/management/v1/endpoint-statistics", body, header...), 200).body)
	for _, hour := range doc["called-endpoints"].([]any) {
		var calls []string
		for _, one := range hour.([]any) {
			call := one.(map[string]any)
			if call["created-at"] == nil {
				t.Error(call)
			}
			calls = append(calls, fmt.Sprint(call["http-route"], " ", call["status-code"], " ", call["count"], " ", call["warehouse-name"]))
		}
		hours = append(hours, calls)
	}
	if len(doc["timestamps"].([]any)) != len(hours) {
		t.Errorf("%v", doc)
	}
	return hours, doc
}

func TestEndpointStatisticsCountWhatWasAsked(t *testing.T) {
	t.Parallel()
	c := newCounted(t)
	if hours, _ := c.calls(t, `{"warehouse":{"type":"all"}}`); len(hours) != 0 {
		t.Errorf("before: %v", hours)
	}
	for range 3 {
		expect(t, c.do("GET", c.prefix+"/namespaces", ""), 200)
	}
	expect(t, c.do("GET", c.prefix+"/namespaces/no", ""), 404)
	expect(t, c.do("GET", "/catalog/v1/config?warehouse=demo", ""), 200)
	expect(t, c.do("GET", c.warehouse(), "", "X-Project-Id", "whatever"), 200)
	expect(t, c.do("GET", "/management/v1/info", ""), 200)
	expect(t, c.do("GET", "/catalog/v1/x/namespaces", ""), 404)                     // no id of a warehouse
	expect(t, c.do("GET", "/health", ""), 200)                                      // a probe
	expect(t, c.do("GET", "/management/v1/nothing", ""), 404)                       // no route
	expect(t, c.do("GET", "/management/v1/project", "", "X-Project-Id", "no"), 404) // no project
	mapped := []string{
		"GET /catalog/v1/config 200 1 demo", "GET /catalog/v1/{prefix}/namespaces 200 3 demo",
		"GET /catalog/v1/{prefix}/namespaces/{namespace} 404 1 demo", "GET /management/v1/warehouse/{warehouse_id} 200 1 demo",
	}
	unmapped := []string{"GET /catalog/v1/{prefix}/namespaces 404 1 <nil>", "GET /management/v1/info 200 1 <nil>"}
	id := strings.TrimPrefix(c.prefix, "/catalog/v1/")
	for body, want := range map[string][]string{
		`{"warehouse":{"type":"warehouse-id","id":"` + id + `"}}`:                          mapped,
		`{"warehouse":{"type":"unmapped"}}`:                                                unmapped,
		`{"warehouse":{"type":"all"},"status-codes":[404]}`:                                {unmapped[0], mapped[2]},
		`{"warehouse":{"type":"all"},"status-codes":[418,70000]}`:                          nil,
		`{"warehouse":{"type":"warehouse-id","id":"` + id + `"},"status-codes":[404,301]}`: {mapped[2]},
	} {
		hours, _ := c.calls(t, body)
		if len(want) == 0 && len(hours) == 0 {
			continue
		}
		// The hour may have changed in between.
		if got := strings.Join(flat(hours), "\n"); got != strings.Join(want, "\n") && len(hours) < 2 {
			t.Errorf("%s:\n%s\nwant\n%s", body, got, strings.Join(want, "\n"))
		}
	}
	if hours, _ := c.calls(t, `{"warehouse":{"type":"all"}}`); len(flat(hours)) < 6 {
		t.Errorf("all: %v", hours)
	}
}

func flat(hours [][]string) (list []string) {
	for _, hour := range hours {
		list = append(list, hour...)
	}
	return list
}

func TestEndpointStatisticsStepThroughTime(t *testing.T) {
	t.Parallel()
	c := newCounted(t)
	store := func(at time.Time) {
		t.Helper()
		c.counter.Count("GET", "/management/v1/info", 200, [16]byte{}, "")
		if err := usage.NewStore(c.db.App, clock.NewFake(at)).Flush(t.Context(), c.counter); err != nil {
			t.Fatal(err)
		}
	}
	at := func(text string) time.Time {
		parsed, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	for _, text := range []string{"2026-01-01T10:10:00Z", "2026-01-02T09:59:59Z", "2026-01-02T10:00:00Z", "2026-01-03T23:00:00Z"} {
		store(at(text))
	}
	window := `{"warehouse":{"type":"all"},"range-specifier":{"type":"window","end":"2026-01-02T10:30:00+00:00","interval":"P1D"}}`
	hours, doc := c.calls(t, window)
	if fmt.Sprint(doc["timestamps"]) != "[2026-01-02T11:00:00Z 2026-01-02T10:00:00Z]" || len(hours) != 2 {
		t.Errorf("%v", doc["timestamps"])
	}
	step := func(token any) map[string]any {
		t.Helper()
		_, doc := c.calls(t, fmt.Sprintf(`{"warehouse":{"type":"all"},"range-specifier":{"type":"page-token","token":%q}}`, token))
		return doc
	}
	before := step(doc["previous-page-token"])
	if fmt.Sprint(before["timestamps"]) != "[2026-01-01T11:00:00Z]" {
		t.Errorf("before: %v", before["timestamps"])
	}
	if again := step(before["next-page-token"]); fmt.Sprint(again["timestamps"]) != fmt.Sprint(doc["timestamps"]) {
		t.Errorf("and back: %v", again["timestamps"])
	}
	if behind := step(step(doc["next-page-token"])["next-page-token"]); fmt.Sprint(behind["timestamps"]) != "[2026-01-04T00:00:00Z]" {
		t.Errorf("behind: %v", behind["timestamps"])
	}
	for body, kind := range map[string]string{
		`{}`:                                    "BadRequestException",
		`{"warehouse":{"type":"some"}}`:         "BadRequestException",
		`{"warehouse":{"type":"warehouse-id"}}`: "BadRequestException",
		`{"warehouse":{"type":"warehouse-id","id":"x"}}`:                                                                          "BadRequestException",
		`{"warehouse":{"type":"all"},"range-specifier":{"type":"page-token","token":"x"}}`:                                        "BadRequestException",
		`{"warehouse":{"type":"all"},"range-specifier":{"type":"window","end":"now","interval":"P1D"}}`:                           "BadRequestException",
		`{"warehouse":{"type":"all"},"range-specifier":{"type":"window","end":"2026-01-02T10:30:00Z","interval":"P1M"}}`:          "BadRequestException",
		`{"warehouse":{"type":"all"},"range-specifier":{"type":"window","end":"2026-01-02T10:30:00Z","interval":"P400D"}}`:        "BadRequestException",
		`{"warehouse":{"type":"all"},"range-specifier":{"type":"window","end":"2026-01-02T10:30:00Z","interval":"PT999999999H"}}`: "BadRequestException",
	} {
		refused(t, c.stack.do("POST", "/management/v1/endpoint-statistics", body), 400, kind)
	}
	// A warehouse of another project is not there.
	expect(t, c.stack.do("POST", "/management/v1/project", `{"project-name":"p","project-id":"p"}`), 201)
	one := `{"warehouse":{"type":"warehouse-id","id":"` + strings.TrimPrefix(c.prefix, "/catalog/v1/") + `"}}`
	refused(t, c.stack.do("POST", "/management/v1/endpoint-statistics", one, "X-Project-Id", "p"), 404, "NoSuchWarehouseException")
	refused(t, c.stack.do("POST", "/management/v1/endpoint-statistics", one, "X-Project-Id", "no"), 404, "NoSuchWarehouseException")
	refused(t, c.stack.do("POST", "/management/v1/endpoint-statistics", `{"warehouse":{"type":"all"}}`, "X-Project-Id", "no"), 404, "ProjectNotFound")
	if hours, _ := c.calls(t, `{"warehouse":{"type":"all"},"range-specifier":{"type":"window","end":"2026-01-02T10:30:00Z","interval":"P30D"}}`, "X-Project-Id", "p"); len(hours) != 0 {
		t.Errorf("another project: %v", hours)
	}
}

// A header of any bytes and length is counted, or refused, and keeps no other
// count from being stored.
func TestOddProjectHeadersSpoilNoCount(t *testing.T) {
	t.Parallel()
	c := newCounted(t)
	get := func(path, project string) answer {
		return overSocket(t, c.handler, "GET "+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Project-Id: "+project+"\r\n\r\n")
	}
	for _, project := range []string{"\xff", "\xed\xa0\x80", "é", strings.Repeat("x", catalog.MaxProjectIdent+1), strings.Repeat("y", 60<<10)} {
		expect(t, get("/management/v1/info", project), 200)
		refused(t, get("/management/v1/project", project), 404, "ProjectNotFound")
		expect(t, get(c.prefix+"/namespaces", project), 200)
	}
	got := get("/management/v1/info", strings.Repeat("z", 80<<10))
	refused(t, got, 431, "BadRequestException")
	expect(t, c.do("GET", "/management/v1/info", ""), 200)
	hours, _ := c.calls(t, `{"warehouse":{"type":"all"}}`)
	want := []string{"GET /catalog/v1/{prefix}/namespaces 200 5 demo", "GET /management/v1/info 200 1 <nil>"}
	if got := flat(hours); strings.Join(got, "\n") != strings.Join(want, "\n") && len(hours) < 2 {
		t.Errorf("%q", got)
	}
}

// A request is counted for the project that it is about, however it names it.
func TestRequestsAreCountedForTheirProject(t *testing.T) {
	t.Parallel()
	c := newCounted(t)
	for _, p := range []string{"p", "q"} {
		expect(t, c.stack.do("POST", "/management/v1/project", `{"project-name":"`+p+`","project-id":"`+p+`"}`), 201)
	}
	expect(t, c.do("GET", "/management/v1/project/p", "", "X-Project-Id", "q"), 200) // the path wins
	expect(t, c.do("GET", "/management/v1/project", "", "X-Project-Ident", "p"), 200)
	expect(t, c.do("GET", "/management/v1/project", "", "X-Project-Ident", "q", "X-Project-Id", "p"), 200)
	expect(t, c.do("GET", "/management/v1/warehouse?projectId=p", ""), 200)
	expect(t, c.do("GET", "/management/v1/warehouse?projectId=q", "", "X-Project-Id", "p"), 200)
	expect(t, c.do("POST", "/management/v1/warehouse-creation-validation", `{"project-id":"p","warehouse-name":"x","storage-profile":{"type":"file","root":"file://`+c.root+`/x"}}`), 200)
	expect(t, c.do("GET", "/management/v1/info", "", "X-Project-Ident", "p"), 200)
	expect(t, c.do("GET", "/catalog/v1/config?warehouse=p/none", ""), 404)
	want := []string{
		"GET /catalog/v1/config 404 1 <nil>", "GET /management/v1/info 200 1 <nil>", "GET /management/v1/project 200 2 <nil>", "GET /management/v1/project/{project_id} 200 1 <nil>",
		"GET /management/v1/warehouse 200 2 <nil>", "POST /management/v1/warehouse-creation-validation 200 1 <nil>",
	}
	hours, _ := c.calls(t, `{"warehouse":{"type":"all"}}`, "X-Project-Id", "p")
	if got := flat(hours); strings.Join(got, "\n") != strings.Join(want, "\n") && len(hours) < 2 {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, other := range []string{"q", ids.Nil.String()} {
		if hours, _ := c.calls(t, `{"warehouse":{"type":"all"}}`, "X-Project-Id", other); len(hours) != 0 {
			t.Errorf("%s: %q", other, hours)
		}
	}
}

// Whatever was counted, an answer is bounded, and following the tokens of
// either direction meets each entry once.
func TestEndpointStatisticsAreBounded(t *testing.T) {
	t.Parallel()
	c := newCounted(t)
	const perHour, hours = 7001, 4
	if _, err := c.db.App.Exec(t.Context(), `INSERT INTO ops.endpoint_statistics (until, project_id, warehouse_id, route, status, requests, created_at)
		SELECT timestamptz '2026-01-01T00:00:00Z' + h * interval '1 hour', (SELECT project_id FROM rm.project),
		       CASE WHEN n % 3 > 0 THEN ('00000000-0000-7000-8000-' || lpad((n / 20)::text, 12, '0'))::uuid END, 'GET /R ' || (n % 5) || '/' || n, 200 + n % 4, 1, '2026-01-01T00:00:00Z'
		  FROM generate_series(1, $1) n, generate_series(1, $2) h`, perHour, hours); err != nil {
		t.Fatal(err)
	}
	for _, c2 := range []struct{ start, token string }{
		{`{"type":"window","end":"2026-01-01T03:30:00Z","interval":"PT4H"}`, "previous-page-token"},
		{`{"type":"window","end":"2026-01-01T03:30:00Z","interval":"PT2H"}`, "previous-page-token"},
		{"", "next-page-token"},
	} {
		selector := c2.start
		if selector == "" { // from a window before everything, forward
			_, doc := c.calls(t, `{"warehouse":{"type":"all"},"range-specifier":{"type":"window","end":"2025-12-31T22:30:00Z","interval":"PT4H"}}`)
			selector = fmt.Sprintf(`{"type":"page-token","token":%q}`, doc["next-page-token"])
		}
		seen, pages, last := map[string]bool{}, 0, ""
		for len(seen) < perHour*hours && pages < 12 {
			list, doc := c.calls(t, `{"warehouse":{"type":"all"},"range-specifier":`+selector+`}`)
			if n := len(flat(list)); n > queries.MaxEndpointCalls {
				t.Fatalf("%d entries", n)
			}
			for i, at := range doc["timestamps"].([]any) {
				for _, call := range list[i] {
					if one := fmt.Sprint(at, call); seen[one] {
						t.Fatalf("%s twice", one)
					} else {
						seen[one] = true
					}
				}
			}
			if pages == 1 { // and back to where it came from
				back := map[string]string{"previous-page-token": "next-page-token", "next-page-token": "previous-page-token"}[c2.token]
				again, _ := c.calls(t, fmt.Sprintf(`{"warehouse":{"type":"all"},"range-specifier":{"type":"page-token","token":%q}}`, doc[back]))
				if got := fmt.Sprint(again); got != last {
					t.Errorf("%s: the page before is another: %.200s, was %.200s", c2.token, got, last)
				}
			}
			last = fmt.Sprint(list)
			pages++
			selector = fmt.Sprintf(`{"type":"page-token","token":%q}`, doc[c2.token])
		}
		if len(seen) != perHour*hours {
			t.Errorf("%s from %s: %d entries on %d pages", c2.token, c2.start, len(seen), pages)
		}
	}
}
