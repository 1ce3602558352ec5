package icebergrest

import (
	"net/http"
	"strings"
	"time"

	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/queries"
)

// Deps are what the routes need.
type Deps struct {
	Commands *commands.Service
	Queries  *queries.Service
	// DefaultWarehouse answers config requests that name none; may be empty.
	DefaultWarehouse string
	// MaxBody bounds a request body, in bytes, compressed or not.
	MaxBody int64
	// DiscardReports says that metrics reports are not kept; config then asks
	// clients to send none.
	DiscardReports bool
	// IdempotencyLifetime is advertised by config.
	IdempotencyLifetime time.Duration
}

// API serves the routes.
type API struct {
	deps   Deps
	routes []wire.Route
	// settled is the part of a config answer that is the same for all
	// warehouses, from the comma before "endpoints" to the last brace.
	settled []byte
}

// New returns the API on its dependencies.
func New(deps Deps) *API {
	a := &API{deps: deps}
	a.routes = []wire.Route{
		// The busiest paths first: they are tried in this order.
		{Method: http.MethodGet, Template: tablePath, Operation: "loadTable", Handle: a.loadTable},
		{Method: http.MethodPost, Template: tablePath, Operation: "updateTable", Handle: a.commitTable},
		{Method: http.MethodDelete, Template: tablePath, Operation: "dropTable", Handle: a.dropTable},
		{Method: http.MethodHead, Template: tablePath, Operation: "tableExists", Handle: a.tableExists},

		{Method: http.MethodGet, Template: tablesPath, Operation: "listTables", Handle: a.listTables},
		{Method: http.MethodPost, Template: tablesPath, Operation: "createTable", Handle: a.createTable},

		{Method: http.MethodGet, Template: namespacePath, Operation: "loadNamespaceMetadata", Handle: a.loadNamespace},
		{Method: http.MethodHead, Template: namespacePath, Operation: "namespaceExists", Handle: a.namespaceExists},
		{Method: http.MethodDelete, Template: namespacePath, Operation: "dropNamespace", Handle: a.dropNamespace},

		{Method: http.MethodGet, Template: namespacesPath, Operation: "listNamespaces", Handle: a.listNamespaces},
		{Method: http.MethodPost, Template: namespacesPath, Operation: "createNamespace", Handle: a.createNamespace},

		{Method: http.MethodPost, Template: namespacePath + "/properties", Operation: "updateProperties", Handle: a.updateProperties},
		{Method: http.MethodPost, Template: namespacePath + "/register", Operation: "registerTable", Handle: a.registerTable},
		{Method: http.MethodPost, Template: prefixed + "tables/rename", Operation: "renameTable", Handle: a.renameTable},
		{Method: http.MethodPost, Template: prefixed + "transactions/commit", Operation: "commitTransaction", Handle: a.commitTransaction},

		{Method: http.MethodPost, Template: tablePath + "/unregister", Operation: "unregisterTable", Handle: a.unregisterTable},
		{Method: http.MethodPost, Template: tablePath + "/metrics", Operation: "reportMetrics", Handle: a.reportMetrics},
		{Method: http.MethodGet, Template: tablePath + "/credentials", Operation: "loadCredentials", Handle: a.loadCredentials},
		{Method: http.MethodGet, Template: namespacePath + "/functions", Operation: "listFunctions", Handle: a.listFunctions},
		{Method: http.MethodGet, Template: namespacePath + "/functions/{function}", Operation: "loadFunction", Handle: a.loadFunction},

		{Method: http.MethodPost, Template: "/v1/oauth/tokens", Operation: "getToken", Handle: a.getToken},
		{Method: http.MethodGet, Template: configPath, Operation: operationConfig, Handle: a.getConfig},
	}
	a.routes = append(a.routes, a.viewRoutes()...)
	a.settled = settledConfig(a.Endpoints(), deps.IdempotencyLifetime)
	return a
}

// Templates as the specification spells them.
const (
	configPath      = "/v1/config"
	operationConfig = "getConfig"

	prefixed       = "/v1/{prefix}/" // what belongs to one warehouse
	namespacesPath = prefixed + "namespaces"
	namespacePath  = namespacesPath + "/{namespace}"
	tablesPath     = namespacePath + "/tables"
	tablePath      = tablesPath + "/{table}"
)

// Routes returns what is served, templates below /catalog.
func (a *API) Routes() []wire.Route { return a.routes }

// Endpoints returns what config advertises: every route of a warehouse, as
// verb, one space and template (iceberg-rest 1.3). Config itself and the token
// endpoint, which only refuses, are not among them.
func (a *API) Endpoints() []string {
	var endpoints []string
	for _, route := range a.routes {
		if strings.HasPrefix(route.Template, prefixed) {
			endpoints = append(endpoints, route.Method+" "+route.Template)
		}
	}
	return endpoints
}

// request reads the body of a mutation and what accompanies its command.
func (a *API) request(r *http.Request) (wire.Object, []byte, commands.Call, error) {
	body, err := wire.ReadBody(r, a.deps.MaxBody)
	if err != nil {
		return wire.Object{}, nil, commands.Call{}, err
	}
	object, err := wire.ParseObject(body)
	if err != nil {
		return wire.Object{}, nil, commands.Call{}, err
	}
	call, err := wire.Call(r, body)
	return object, body, call, err
}

// page reads the paging parameters of a list.
func page(q wire.Query) (queries.Page, error) {
	token, size, err := q.Page()
	return queries.Page{Token: token, Size: size}, err
}
