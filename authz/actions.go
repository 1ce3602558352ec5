package authz

// Action names what a caller wants to do, in Lakekeeper's vocabulary.
type Action string

// The actions that today's routes ask for.
const (
	ServerGetInfo    Action = "server.get_info"
	ServerBootstrap  Action = "server.bootstrap"
	ServerGetMetrics Action = "server.get_metrics"

	ProjectCreateWarehouse Action = "project.create_warehouse"
	ProjectListWarehouses  Action = "project.list_warehouses"

	WarehouseGetConfig       Action = "warehouse.get_config"
	WarehouseGetMetadata     Action = "warehouse.get_metadata"
	WarehouseListNamespaces  Action = "warehouse.list_namespaces"
	WarehouseCreateNamespace Action = "warehouse.create_namespace"

	NamespaceGetMetadata      Action = "namespace.get_metadata"
	NamespaceListNamespaces   Action = "namespace.list_namespaces"
	NamespaceCreateNamespace  Action = "namespace.create_namespace"
	NamespaceUpdateProperties Action = "namespace.update_properties"
	NamespaceDelete           Action = "namespace.delete"
	NamespaceListTables       Action = "namespace.list_tables"
	NamespaceCreateTable      Action = "namespace.create_table"
	NamespaceListViews        Action = "namespace.list_views"
	NamespaceCreateView       Action = "namespace.create_view"

	TableGetMetadata Action = "table.get_metadata"
	TableReadData    Action = "table.read_data"
	TableWriteData   Action = "table.write_data"
	TableCommit      Action = "table.commit"
	TableRename      Action = "table.rename"
	TableDrop        Action = "table.drop"

	ViewGetMetadata Action = "view.get_metadata"
	ViewCommit      Action = "view.commit"
	ViewRename      Action = "view.rename"
	ViewDrop        Action = "view.drop"
)
