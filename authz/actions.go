package authz

// Action names what a caller wants to do, in Lakekeeper's vocabulary.
type Action string

// The actions that today's routes ask for.
const (
	ServerGetInfo    Action = "server.get_info"
	ServerBootstrap  Action = "server.bootstrap"
	ServerGetMetrics Action = "server.get_metrics"

	ServerManageJobs    Action = "server.manage_jobs" // ours: the console of jobs
	ServerCreateProject Action = "server.create_project"
	ServerListProjects  Action = "server.list_projects"

	// All events of all projects go to a destination, so that it is the server's.
	ServerListDestinations   Action = "server.list_destinations"
	ServerManageDestinations Action = "server.manage_destinations"
	ServerReadEvents         Action = "server.read_events"

	ProjectGetMetadata           Action = "project.get_metadata"
	ProjectRename                Action = "project.rename"
	ProjectDelete                Action = "project.delete"
	ProjectGetEndpointStatistics Action = "project.get_endpoint_statistics"

	ProjectGetTasks              Action = "project.get_project_tasks"
	ProjectControlTasks          Action = "project.control_project_tasks"
	ProjectGetTaskQueueConfig    Action = "project.get_task_queue_config"
	ProjectModifyTaskQueueConfig Action = "project.modify_task_queue_config"

	ProjectCreateWarehouse Action = "project.create_warehouse"
	ProjectListWarehouses  Action = "project.list_warehouses"

	WarehouseDelete                 Action = "warehouse.delete"
	WarehouseRename                 Action = "warehouse.rename"
	WarehouseActivate               Action = "warehouse.activate"
	WarehouseDeactivate             Action = "warehouse.deactivate"
	WarehouseUpdateStorage          Action = "warehouse.update_storage"
	WarehouseModifySoftDeletion     Action = "warehouse.modify_soft_deletion"
	WarehouseSetFormatVersionPolicy Action = "warehouse.set_format_version_policy"
	WarehouseSetProtection          Action = "warehouse.set_protection"
	WarehouseGetEndpointStatistics  Action = "warehouse.get_endpoint_statistics"
	WarehouseUse                    Action = "warehouse.use"
	WarehouseGetAllTasks            Action = "warehouse.get_all_tasks"
	WarehouseControlAllTasks        Action = "warehouse.control_all_tasks"
	WarehouseGetTaskQueueConfig     Action = "warehouse.get_task_queue_config"
	WarehouseModifyTaskQueueConfig  Action = "warehouse.modify_task_queue_config"
	WarehouseListDeletedTabulars    Action = "warehouse.list_deleted_tabulars"

	WarehouseGetConfig       Action = "warehouse.get_config"
	WarehouseGetMetadata     Action = "warehouse.get_metadata"
	WarehouseListNamespaces  Action = "warehouse.list_namespaces"
	WarehouseCreateNamespace Action = "warehouse.create_namespace"

	NamespaceGetMetadata      Action = "namespace.get_metadata"
	NamespaceListNamespaces   Action = "namespace.list_namespaces"
	NamespaceCreateNamespace  Action = "namespace.create_namespace"
	NamespaceUpdateProperties Action = "namespace.update_properties"
	NamespaceDelete           Action = "namespace.delete"
	NamespaceUndrop           Action = "namespace.undrop"
	NamespaceSetProtection    Action = "namespace.set_protection"
	NamespaceListTables       Action = "namespace.list_tables"
	NamespaceCreateTable      Action = "namespace.create_table"
	NamespaceListViews        Action = "namespace.list_views"
	NamespaceCreateView       Action = "namespace.create_view"

	TableGetMetadata   Action = "table.get_metadata"
	TableReadData      Action = "table.read_data"
	TableWriteData     Action = "table.write_data"
	TableCommit        Action = "table.commit"
	TableSetProtection Action = "table.set_protection"
	TableRename        Action = "table.rename"
	TableDrop          Action = "table.drop"
	TableUndrop        Action = "table.undrop"

	ViewGetMetadata Action = "view.get_metadata"
	ViewCommit      Action = "view.commit"
	ViewRename      Action = "view.rename"
	ViewDrop        Action = "view.drop"
	ViewUndrop      Action = "view.undrop"

	ViewSetProtection Action = "view.set_protection"
)
