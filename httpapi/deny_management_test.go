package httpapi_test

import (
	"context"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/workers"
)

// administered has one request for each route of the management API: {w} stands
// for the id of the warehouse demo, {root} for the folder of warehouses. Each
// would succeed if it were allowed.
var administered = []struct{ route, path, body string }{
	{"GET /v1/info", "/v1/info", ""},
	{"POST /v1/bootstrap", "/v1/bootstrap", `{"accept-terms-of-use":true}`},
	{"POST /v1/endpoint-statistics", "/v1/endpoint-statistics", `{"warehouse":{"type":"all"}}`},
	{"GET /v1/project-list", "/v1/project-list", ""},
	{"GET /v1/project", "/v1/project", ""},
	{"POST /v1/project", "/v1/project", `{"project-name":"new"}`},
	{"DELETE /v1/project", "/v1/project", ""},
	{"POST /v1/project/rename", "/v1/project/rename", `{"new-name":"new"}`},
	{"GET /v1/project/{project_id}", "/v1/project/00000000-0000-0000-0000-000000000000", ""},
	{"DELETE /v1/project/{project_id}", "/v1/project/00000000-0000-0000-0000-000000000000", ""},
	{"POST /v1/project/{project_id}/rename", "/v1/project/00000000-0000-0000-0000-000000000000/rename", `{"new-name":"new"}`},
	{"GET /v1/warehouse", "/v1/warehouse", ""},
	{"POST /v1/warehouse", "/v1/warehouse", `{"warehouse-name":"new","storage-profile":{"type":"file","root":"file://{root}/new"}}`},
	{"GET /v1/warehouse/{warehouse_id}", "/v1/warehouse/{w}", ""},
	{"DELETE /v1/warehouse/{warehouse_id}", "/v1/warehouse/{w}", ""},
	{"POST /v1/warehouse/{warehouse_id}/rename", "/v1/warehouse/{w}/rename", `{"new-name":"renamed"}`},
	{"POST /v1/warehouse/{warehouse_id}/activate", "/v1/warehouse/{w}/activate", ""},
	{"POST /v1/warehouse/{warehouse_id}/deactivate", "/v1/warehouse/{w}/deactivate", ""},
	{"POST /v1/warehouse/{warehouse_id}/storage", "/v1/warehouse/{w}/storage", `{"storage-profile":{"type":"file","root":"file://{root}/demo"}}`},
	{"POST /v1/warehouse/{warehouse_id}/storage-credential", "/v1/warehouse/{w}/storage-credential", `{}`},
	{"POST /v1/warehouse/{warehouse_id}/delete-profile", "/v1/warehouse/{w}/delete-profile", `{"delete-profile":{"type":"soft","expiration-seconds":3600}}`},
	{"POST /v1/warehouse/{warehouse_id}/undo-window", "/v1/warehouse/{w}/undo-window", `{"undo-window-seconds":60}`},
	{"POST /v1/warehouse/{warehouse_id}/format-version-policy", "/v1/warehouse/{w}/format-version-policy", `{"allowed-format-versions":[2]}`},
	{"POST /v1/warehouse/{warehouse_id}/protection", "/v1/warehouse/{w}/protection", `{"protected":true}`},
	{"POST /v1/warehouse-creation-validation", "/v1/warehouse-creation-validation", `{"warehouse-name":"tried","storage-profile":{"type":"file","root":"file://{root}/tried"}}`},
	{"POST /v1/warehouse/{warehouse_id}/storage/validate-access", "/v1/warehouse/{w}/storage/validate-access", ""},
	{"POST /v1/warehouse/{warehouse_id}/storage/validate-profile", "/v1/warehouse/{w}/storage/validate-profile", `{"storage-profile":{"type":"file","root":"file://{root}/demo"}}`},
	{"POST /v1/warehouse/{warehouse_id}/storage/validate-credential", "/v1/warehouse/{w}/storage/validate-credential", `{}`},
	{"POST /v1/warehouse/{warehouse_id}/search-tabular", "/v1/warehouse/{w}/search-tabular", `{"search":"t"}`},
	{"GET /v1/warehouse/{warehouse_id}/statistics", "/v1/warehouse/{w}/statistics", ""},
	{"GET /v1/events/{event}", "/v1/events/{e}", ""},
	{"GET /v1/events/{event}/data", "/v1/events/{e}/data", ""},
	{"GET /v1/warehouse/{warehouse_id}/deleted-tabulars", "/v1/warehouse/{w}/deleted-tabulars", ""},
	{"GET /v1/warehouse/{warehouse_id}/deleted-namespaces", "/v1/warehouse/{w}/deleted-namespaces", ""},
	{"POST /v1/warehouse/{warehouse_id}/deleted-tabulars/undrop", "/v1/warehouse/{w}/deleted-tabulars/undrop", `{"targets":[{"type":"table","id":"{x}"}]}`},
	{"GET /v1/destinations", "/v1/destinations", ""},
	{"POST /v1/destinations", "/v1/destinations", `{"name":"new","kind":"log"}`},
	{"GET /v1/destinations/{destination}", "/v1/destinations/{d}", ""},
	{"POST /v1/destinations/{destination}", "/v1/destinations/{d}", `{"name":"renamed"}`},
	{"DELETE /v1/destinations/{destination}", "/v1/destinations/{d}", ""},
	{"POST /v1/destinations/{destination}/pause", "/v1/destinations/{d}/pause", ""},
	{"POST /v1/destinations/{destination}/resume", "/v1/destinations/{d}/resume", ""},
	{"POST /v1/destinations/{destination}/replay", "/v1/destinations/{d}/replay", `{"from":"beginning"}`},
	{"POST /v1/destinations/{destination}/skip", "/v1/destinations/{d}/skip", ""},
	{"GET /v1/destinations/{destination}/parked", "/v1/destinations/{d}/parked", ""},
	{"POST /v1/destinations/{destination}/parked/{position}/retry", "/v1/destinations/{d}/parked/7/retry", ""},
	{"POST /v1/warehouse/{warehouse_id}/task/list", "/v1/warehouse/{w}/task/list", `{"status":["SCHEDULED","STOPPING"],"queue-name":["tabular_purge"],"entities":[{"type":"warehouse"},{"type":"table","table-id":"{t}"}],"page-size":5}`},
	{"GET /v1/warehouse/{warehouse_id}/task/by-id/{task_id}", "/v1/warehouse/{w}/task/by-id/{task}?numAttempts=2", ""},
	{"POST /v1/warehouse/{warehouse_id}/task/control", "/v1/warehouse/{w}/task/control", `{"action":{"action-type":"run-at","scheduled-for":"2126-01-01T00:00:00Z"},"task-ids":["{task}"]}`},
	{"GET /v1/warehouse/{warehouse_id}/task-queue/tabular_purge/config", "/v1/warehouse/{w}/task-queue/tabular_purge/config", ""},
	{"POST /v1/warehouse/{warehouse_id}/task-queue/tabular_purge/config", "/v1/warehouse/{w}/task-queue/tabular_purge/config", `{"max-seconds-since-last-heartbeat":3600,"queue-config":{"files-per-second":20}}`},
	{"GET /v1/warehouse/{warehouse_id}/task-queue/soft_deletion/config", "/v1/warehouse/{w}/task-queue/soft_deletion/config", ""},
	{"POST /v1/warehouse/{warehouse_id}/task-queue/soft_deletion/config", "/v1/warehouse/{w}/task-queue/soft_deletion/config", `{"queue-config":{}}`},
	{"POST /v1/project/task/list", "/v1/project/task/list", `{"created-after":"2026-01-01T00:00:00Z"}`},
	{"GET /v1/project/task/by-id/{task_id}", "/v1/project/task/by-id/{log}", ""},
	{"POST /v1/project/task/control", "/v1/project/task/control", `{"action":{"action-type":"stop"},"task-ids":["{log}"]}`},
	{"GET /v1/project/task-queue/task_log_cleanup/config", "/v1/project/task-queue/task_log_cleanup/config", ""},
	{"POST /v1/project/task-queue/task_log_cleanup/config", "/v1/project/task-queue/task_log_cleanup/config", `{"queue-config":{"cleanup-period":"P2D","retention-period":"PT1H30M45.5S"}}`},
	{"GET /v1/warehouse/{warehouse_id}/namespace/{namespace_id}/protection", "/v1/warehouse/{w}/namespace/{n}/protection", ""},
	{"POST /v1/warehouse/{warehouse_id}/namespace/{namespace_id}/protection", "/v1/warehouse/{w}/namespace/{n}/protection", `{"protected":true}`},
	{"GET /v1/warehouse/{warehouse_id}/table/{table_id}/protection", "/v1/warehouse/{w}/table/{t}/protection", ""},
	{"POST /v1/warehouse/{warehouse_id}/table/{table_id}/protection", "/v1/warehouse/{w}/table/{t}/protection", `{"protected":true}`},
	{"GET /v1/warehouse/{warehouse_id}/view/{view_id}/protection", "/v1/warehouse/{w}/view/{v}/protection", ""},
	{"POST /v1/warehouse/{warehouse_id}/view/{view_id}/protection", "/v1/warehouse/{w}/view/{v}/protection", `{"protected":true}`},
}

