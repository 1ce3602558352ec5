package management

import (
	"net/http"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/queries"
)

// Deps are what the routes need.
type Deps struct {
	Commands *commands.Service
	Queries  *queries.Service
	// MaxBody bounds a request body, in bytes, compressed or not.
	MaxBody int64
	// Version is the version of this build.
	Version string
	// AuthzBackend names the authorizer.
	AuthzBackend string
}

// API serves the routes.
type API struct{ deps Deps }

// New returns the API on its dependencies.
func New(deps Deps) *API { return &API{deps: deps} }

// Routes returns what is served, templates below /management.
func (a *API) Routes() []wire.Route {
	return []wire.Route{
		{Method: http.MethodGet, Template: "/v1/info", Operation: "getServerInfo", Handle: a.getInfo},
		{Method: http.MethodPost, Template: "/v1/bootstrap", Operation: "bootstrap", Handle: a.bootstrap},
		{Method: http.MethodGet, Template: "/v1/warehouse", Operation: "listWarehouses", Handle: a.listWarehouses},
		{Method: http.MethodPost, Template: "/v1/warehouse", Operation: "createWarehouse", Handle: a.createWarehouse},
		{Method: http.MethodGet, Template: "/v1/warehouse/{warehouse_id}/table/{table_id}/metrics-reports", Operation: "listMetricsReports", Handle: a.listMetricsReports},
		{Method: http.MethodGet, Template: "/v1/warehouse/{warehouse_id}", Operation: "getWarehouse", Handle: a.getWarehouse},
	}
}

// project reads which project a request is about: the header x-project-id, its
// old spelling, or the deprecated member or parameter given. Nil means the
// default project, and so does an empty header.
func project(r *http.Request, deprecated string) (ids.ID, error) {
	for _, text := range []string{r.Header.Get("X-Project-Id"), r.Header.Get("X-Project-Ident"), deprecated} {
		if text == "" {
			continue
		}
		id, err := ids.Parse(text)
		if err != nil {
			return ids.Nil, &catalog.Error{Kind: catalog.NoSuchProject, Message: "Project does not exist"}
		}
		return id, nil
	}
	return ids.Nil, nil
}
