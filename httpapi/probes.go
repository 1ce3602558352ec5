package httpapi

import (
	"errors"
	"net/http"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/httpapi/wire"
)

// probes are the routes for machines that watch the server, and the page for
// people who open it in a browser.
type probes struct{ Deps }

func (p probes) routes() []wire.Route {
	return []wire.Route{
		{Method: http.MethodGet, Template: "/", Operation: "root", Handle: p.root},
		{Method: http.MethodHead, Template: "/", Operation: "root", Handle: p.root},
		{Method: http.MethodGet, Template: "/health", Operation: "health", Handle: p.health},
		{Method: http.MethodHead, Template: "/health", Operation: "health", Handle: p.health},
		{Method: http.MethodGet, Template: "/ready", Operation: "ready", Handle: p.ready},
		{Method: http.MethodHead, Template: "/ready", Operation: "ready", Handle: p.ready},
		{Method: http.MethodGet, Template: "/metrics", Operation: "metrics", Handle: p.metrics},
	}
}

// root says where things are.
func (p probes) root(w http.ResponseWriter, _ *http.Request) error {
	body := wire.AppendMap(nil, map[string]string{
		"name":       "icecore",
		"version":    p.Version,
		"catalog":    catalogRoot,
		"management": managementRoot + "/v1",
		"jobs":       JobsRoot + "/",
	})
	wire.JSON(w, http.StatusOK, body)
	return nil
}

// health answers as long as the process serves requests; it looks at nothing
// else, so that a database that is away does not get the process killed.
func (p probes) health(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Cache-Control", "no-store")
	wire.JSON(w, http.StatusOK, []byte(`{"health":"healthy"}`))
	return nil
}

// ready answers 200 while the server should get traffic, else 503. The reason
// is shown if it was worded for callers, as a [catalog.Error]; any other may
// name hosts and goes to the log alone.
func (p probes) ready(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Cache-Control", "no-store")
	if err := p.Ready(r.Context()); err != nil {
		if worded := (*catalog.Error)(nil); errors.As(err, &worded) {
			return err
		}
		return &catalog.Error{Kind: catalog.Unavailable, Message: "Not ready", Cause: err}
	}
	wire.JSON(w, http.StatusOK, []byte(`{"ready":true}`))
	return nil
}

func (p probes) metrics(w http.ResponseWriter, r *http.Request) error {
	if err := authz.Check(r.Context(), p.Authorizer, wire.Actor(r), authz.Facts{Entity: "server"}, authz.ServerGetMetrics, nil); err != nil {
		return err
	}
	p.Metrics.ServeHTTP(w, r)
	return nil
}