const managementRoot = "/management"

// anyID is the first id that a statement finds, or one that nothing has.
func (s *stack) anyID(sql string) string {
	id := "0190a000-0000-7000-8000-0000000000ee"
	_ = s.db.App.QueryRow(context.Background(), sql+" LIMIT 1").Scan(&id) // no row leaves it
	return id
}

// jobs makes a task of the warehouse and one of the default project.
func (s *stack) jobs(t *testing.T) {
	t.Helper()
	s.dropTable(t, "purged", "?purgeRequested=true")
	_, err := s.db.App.Exec(t.Context(), `INSERT INTO river.river_job (kind, queue, args) VALUES ('task_log_cleanup', 'upkeep', $1::text::jsonb)`,
		`{"project":"`+catalog.DefaultProject.String()+`"}`)
	if err != nil {
		t.Fatal(err)
	}
}

// anyTask is the last task of a kind, or one that is not there.
func (s *stack) anyTask(kind string) string {
	var job int64 = 4711
	_ = s.db.App.QueryRow(context.Background(), "SELECT max(id) FROM river.river_job WHERE kind = $1", kind).Scan(&job)
	return workers.TaskID(job).String()
}

// managementRoutes names the routes as the server does.
func managementRoutes() []string {
	names := make([]string, len(administered))
	for i, a := range administered {
		names[i] = strings.Replace(a.route, " ", " "+managementRoot, 1)
	}
	return names
}

