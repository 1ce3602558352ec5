package projections

import "slices"

// Class says where the rows of a table come from and what may happen to them.
type Class int

// The classes (design 5).
const (
	Derived     Class = iota + 1 // from the log alone: rebuilt and compared
	Operational                  // never rebuilt: the log itself, fates, cursors, keys
	Cache                        // may be emptied at any time
	Followed                     // derived, but behind the log, by position: made anew and compared by [Follower]
)

// String returns the class's name.
func (c Class) String() string {
	switch c {
	case Derived:
		return "derived"
	case Operational:
		return "operational"
	case Cache:
		return "cache"
	case Followed:
		return "followed"
	}
	return "unclassified"
}

// Table is one entry of the registry.
type Table struct {
	Schema, Name string
	Class        Class
	Why          string
}

// Tables returns the registry: every table of the database, partitions under
// their parent, the migration tool's own table included.
func Tables() []Table {
	list := []Table{
		{"es", "commit", Operational, "fates of commits; half of them left no event"},
		{"es", "idempotency", Operational, "answers given to clients"},
		{"es", "event", Operational, "the log itself"},
		{"es", "partition", Operational, "where the log's partitions begin"},
		{"es", "log_entry", Operational, "the log's order, which nothing else holds"},
		{"es", "merkle_node", Operational, "proof of the log; verified by its own rules"},
		{"es", "log_head", Operational, "the sequencer's row"},
		{"es", "epoch", Operational, "histories of the log"},
		{"es", "checkpoint", Operational, "signatures given out"},
		{"es", "repair", Operational, "decisions of operators"},
		{"cache", "document", Cache, "metadata documents by object and mark"},
		{"ops", "metrics_report", Operational, "what engines measured, kept for a while"},
		{"ops", "cursor", Operational, "how far readers of the log have come"},
		{"ops", "purge_lease", Operational, "which run of a purge may delete"},
		{"ops", "cleaned", Operational, "when objects were cleaned up; without it they are looked at anew"},
		{"ops", "worker", Operational, "which processes live that run jobs"},
		{"ops", "endpoint_statistics", Operational, "what was asked of the server, counted in memory"},
		{"river", "river_job", Operational, "what is to be done; a sweep makes what is missing anew"},
		{"river", "river_leader", Operational, "which instance looks after the jobs"},
		{"river", "river_queue", Operational, "queues that somebody paused"},
		{"river", "river_notification", Operational, "unused: jobs are polled for"},
		{"river", "river_migration", Operational, "which of River's migrations the schema holds"},
		{"publish", "destination", Operational, "how far destinations have come, and whether they work"},
		{"publish", "parked", Operational, "events that a destination refused for good"},
		{"icecore_schema", "migration", Operational, "which migrations ran"},
		{"rm", "tabular_search", Followed, "trigrams of tables and views, for the search"},
		{"rm", "warehouse_statistics", Followed, "how many tables and views in each hour"},
	}
	for _, t := range derivedTables() {
		list = append(list, Table{t.schema, t.name, Derived, t.why})
	}
	return list
}

// column is a column of a derived table.
type column struct{ name, sqlType string }

// table describes a derived table well enough to write, replay and compare it.
type table struct {
	schema, name string
	why          string
	keys         int // the first columns are the primary key
	columns      []column
	// rank places the table's writes in the lock order of a commit (design 3.2).
	rank int
	// byObject says that the primary key begins with the object, the last of the
	// key columns here.
	byObject bool
	// inline is false for what is compared but never written by a projector.
	inline bool
	// unique are columns of unique keys that an event may change.
	unique []string
}

func (t *table) index(name string) int {
	return slices.IndexFunc(t.columns, func(c column) bool { return c.name == name })
}

