package icebergrest

import (
	"net/http"
	"strings"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/queries"
)

// Some clients know a warehouse by nothing but the URI of its catalog: they
// read no prefix, or forget it on some routes (ClickHouse drops tables without
// one, iceberg-rest 5.7). For them every route is served a second time below
// /catalog/w/{warehouse}/v1, where the path has no prefix and {warehouse} is
// the warehouse's name, its id, or project and name around an escaped slash.

// ownBase is the root of one warehouse's own catalog, below /catalog.
const ownBase = "/w/{warehouse}"

// OwnRoutes returns all routes in their second form: those of a warehouse,
// config and the token endpoint, templates below /catalog. They are to be tried
// after all others: most clients use the first form.
func (a *API) OwnRoutes() []wire.Route {
	own := make([]wire.Route, 0, len(a.routes))
	for _, route := range a.routes {
		if path, ok := strings.CutPrefix(route.Template, prefixed); ok {
			route.Template, route.Handle = ownBase+"/v1/"+path, a.inOwnBase(route.Handle)
		} else {
			route.Template = ownBase + route.Template
			if route.Operation == operationConfig {
				route.Handle = a.getOwnConfig
			}
		}
		own = append(own, route)
	}
	return own
}

// inOwnBase makes of the warehouse in the path the prefix that the route reads.
// A name costs one more look-up, an id none.
func (a *API) inOwnBase(handle wire.Handler) wire.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		segment := r.PathValue("warehouse")
		if id, err := ids.Parse(segment); err == nil && !id.IsNil() {
			r.SetPathValue("prefix", segment)
			return handle(w, r)
		}
		config, err := a.ownWarehouse(r)
		if err != nil {
			return err
		}
		r.SetPathValue("prefix", config.Warehouse.ID.String())
		return handle(w, r)
	}
}

// getOwnConfig is GET /catalog/w/{warehouse}/v1/config: the settings of that
// warehouse, and no prefix. A client that names a warehouse beside the path has
// to mean the same one: else it would work on another than it says.
func (a *API) getOwnConfig(w http.ResponseWriter, r *http.Request) error {
	q, err := wire.ParseQuery(r)
	if err != nil {
		return err
	}
	name, err := q.String("warehouse")
	if err != nil {
		return err
	}
	config, err := a.ownWarehouse(r)
	if err != nil {
		return err
	}
	if id := config.Warehouse.ID; name != "" && name != id.String() {
		named, err := a.find(r, name)
		if err != nil {
			return err
		}
		if named.Warehouse.ID != id {
			return &catalog.Error{Kind: catalog.BadRequest, Message: "The URI belongs to one warehouse, and the parameter warehouse names another"}
		}
	}
	a.writeConfig(w, config, map[string]string{})
	return nil
}

// ownWarehouse finds the warehouse that the path names.
func (a *API) ownWarehouse(r *http.Request) (queries.Config, error) {
	name, err := wire.DecodeSegment(r.PathValue("warehouse"))
	if err != nil {
		return queries.Config{}, err
	}
	if id, err := ids.Parse(name); err == nil && !id.IsNil() {
		return a.deps.Queries.ConfigOf(r.Context(), wire.Actor(r), id) // as on all other routes there
	}
	return a.named(r, name)
}

// find finds a warehouse by its id or, if the text is none, its name. A name
// may look like an id that no warehouse has.
func (a *API) find(r *http.Request, text string) (queries.Config, error) {
	if id, err := ids.Parse(text); err == nil && !id.IsNil() {
		config, err := a.deps.Queries.ConfigOf(r.Context(), wire.Actor(r), id)
		if catalog.KindOf(err) != catalog.NoSuchWarehouse {
			wire.InfoOf(r.Context()).Warehouse = config.Warehouse.ID
			return config, err
		}
	}
	return a.named(r, text)
}

// named finds a warehouse by its name, with its project before a slash if that
// is not the default one, as Lakekeeper does.
func (a *API) named(r *http.Request, name string) (config queries.Config, err error) {
	var project ids.ID
	if before, after, ok := strings.Cut(name, "/"); ok {
		wire.InfoOf(r.Context()).Project = before
		if project, err = a.deps.Queries.ProjectID(r.Context(), before); err != nil {
			return config, err
		}
		name = after
	}
	config, err = a.deps.Queries.Config(r.Context(), wire.Actor(r), project, name)
	wire.InfoOf(r.Context()).Warehouse = config.Warehouse.ID
	return config, err
}
