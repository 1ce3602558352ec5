package middleware

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Origins are the web origins whose pages may use the server from a browser
// (Fetch standard, CORS protocol). The zero value allows none.
type Origins struct {
	any  bool
	list map[string]bool
}

// ParseOrigins reads origins as an administrator writes them: "*" for every
// one, else scheme, host and, unless it is the scheme's own, port, as in
// "https://console.example.com" or "http://localhost:3000". An error names the
// text that is none.
func ParseOrigins(texts []string) (Origins, error) {
	var o Origins
	for _, text := range texts {
		if text == "*" {
			o.any = true
			continue
		}
		origin, err := parseOrigin(text)
		if err != nil {
			return Origins{}, err
		}
		if o.list == nil {
			o.list = map[string]bool{}
		}
		o.list[origin] = true
	}
	return o, nil
}

// parseOrigin spells an origin as browsers send it: lower case, without the
// port that the scheme has anyway.
func parseOrigin(text string) (string, error) {
	u, err := url.Parse(strings.ToLower(strings.TrimSuffix(text, "/")))
	if err != nil || u.Scheme == "" || u.Hostname() == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.Opaque != "" ||
		strings.ContainsAny(u.Host, "* ") {
		return "", fmt.Errorf("%q is no origin: write * or scheme://host:port without a path, as in https://console.example.com", text)
	}
	host := u.Host
	if port := u.Port(); port == "" || u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		host = strings.TrimSuffix(strings.TrimSuffix(host, port), ":")
	}
	return u.Scheme + "://" + host, nil
}

// enabled reports whether there is anyone to allow.
func (o Origins) enabled() bool { return o.any || len(o.list) > 0 }

// allow returns what Access-Control-Allow-Origin says to an origin, "" for
// nothing.
func (o Origins) allow(origin string) string {
	switch {
	case o.any:
		return "*"
	case o.list[origin]:
		return origin
	}
	return ""
}

const (
	// corsMethods are those of all routes.
	corsMethods = "GET, HEAD, POST, PUT, PATCH, DELETE"
	// corsExposed are the headers of answers that scripts may read beside the
	// few that they always may.
	corsExposed = "ETag, Retry-After, Allow, WWW-Authenticate, " + RequestIDHeader
	// corsMaxAge is how long a browser may remember the answer to a preflight, in
	// seconds: long enough for a page, short enough for a change of settings.
	corsMaxAge = "600"
	// longestHeaderList bounds what a preflight may ask for.
	longestHeaderList = 4096
)

// CORS lets the pages of some origins use the server from a browser. It says so
// on every answer, refusals and unknown routes included, for a script cannot
// read the error of an answer that lacks the header; and it answers preflights
// itself, before anyone asks for a right, because browsers send them without
// one. Cookies play no part: a page sends its token in Authorization, so
// Access-Control-Allow-Credentials is never said.
//
// Origins that are not listed get no header: the browser then keeps the answer
// from the page, and does not send what would need a preflight. With no origin
// at all the middleware is not there.
func CORS(origins Origins) Middleware {
	return func(next http.Handler) http.Handler {
		if !origins.enabled() {
			return next
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h := w.Header()
			if !origins.any {
				h.Add("Vary", "Origin") // the answer to another origin differs
			}
			origin := r.Header.Get("Origin")
			allowed := ""
			if origin != "" {
				allowed = origins.allow(origin)
			}
			if allowed == "" {
				next.ServeHTTP(w, r)
				return
			}
			h.Set("Access-Control-Allow-Origin", allowed)
			if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
				preflight(h, r)
				w.WriteHeader(http.StatusNoContent)
				return
			}
			h.Set("Access-Control-Expose-Headers", corsExposed)
			next.ServeHTTP(w, r)
		})
	}
}

// preflight allows the methods of all routes and whatever headers are asked
// for: clients bring their own, and the server ignores what it does not know.
// They are repeated, for "*" does not cover Authorization.
func preflight(h http.Header, r *http.Request) {
	h.Add("Vary", "Access-Control-Request-Method, Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Max-Age", corsMaxAge)
	if asked := strings.Join(r.Header.Values("Access-Control-Request-Headers"), ","); asked != "" && headerList(asked) {
		h.Set("Access-Control-Allow-Headers", asked)
	}
}

// headerList reports whether s is a list of header names (RFC 9110 5.6.2
// tokens), so that nothing else is repeated.
func headerList(s string) bool {
	if len(s) > longestHeaderList {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && strings.IndexByte("!#$%&'*+-.^_`|~, \t", c) < 0 {
			return false
		}
	}
	return true
}
