package middleware

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func origins(t *testing.T, list ...string) Origins {
	t.Helper()
	o, err := ParseOrigins(list)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestOriginsAreReadAsBrowsersSendThem(t *testing.T) {
	t.Parallel()
	for text, origin := range map[string]string{
		"https://Console.Example.com": "https://console.example.com", "https://a.b/": "https://a.b", "https://a.b:443": "https://a.b",
		"http://a.b:80": "http://a.b", "http://localhost:3000": "http://localhost:3000", "http://[::1]:3000": "http://[::1]:3000",
		"https://a.b:80": "https://a.b:80", "app://x": "app://x",
	} {
		if got := origins(t, text).allow(origin); got != origin {
			t.Errorf("%s does not allow %s", text, origin)
		}
	}
	for _, text := range []string{"", "null", "example.com", "https://", "https://a.b/path", "https://u@a.b", "https://a.b?x", "https://*.a.b", "*.a.b", "https://a b"} {
		if _, err := ParseOrigins([]string{text}); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
	o := origins(t, "https://a.b")
	for _, other := range []string{"https://a.b.c", "http://a.b", "https://a.b:8443", "https://x.a.b", "null", "*", "HTTPS://a.b/"} {
		if got := o.allow(other); got != "" {
			t.Errorf("%s is allowed as %s", other, got)
		}
	}
	if got := origins(t, "*", "https://a.b").allow("null"); got != "*" {
		t.Errorf("everyone: %q", got)
	}
}

// Refusals carry the headers too: a script could not read their error
// otherwise.
func TestAllowedOriginsReadEveryAnswer(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 204, 304, 400, 401, 404, 405, 409, 500, 503} {
		next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Add("Vary", "Accept-Encoding")
			w.WriteHeader(status)
		})
		for _, c := range []struct {
			list         []string
			origin, want string
			vary         string
		}{
			{nil, "https://a.b", "", "Accept-Encoding"},
			{[]string{"https://a.b"}, "https://a.b", "https://a.b", "Origin,Accept-Encoding"},
			{[]string{"https://a.b"}, "https://evil.example", "", "Origin,Accept-Encoding"},
			{[]string{"https://a.b"}, "", "", "Origin,Accept-Encoding"},
			{[]string{"*"}, "https://evil.example", "*", "Accept-Encoding"},
			{[]string{"*"}, "", "", "Accept-Encoding"},
		} {
			r := httptest.NewRequest(http.MethodGet, "/x", nil)
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			w := httptest.NewRecorder()
			CORS(origins(t, c.list...))(next).ServeHTTP(w, r)
			h := w.Header()
			if w.Code != status || h.Get("Access-Control-Allow-Origin") != c.want || strings.Join(h.Values("Vary"), ",") != c.vary {
				t.Errorf("%d %v from %q: %d %v", status, c.list, c.origin, w.Code, h)
			}
			exposed := h.Get("Access-Control-Expose-Headers")
			if (c.want != "") != (strings.Contains(exposed, "ETag") && strings.Contains(exposed, "Retry-After") && strings.Contains(exposed, RequestIDHeader)) {
				t.Errorf("%d %v from %q exposes %q", status, c.list, c.origin, exposed)
			}
			if h.Get("Access-Control-Allow-Credentials") != "" {
				t.Error("cookies are allowed")
			}
		}
	}
}

func TestPreflightsOfAllowedOriginsAskNobody(t *testing.T) {
	t.Parallel()
	reached := false
	h := CORS(origins(t, "https://a.b"))(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached = true
		w.WriteHeader(http.StatusMethodNotAllowed)
	}))
	ask := func(header ...string) *httptest.ResponseRecorder {
		reached = false
		r := httptest.NewRequest(http.MethodOptions, "/x", nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Add(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	const method, headers = "Access-Control-Request-Method", "Access-Control-Request-Headers"
	got := ask("Origin", "https://a.b", method, "DELETE", headers, "authorization,idempotency-key, x-iceberg-access-delegation")
	if got.Code != 204 || reached || got.Body.Len() != 0 || got.Header().Get("Access-Control-Allow-Origin") != "https://a.b" ||
		!strings.Contains(got.Header().Get("Access-Control-Allow-Methods"), "DELETE") || got.Header().Get("Access-Control-Max-Age") == "" ||
		got.Header().Get("Access-Control-Allow-Headers") != "authorization,idempotency-key, x-iceberg-access-delegation" {
		t.Errorf("%d, reached %v, %v", got.Code, reached, got.Header())
	}
	if got := ask("Origin", "https://a.b", method, "POST", headers, "a<script>"); got.Code != 204 || got.Header().Get("Access-Control-Allow-Headers") != "" {
		t.Errorf("no header names: %v", got.Header())
	}
	// The rest goes its way: another origin, and OPTIONS that is no preflight.
	for _, header := range [][]string{{"Origin", "https://evil.example", method, "DELETE"}, {"Origin", "https://a.b"}, {method, "DELETE"}} {
		if got := ask(header...); got.Code != 405 || !reached || got.Header().Get("Access-Control-Allow-Methods") != "" {
			t.Errorf("%v: %d, reached %v, %v", header, got.Code, reached, got.Header())
		}
	}
}
