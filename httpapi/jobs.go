package httpapi

import (
	"net/http"
	"strconv"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/httpapi/wire"
)

// JobsRoot is where the console of jobs is.
const JobsRoot = "/ui/jobs"

// consoleDepth is how many parts a path of the console has below its root.
const consoleDepth = 5

// jobs serves the console of jobs: pages, and what they ask for. Every request,
// for a file as well, asks for the right to manage jobs.
type jobs struct{ Deps }

func (j jobs) routes() []wire.Route {
	var routes []wire.Route
	template := JobsRoot
	for depth := range consoleDepth + 1 {
		if depth > 0 {
			template += "/{console" + strconv.Itoa(depth) + "}"
		}
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch} {
			routes = append(routes, wire.Route{Method: method, Template: template, Operation: "jobsConsole", Handle: j.serve})
		}
	}
	return routes
}

func (j jobs) serve(w http.ResponseWriter, r *http.Request) error {
	if err := authz.Check(r.Context(), j.Authorizer, wire.Actor(r), authz.Facts{Entity: "server"}, authz.ServerManageJobs, nil); err != nil {
		return err
	}
	if j.Jobs == nil {
		return &catalog.Error{Kind: catalog.NoSuchRoute, Message: "Nothing is served at this path"}
	}
	// A page of somebody else's may not use a browser that may: where nobody is
	// authenticated, being reachable from it is the right. Origins that may read
	// other answers may not change anything here either.
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		return &catalog.Error{Kind: catalog.Forbidden, Message: "Not allowed: jobs are changed by the console's own pages alone", Cause: err}
	}
	h := w.Header()
	h.Del("Access-Control-Allow-Origin")
	h.Del("Access-Control-Expose-Headers")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Security-Policy", "frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	j.Jobs.ServeHTTP(w, r)
	return nil
}
