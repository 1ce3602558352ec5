package commands

import (
	"encoding/json"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// Call is what accompanies every command: who asks, in which request, and the
// idempotency key if the client sent one.
type Call struct {
	Actor       authz.Actor
	RequestID   ids.ID
	TraceParent string       // W3C trace context, may be empty
	Idempotency *Idempotency // nil without an Idempotency-Key header
}

// Idempotency binds a client's key to one operation and payload. The same key
// with another digest is refused with 422.
type Idempotency struct {
	Key       ids.ID
	Operation string   // route name, e.g. "createTable"
	Digest    [32]byte // SHA-256 over operation, path and body
}

// Identifier names a table or view as the client wrote it.
type Identifier struct {
	Namespace []string
	Name      string
}

// CreateNamespace is POST {prefix}/namespaces.
type CreateNamespace struct {
	Warehouse  ids.ID
	Namespace  []string
	Properties map[string]string
}

// UpdateNamespaceProperties is POST {prefix}/namespaces/{namespace}/properties.
type UpdateNamespaceProperties struct {
	Warehouse ids.ID
	Namespace []string
	Removals  []string
	Updates   map[string]string
}

// DropNamespace is DELETE {prefix}/namespaces/{namespace}.
type DropNamespace struct {
	Warehouse ids.ID
	Namespace []string
	// Recursive drops all that stands in it, too.
	Recursive bool
	// Force drops what is protected.
	Force bool
	// PurgeRequested, with Recursive, has the files of all its tables and views
	// deleted by jobs.
	PurgeRequested bool
}

// CreateTable is POST {namespace}/tables, staged or not.
type CreateTable struct {
	Warehouse ids.ID
	Namespace []string
	Request   json.RawMessage // CreateTableRequest as sent; name and stage-create inside
}

// CommitTable is POST {namespace}/tables/{table}; with assert-create it
// creates.
type CommitTable struct {
	Warehouse    ids.ID
	Table        Identifier      // from the path; the body's identifier is ignored
	Requirements json.RawMessage // JSON array or empty
	Updates      json.RawMessage // JSON array or empty
}

// CommitTransaction is POST {prefix}/transactions/commit.
type CommitTransaction struct {
	Warehouse ids.ID
	Changes   []CommitTable // Warehouse of the items is ignored
}

// RenameTable is POST {prefix}/tables/rename.
type RenameTable struct {
	Warehouse           ids.ID
	Source, Destination Identifier
}

// RegisterTable is POST {namespace}/register.
type RegisterTable struct {
	Warehouse        ids.ID
	Namespace        []string
	Name             string
	MetadataLocation string
	Overwrite        bool
}

// DropTable is DELETE {namespace}/tables/{table}.
type DropTable struct {
	Warehouse      ids.ID
	Table          Identifier
	PurgeRequested bool // recorded in the event; a job acts on it
	Force          bool // drops a protected table
}

// ReportMetrics is POST {namespace}/tables/{table}/metrics.
type ReportMetrics struct {
	Warehouse ids.ID
	Table     Identifier
	Type      string          // member report-type
	Snapshot  *int64          // member snapshot-id; nil if not told
	Report    json.RawMessage // the object as sent; must not be changed any more
}

// UnregisterTable is POST {namespace}/tables/{table}/unregister.
type UnregisterTable struct {
	Warehouse ids.ID
	Table     Identifier
	Force     bool // forgets a protected table
}

// Bootstrap is POST /management/v1/bootstrap.
type Bootstrap struct {
	AcceptTermsOfUse bool
}

// CreateWarehouse is POST /management/v1/warehouse.
type CreateWarehouse struct {
	Project        ids.ID // Nil means the default project
	Name           string
	StorageProfile json.RawMessage
	// AllowedFormats and DefaultFormat are Iceberg format versions; empty and 0
	// mean all of 1 to 3, and 2.
	AllowedFormats []int
	DefaultFormat  int
	// ExpirationSeconds is how long a dropped object can come back; nil means
	// that a drop is for good.
	ExpirationSeconds *int64
}

// Namespace is the answer to namespace commands.
type Namespace struct {
	ID         ids.ID
	Levels     []string
	Properties json.RawMessage // JSON object
}

// PropertiesChanged is the answer to UpdateNamespaceProperties. All three are
// printed, empty or not (PyIceberg requires them).
type PropertiesChanged struct {
	Updated, Removed, Missing []string
}

// Table is the state of a table after a command: what LoadTableResult and
// CommitTableResponse are spliced from.
type Table struct {
	ID      ids.ID
	Mark    ids.ID // id of the event that made this state
	Pointer string // metadata location; empty for a staged create
	// Document is the metadata document, verbatim.
	Document []byte
	// Config is the table's client configuration (LoadTableResult.config).
	Config map[string]string
	// ETag is the quoted entity tag that a load of this state with the default
	// options would carry; empty for a staged create.
	ETag string
}

// Staged reports whether the table exists only in this answer (stage-create).
func (t Table) Staged() bool { return t.Pointer == "" }
