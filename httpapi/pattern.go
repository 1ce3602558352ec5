package httpapi

import (
	"net/http"
	"strings"

	"github.com/gorilla/mux"
)

// pattern is a path template, segment by segment. A name in braces stands for a
// whole segment and matches it as it was sent, escaped. It does what the regular
// expressions do that mux makes of templates, at a tenth of their price: those
// were a twentieth of what a load cost the server.
type pattern []segment

type segment struct {
	text  string // to be found literally; or the name of a value
	value bool
	empty bool // the value may be empty
}

// mayBeEmpty are names that may be empty: Java asks for
// ".../namespaces//tables/t", and the answer has to be a 404 of the catalog, not
// of the router.
var mayBeEmpty = map[string]bool{"namespace": true, "table": true, "view": true, "function": true, "console1": true}

func parsePattern(template string) pattern {
	parts := strings.Split(template, "/")
	p := make(pattern, len(parts))
	for i, text := range parts {
		if name, isValue := strings.CutPrefix(text, "{"); isValue {
			name = strings.TrimSuffix(name, "}")
			p[i] = segment{text: name, value: true, empty: mayBeEmpty[name]}
			continue
		}
		p[i] = segment{text: text}
	}
	return p
}

// matches reports whether a path with as many slashes is of the pattern.
func (p pattern) matches(path string) bool {
	for i := range p {
		var part string
		part, path, _ = strings.Cut(path, "/")
		s := &p[i]
		if s.value {
			if part == "" && !s.empty {
				return false
			}
		} else if part != s.text {
			return false
		}
	}
	return true
}

// read hands each value of a path of the pattern to set.
func (p pattern) read(path string, set func(name, value string)) {
	for i := range p {
		var part string
		part, path, _ = strings.Cut(path, "/")
		if p[i].value {
			set(p[i].text, part)
		}
	}
}

// matcher is the pattern as mux asks it. It finds the path in the request's
// values, since mux would make it anew for each route.
func (p pattern) matcher(_ *http.Request, found *mux.RouteMatch) bool {
	return p.matches(found.Vars[escapedPath])
}

// escapedPath is where the router keeps the path that routes are matched on; no
// value of a template is called so.
const escapedPath = "/"