// managementRequests are the requests by the name of their route.
func managementRequests(s *stack) map[string][2]string {
	warehouse := strings.TrimPrefix(s.prefix, "/catalog/v1/")
	in := " AND warehouse_id = '" + warehouse + "'"
	fill := strings.NewReplacer("{w}", warehouse, "{root}", s.root,
		"{n}", s.anyID("SELECT namespace_id::text FROM rm.namespace WHERE name_fold1 = 'n'"+in),
		"{t}", s.anyID("SELECT tabular_id::text FROM rm.tabular WHERE kind = 'table'"+in),
		"{e}", s.anyID("SELECT event_id::text FROM es.log_entry"),
		"{d}", s.anyID("SELECT destination_id::text FROM rm.destination"),
		"{task}", s.anyTask("purge"), "{log}", s.anyTask("task_log_cleanup"),
		"{x}", s.anyID("SELECT object_id::text FROM rm.dropped WHERE expires_at IS NOT NULL"+in),
		"{v}", s.anyID("SELECT tabular_id::text FROM rm.tabular WHERE kind = 'view'"+in))
	asked := make(map[string][2]string, len(administered))
	for i, name := range managementRoutes() {
		asked[name] = [2]string{managementRoot + fill.Replace(administered[i].path), fill.Replace(administered[i].body)}
	}
	return asked
}

// softDropped drops a table so that it can come back; the warehouse drops for good
// again afterwards.
func (s *stack) softDropped(t *testing.T, namespace, name string) {
	t.Helper()
	expect(t, s.do("POST", s.prefix+"/namespaces/"+namespace+"/tables", create(name)), 200)
	expect(t, s.do("POST", s.warehouse()+"/delete-profile", `{"delete-profile":{"type":"soft","expiration-seconds":3600}}`), 200)
	expect(t, s.do("DELETE", s.prefix+"/namespaces/"+namespace+"/tables/"+name, ""), 204)
	expect(t, s.do("POST", s.warehouse()+"/delete-profile", `{"delete-profile":{"type":"hard"}}`), 200)
}