// The derived tables. Their order is that of foreign keys: parents first.
var (
	serverTable = &table{
		schema: "rm", name: "server", why: "the server's own facts", keys: 1, rank: 1, inline: true,
		columns: []column{{"server_id", "uuid"}, {"one", "boolean"}, {"terms_accepted", "boolean"}, {"stream_version", "bigint"}},
	}
	projectTable = &table{
		schema: "rm", name: "project", why: "projects and the mark of their rights", keys: 1, rank: 2, inline: true,
		columns: []column{{"project_id", "uuid"}, {"name", "text"}, {"authz_mark", "uuid"}, {"stream_version", "bigint"}, {"ident", "text"}, {"queues", "text"}},
	}
	warehouseTable = &table{
		schema: "rm", name: "warehouse", why: "warehouses, their names and profiles", keys: 1, rank: 3, inline: true, unique: []string{"name_fold1"},
		columns: []column{
			{"warehouse_id", "uuid"}, {"project_id", "uuid"}, {"name", "text"}, {"name_fold1", "text"}, {"active", "boolean"},
			{"protected", "boolean"}, {"storage_profile", "text"}, {"default_format", "smallint"}, {"allowed_formats", "smallint[]"},
			{"updated_at", "timestamptz"}, {"stream_version", "bigint"}, {"expiration_seconds", "bigint"},
			{"queues", "text"}, {"undo_window_seconds", "bigint"},
		},
	}
	namespaceTable = &table{
		schema: "rm", name: "namespace", why: "namespaces, their paths and properties", keys: 3, byObject: true, rank: 4, inline: true,
		columns: []column{
			{"warehouse_id", "uuid"}, {"branch_id", "uuid"}, {"namespace_id", "uuid"}, {"parent_id", "uuid"}, {"ancestors", "uuid[]"},
			{"levels", "text[]"}, {"path_fold1", "text"}, {"name_fold1", "text"}, {"protected", "boolean"}, {"properties", "text"},
			{"stream_version", "bigint"},
		},
	}
	tabularTable = &table{
		schema: "rm", name: "tabular", why: "names of tables and views", keys: 3, byObject: true, rank: 5, inline: true, unique: []string{"name_fold1", "table_uuid"},
		columns: []column{
			{"warehouse_id", "uuid"}, {"branch_id", "uuid"}, {"tabular_id", "uuid"}, {"namespace_id", "uuid"}, {"kind", "text"},
			{"name", "text"}, {"name_fold1", "text"}, {"table_uuid", "uuid"}, {"protected", "boolean"}, {"stream_version", "bigint"},
		},
	}
	claimTable = &table{
		schema: "rm", name: "location_claim", why: "which object owns which location", keys: 4, rank: 0, inline: true,
		columns: []column{
			{"warehouse_id", "uuid"}, {"branch_id", "uuid"}, {"object_id", "uuid"}, {"location", "text"},
			{"covers", "rm.location_range"}, {"stream_version", "bigint"}, {"vacant", "boolean"},
		},
	}
	droppedTable = &table{
		schema: "rm", name: "dropped", why: "dropped objects that still hold locations", keys: 3, rank: 0, inline: true,
		columns: []column{
			{"warehouse_id", "uuid"}, {"branch_id", "uuid"}, {"object_id", "uuid"}, {"kind", "text"}, {"namespace_id", "uuid"},
			{"namespace", "text[]"}, {"name", "text"}, {"table_uuid", "uuid"}, {"metadata_location", "text"}, {"purge_requested", "boolean"},
			{"dropped_at", "timestamptz"}, {"expires_at", "timestamptz"}, {"drop_event", "uuid"}, {"stream_version", "bigint"},
			{"purging", "boolean"}, {"keeps_data", "boolean"}, {"drop_root", "uuid"},
		},
	}
	droppedNamespaceTable = &table{
		schema: "rm", name: "dropped_namespace", why: "namespaces that were dropped with all in them and can come back", keys: 3, byObject: true, rank: 0, inline: true,
		columns: []column{
			{"warehouse_id", "uuid"}, {"branch_id", "uuid"}, {"namespace_id", "uuid"}, {"drop_root", "uuid"}, {"parent_id", "uuid"},
			{"levels", "text[]"}, {"properties", "text"}, {"purge_requested", "boolean"}, {"dropped_at", "timestamptz"},
			{"expires_at", "timestamptz"}, {"drop_event", "uuid"}, {"stream_version", "bigint"},
		},
	}
	destinationTable = &table{
		schema: "rm", name: "destination", why: "where the log is published to", keys: 1, rank: 6, inline: true, unique: []string{"name_fold1"},
		columns: []column{
			{"destination_id", "uuid"}, {"name", "text"}, {"name_fold1", "text"}, {"kind", "text"}, {"settings", "text"}, {"filter", "text"},
			{"on_refusal", "text"}, {"paused", "boolean"}, {"start_epoch", "bigint"}, {"start_position", "bigint"}, {"start_version", "bigint"},
			{"stream_version", "bigint"},
		},
	}
	cleanUpTable = &table{
		schema: "rm", name: "clean_up", why: "files that are being deleted, which no registration may name", keys: 3, rank: 0, inline: true,
		columns: []column{
			{"warehouse_id", "uuid"}, {"branch_id", "uuid"}, {"clean_up_id", "uuid"}, {"object_id", "uuid"}, {"files", "uuid[]"}, {"stream_version", "bigint"},
		},
	}
	streamTable = &table{
		schema: "es", name: "stream", why: "the guards: version, pointer and mark", keys: 1,
		columns: []column{
			{"stream_id", "uuid"}, {"stream_type", "text"}, {"version", "bigint"}, {"pointer", "text"}, {"mark", "uuid"},
			{"dormant", "boolean"}, {"closed", "boolean"},
		},
	}
)

func derivedTables() []*table {
	return []*table{serverTable, projectTable, warehouseTable, namespaceTable, tabularTable, claimTable, droppedTable, droppedNamespaceTable, destinationTable, cleanUpTable, streamTable}
}
