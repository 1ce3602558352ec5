package middleware

import (
	"net/http"
	"strings"

	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// Counter counts requests by what they asked for. route is a template;
// warehouse is Nil and project empty where the request named none; project is
// the caller's text and may be anything.
type Counter interface {
	Count(method, route string, status int, warehouse ids.ID, project string)
}

// Count tells the counter, which may be nil, of each request to a route of the
// catalog or the management API. Probes, and paths that nothing is served at,
// are not counted.
func Count(counter Counter) Middleware {
	return func(next http.Handler) http.Handler {
		if counter == nil {
			return next
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rec := recording(w)
			defer func() {
				info := wire.InfoOf(r.Context())
				if !strings.HasPrefix(info.Template, "/catalog/") && !strings.HasPrefix(info.Template, "/management/") {
					return
				}
				status := rec.status
				if status == 0 {
					status = http.StatusOK // net/http says so for a handler that wrote nothing
				}
				project := info.Project
				if project == "" { // a route of no project, or refused before it came to that
					project = wire.ProjectHeader(r)
				}
				counter.Count(r.Method, info.Template, status, info.Warehouse, project)
			}()
			next.ServeHTTP(rec, r)
		})
	}
}
