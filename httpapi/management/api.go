package management

import (
	"net/http"
	"slices"

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
	// ErrorModel gives an error that is part of an answer its status and type.
	ErrorModel func(err error) (status int, name, message string)
}

// API serves the routes.
type API struct{ deps Deps }

// New returns the API on its dependencies.
func New(deps Deps) *API { return &API{deps: deps} }

// Routes returns what is served, templates below /management.
func (a *API) Routes() []wire.Route {
	return append([]wire.Route{
		{Method: http.MethodGet, Template: "/v1/info", Operation: "getServerInfo", Handle: a.getInfo},
		{Method: http.MethodPost, Template: "/v1/bootstrap", Operation: "bootstrap", Handle: a.bootstrap},
		{Method: http.MethodPost, Template: "/v1/endpoint-statistics", Operation: "getEndpointStatistics", Handle: a.endpointStatistics},
		{Method: http.MethodGet, Template: "/v1/project-list", Operation: "listProjects", Handle: a.listProjects},
		{Method: http.MethodGet, Template: "/v1/project", Operation: "getProject", Handle: a.getProject},
		{Method: http.MethodPost, Template: "/v1/project", Operation: "createProject", Handle: a.createProject},
		{Method: http.MethodDelete, Template: "/v1/project", Operation: "deleteProject", Handle: a.deleteProject},
		{Method: http.MethodPost, Template: "/v1/project/rename", Operation: "renameProject", Handle: a.renameProject},
		{Method: http.MethodGet, Template: "/v1/project/{project_id}", Operation: "getProjectById", Handle: a.getProject},
		{Method: http.MethodDelete, Template: "/v1/project/{project_id}", Operation: "deleteProjectById", Handle: a.deleteProject},
		{Method: http.MethodPost, Template: "/v1/project/{project_id}/rename", Operation: "renameProjectById", Handle: a.renameProject},
		{Method: http.MethodGet, Template: "/v1/warehouse", Operation: "listWarehouses", Handle: a.listWarehouses},
		{Method: http.MethodPost, Template: "/v1/warehouse", Operation: "createWarehouse", Handle: a.createWarehouse},
		{Method: http.MethodGet, Template: "/v1/warehouse/{warehouse_id}/table/{table_id}/metrics-reports", Operation: "listMetricsReports", Handle: a.listMetricsReports},
		{Method: http.MethodPost, Template: "/v1/warehouse-creation-validation", Operation: "validateWarehouse", Handle: a.validateWarehouse},
		{Method: http.MethodPost, Template: "/v1/warehouse/{warehouse_id}/storage/validate-access", Operation: "validateStorageAccess", Handle: a.validateAccess},
		{Method: http.MethodPost, Template: "/v1/warehouse/{warehouse_id}/storage/validate-profile", Operation: "validateStorageProfile", Handle: a.validateProfile},
		{Method: http.MethodPost, Template: "/v1/warehouse/{warehouse_id}/storage/validate-credential", Operation: "validateStorageCredential", Handle: a.validateCredential},
		{Method: http.MethodGet, Template: "/v1/warehouse/{warehouse_id}", Operation: "getWarehouse", Handle: a.getWarehouse},
		{Method: http.MethodDelete, Template: "/v1/warehouse/{warehouse_id}", Operation: "deleteWarehouse", Handle: a.deleteWarehouse},
		{Method: http.MethodPost, Template: "/v1/warehouse/{warehouse_id}/rename", Operation: "renameWarehouse", Handle: a.renameWarehouse},
		{Method: http.MethodPost, Template: "/v1/warehouse/{warehouse_id}/activate", Operation: "activateWarehouse", Handle: a.activateWarehouse},
		{Method: http.MethodPost, Template: "/v1/warehouse/{warehouse_id}/deactivate", Operation: "deactivateWarehouse", Handle: a.deactivateWarehouse},
		{Method: http.MethodPost, Template: "/v1/warehouse/{warehouse_id}/storage", Operation: "updateStorageProfile", Handle: a.updateStorage},
		{Method: http.MethodPost, Template: "/v1/warehouse/{warehouse_id}/storage-credential", Operation: "updateStorageCredential", Handle: a.updateCredential},
		{Method: http.MethodPost, Template: "/v1/warehouse/{warehouse_id}/delete-profile", Operation: "updateWarehouseDeleteProfile", Handle: a.updateDeleteProfile},
		{Method: http.MethodPost, Template: "/v1/warehouse/{warehouse_id}/undo-window", Operation: "setUndoWindow", Handle: a.setUndoWindow},
		{Method: http.MethodPost, Template: "/v1/warehouse/{warehouse_id}/format-version-policy", Operation: "updateWarehouseFormatVersionPolicy", Handle: a.updateFormatVersions},
		{Method: http.MethodPost, Template: "/v1/warehouse/{warehouse_id}/protection", Operation: "setWarehouseProtection", Handle: a.setWarehouseProtection},
		{Method: http.MethodPost, Template: "/v1/warehouse/{warehouse_id}/search-tabular", Operation: "searchTabular", Handle: a.searchTabular},
		{Method: http.MethodGet, Template: "/v1/warehouse/{warehouse_id}/statistics", Operation: "getWarehouseStatistics", Handle: a.warehouseStatistics},
	}, slices.Concat(a.protectionRoutes(), a.deletedRoutes(), a.destinationRoutes(), a.eventRoutes(), a.taskRoutes())...)
}

// project finds the project that a request is about: that of the path, of the
// header x-project-id, its old spelling, or the deprecated member or parameter
// given. Without any, and with an empty header, it is the default project.
func (a *API) project(r *http.Request, deprecated string) (ids.ID, error) {
	segment, err := wire.DecodeSegment(r.PathValue("project_id"))
	if err != nil {
		return ids.Nil, err
	}
	for _, text := range []string{segment, wire.ProjectHeader(r), deprecated} {
		if text != "" {
			wire.InfoOf(r.Context()).Project = text
			return a.deps.Queries.ProjectID(r.Context(), text)
		}
	}
	return catalog.DefaultProject, nil
}
