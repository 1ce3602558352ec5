package httpapi_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/authz/allowall"
	"github.com/icecore-catalog/icecore/authz/authztest"
	"github.com/icecore-catalog/icecore/httpapi"
	"github.com/icecore-catalog/icecore/httpapi/middleware"
	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/workers"
)

// withConsole is an instance that serves the console of jobs.
func (s *stack) withConsole(t *testing.T, change ...func(*httpapi.Deps)) http.Handler {
	t.Helper()
	console, err := workers.NewConsole(s.db.App, httpapi.JobsRoot, ids.NewV7(clock.System{}), wire.Actor, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return s.with(t, allowall.Authorizer{}, append(change, func(d *httpapi.Deps) { d.Jobs = console })...)
}

func TestTheConsoleOfJobsIsServed(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	s.jobs(t)
	h := s.withConsole(t)
	page := expect(t, do(h, "GET", "/ui/jobs/", "", "Accept", "text/html"), 200)
	if !strings.Contains(page.body, `src="/ui/jobs/assets/`) {
		t.Errorf("%s", page.body)
	}
	script, _, _ := strings.Cut(page.body[strings.Index(page.body, `src="/ui/jobs/assets/`)+5:], `"`)
	if got := expect(t, do(h, "GET", script, ""), 200); len(got.body) < 1000 {
		t.Errorf("%s: %d bytes", script, len(got.body))
	}
	for path, want := range map[string]string{
		"/ui/jobs/api/jobs?state=available&limit=20": `"kind":"purge"`,
		"/ui/jobs/api/states":                        `"available"`,
		"/ui/jobs/api/queues?limit=20":               `[`,
		"/ui/jobs/api/jobs/1":                        `"purge"`,
	} {
		if got := do(h, "GET", path, "", "Accept", "application/json"); got.status != 200 || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	expect(t, do(h, "GET", "/ui/jobs", ""), 301)
	expect(t, do(h, "DELETE", "/ui/jobs/api/jobs", ""), 405)
	expect(t, s.do("GET", "/ui/jobs/", ""), 404) // an instance without it

	// What it cancels ends as a task does: a purge by its own next run.
	expect(t, do(h, "POST", "/ui/jobs/api/jobs/cancel", `{"ids":["1"]}`), 200)
	var state string
	var off bool
	if err := s.db.App.QueryRow(t.Context(), "SELECT state::text, metadata ? 'cancel' FROM river.river_job WHERE id = 1").Scan(&state, &off); err != nil || state != "available" || !off {
		t.Errorf("%s %v, %v", state, off, err)
	}
	for _, body := range []string{``, `{}`, `{"ids":["x"]}`, `{"ids":[0]}`} {
		expect(t, do(h, "POST", "/ui/jobs/api/jobs/cancel", body), 400)
	}
}

// The console is for those who may, and not for the pages of others, though they
// come from a browser of one who may.
func TestTheConsoleOfJobsIsGuarded(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	s.jobs(t)
	origins, err := middleware.ParseOrigins([]string{"https://app.example"})
	if err != nil {
		t.Fatal(err)
	}
	h := s.withConsole(t, func(d *httpapi.Deps) { d.Origins = origins })
	cancel := func(h http.Handler, header ...string) int {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "http://catalog.example/ui/jobs/api/jobs/cancel", strings.NewReader(`{"ids":["1"]}`))
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code == 200 && w.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("open to other origins: %v", w.Header())
		}
		return w.Code
	}
	for name, c := range map[string]struct {
		header []string
		want   int
	}{
		"no browser":        {nil, 200},
		"its own page":      {[]string{"Sec-Fetch-Site", "same-origin", "Origin", "http://catalog.example"}, 200},
		"another site":      {[]string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, 403},
		"a sister site":     {[]string{"Sec-Fetch-Site", "same-site"}, 403},
		"an older browser":  {[]string{"Origin", "https://evil.example"}, 403},
		"a form":            {[]string{"Sec-Fetch-Site", "cross-site", "Content-Type", "text/plain"}, 403},
		"an origin of CORS": {[]string{"Sec-Fetch-Site", "cross-site", "Origin", "https://app.example"}, 403},
	} {
		if got := cancel(h, c.header...); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	denied := s.with(t, authztest.DenyAll{Visible: true}, func(d *httpapi.Deps) { d.Jobs = h })
	if got := cancel(denied); got != 403 {
		t.Errorf("without the right: %d", got)
	}
	framed := do(h, "GET", "/ui/jobs/", "", "Accept", "text/html")
	if framed.header.Get("X-Frame-Options") != "DENY" {
		t.Errorf("%v", framed.header)
	}
}
