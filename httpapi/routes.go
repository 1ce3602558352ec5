package httpapi

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/gorilla/mux"
	"go.opentelemetry.io/otel/trace"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/httpapi/middleware"
	"github.com/icecore-catalog/icecore/httpapi/wire"
)

// Roots of the route groups.
const (
	catalogRoot    = "/catalog"
	managementRoot = "/management"
)

// resource is one path template with its methods.
type resource struct {
	template string
	pattern  pattern
	allow    string // value of the Allow header
	methods  map[string]wire.Route
}

// ServeHTTP makes a resource a mux handler; it is never called, for [router]
// asks mux where a path leads and goes there itself.
func (*resource) ServeHTTP(http.ResponseWriter, *http.Request) {}

// router finds the route of a request on its escaped path. gorilla/mux tries one
// template after the other, each a [pattern]; unknown paths and wrong methods are
// answered here, outside of it, in the error model. No part of a template matches
// a slash, so templates are kept apart by how many they have.
type router struct {
	muxes  map[int]*mux.Router // by slashes
	render middleware.Renderer
}

func newRouter(render middleware.Renderer) *router {
	return &router{muxes: map[int]*mux.Router{}, render: render}
}

// of returns the mux of all paths, or templates, with as many slashes as path.
func (rt *router) of(path string) *mux.Router {
	slashes := strings.Count(path, "/")
	m, ok := rt.muxes[slashes]
	if !ok {
		m = mux.NewRouter().UseEncodedPath().SkipClean(true).StrictSlash(false)
		rt.muxes[slashes] = m
	}
	return m
}

// add registers a group of routes below root. Routes of one template must
// stand together; earlier templates are tried first.
func (rt *router) add(root string, routes []wire.Route) {
	var current *resource
	for _, route := range routes {
		template := root + route.Template
		if current == nil || current.template != template {
			current = &resource{template: template, pattern: parsePattern(template), methods: map[string]wire.Route{}}
			rt.of(template).MatcherFunc(current.pattern.matcher).Handler(current)
		}
		current.methods[route.Method] = route
		current.allow = strings.Join(slices.Sorted(maps.Keys(current.methods)), ", ")
	}
}

// ServeHTTP implements [http.Handler].
func (rt *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	escaped, err := wire.EscapedPath(r)
	if err != nil {
		rt.render(w, r, err)
		return
	}
	if escaped != r.URL.EscapedPath() {
		if r, err = withPath(r, escaped); err != nil {
			rt.render(w, r, err)
			return
		}
	}
	match := mux.RouteMatch{Vars: map[string]string{escapedPath: escaped}}
	if m := rt.muxes[strings.Count(escaped, "/")]; m == nil || !m.Match(r, &match) {
		rt.render(w, r, &catalog.Error{Kind: catalog.NoSuchRoute, Message: "Nothing is served at this path"})
		return
	}
	target := match.Handler.(*resource)
	target.pattern.read(escaped, r.SetPathValue)
	if commands.ServedBelowProject(r.PathValue("project_id")) {
		// No project has this id: it is a route that is not served here.
		rt.render(w, r, &catalog.Error{Kind: catalog.NoSuchRoute, Message: "Nothing is served at this path"})
		return
	}
	route, ok := target.methods[r.Method]
	if !ok {
		w.Header().Set("Allow", target.allow)
		rt.render(w, r, &catalog.Error{Kind: catalog.MethodNotAllowed, Message: "This path answers to " + target.allow + " only"})
		return
	}
	info := wire.InfoOf(r.Context())
	info.Operation, info.Template = route.Operation, target.template
	trace.SpanFromContext(r.Context()).SetName(r.Method + " " + target.template)
	if err := route.Handle(w, r); err != nil {
		rt.render(w, r, err)
	}
}

// withPath replaces the path of a request by its routable form.
func withPath(r *http.Request, escaped string) (*http.Request, error) {
	url := *r.URL
	path, err := unescapePath(escaped)
	if err != nil {
		return r, err
	}
	url.Path, url.RawPath = path, escaped
	changed := r.WithContext(r.Context())
	changed.URL = &url
	return changed, nil
}
