package projections

// Names of the constraints by which read models refuse a commit. A command
// maps those of an [eventstore.ConstraintError] to what the caller sees.
const (
	// ServerOneKey: the server is bootstrapped already.
	ServerOneKey = "server_one_key"
	// ProjectKey: a project of that id exists.
	ProjectKey = "project_pkey"
	// ProjectIdentKey: callers name another living project so.
	ProjectIdentKey = "project_ident_key"
	// WarehouseNameKey: the project has a warehouse of that name.
	WarehouseNameKey = "warehouse_name_key"
	// WarehouseProjectFK: the project is gone, or still has warehouses.
	WarehouseProjectFK = "warehouse_project_fk"
	// NamespacePathKey: the namespace exists.
	NamespacePathKey = "namespace_path_key"
	// NamespaceWarehouseFK: the warehouse is gone, or still has namespaces.
	NamespaceWarehouseFK = "namespace_warehouse_fk"
	// NamespaceParentFK: the parent is gone (create), or the namespace still has
	// child namespaces (drop).
	NamespaceParentFK = "namespace_parent_fk"
	// TabularNameKey: a table or view of that name exists in the namespace.
	TabularNameKey = "tabular_name_key"
	// TabularUUIDKey: another living table of the warehouse has that table-uuid.
	TabularUUIDKey = "tabular_uuid_key"
	// TabularNamespaceFK: the namespace is gone (create, rename), or still holds
	// tables or views (drop).
	TabularNamespaceFK = "tabular_namespace_fk"
	// DroppedNamespaceVacant: something that was dropped softly can come back into
	// the namespace (drop).
	DroppedNamespaceVacant = "dropped_namespace_vacant"
	// DroppedWarehouseFK: the warehouse holds what was dropped softly, or whose
	// files are still to be deleted (delete).
	DroppedWarehouseFK = "dropped_warehouse_fk"
	// DroppedNamespaceWarehouseFK: the same for dropped trees.
	DroppedNamespaceWarehouseFK = "dropped_namespace_warehouse_fk"
	// DestinationNameKey: another destination has that name.
	DestinationNameKey = "destination_name_key"
	// LocationClaimOverlap: the location lies below, above or at one that
	// another object owns, in any warehouse of the same store.
	LocationClaimOverlap = "location_claim_overlap"
)
