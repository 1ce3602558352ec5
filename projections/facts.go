package projections

import (
	"context"
	"time"

	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections/document"
)

// Query asks Resolve for one object by its path. Fields from the top down;
// what is empty is not asked for. A warehouse is named by id, or by project
// and name; only a query that has its id can ask for what is below.
type Query struct {
	Warehouse     ids.ID   // from the prefix of the route
	Project       ids.ID   // with WarehouseName: GET /v1/config
	WarehouseName string   // exact name, compared by folding
	Namespace     []string // levels as the client wrote them; nil asks for no namespace
	Name          string   // table or view in Namespace; empty asks for none
	Object        ids.ID   // a namespace, table or view of Warehouse by its id instead of its path (management, replay); Nil otherwise
	// Details asks for what a load of a table does not need: the project's name,
	// and levels, properties, version and mark of the namespace. A query without
	// Name or Object, which is about the namespace or what is above, gets them
	// in any case.
	Details bool
	// Spelling asks for the levels of the namespace as they were created: what a
	// commit's event needs. Details brings them too.
	Spelling bool
	// Hint is the mark of the object that this instance saw last: pointer and
	// document come back only when the mark is another (design 5).
	Hint ids.ID
}

// Facts is the answer to one [Query]: everything that a command or query
// decides on, as of one snapshot taken after the request arrived (law 4).
type Facts struct {
	Now       time.Time // the database's clock in that statement
	Server    ServerFacts
	Project   ProjectFacts
	Warehouse WarehouseFacts
	Namespace NamespaceFacts
	Table     TabularFacts
}

// ServerFacts are about the server's own stream.
type ServerFacts struct {
	ID           ids.ID
	Bootstrapped bool
}

// ProjectFacts are about a project; Exists is false when it is unknown.
type ProjectFacts struct {
	Exists    bool
	ID        ids.ID
	Name      string // with Details
	AuthzMark ids.ID // id of the last event that changed a right in it
}

// WarehouseFacts are about a warehouse; Exists is false when it is unknown.
// StorageProfile, AllowedFormats and ExpirationSeconds are shared and must not be written to.
type WarehouseFacts struct {
	Exists         bool
	ID             ids.ID
	Name           string
	Active         bool
	Version        int64  // guard
	Mark           ids.ID // guard
	StorageProfile []byte // JSON as in the event; immutable for one mark
	DefaultFormat  int    // format version of new tables
	AllowedFormats []int
	// ExpirationSeconds is how long what is dropped can come back; nil where a drop
	// is for good. Shared as well.
	ExpirationSeconds *int64
	UpdatedAt         time.Time
	Protected         bool
}

// NamespaceFacts are about a namespace; Exists is false when it is unknown.
type NamespaceFacts struct {
	Exists    bool
	ID        ids.ID
	Levels    []string // as created, with their case; with Details
	Version   int64    // with Details
	Mark      ids.ID   // with Details
	Protected bool
	// Ancestors are the parent namespaces, nearest first. Of a namespace that
	// does not exist they are the ancestors of its parent, which is ParentID.
	Ancestors []ids.ID
	// Properties as JSON object, verbatim from the event; with Details.
	Properties []byte
	// ParentExists says, of a namespace that does not exist and has several
	// levels, that all levels but the last do: ParentID is what a creation
	// holds. Of an existing namespace ParentID is its parent, Nil at the top.
	ParentExists bool
	ParentID     ids.ID
}

// TabularFacts are about a table or view; Exists is false when the name is
// free.
type TabularFacts struct {
	Exists    bool
	ID        ids.ID
	Kind      string // "table" or "view"
	Name      string // as created, with its case
	TableUUID string
	Version   int64
	Mark      ids.ID
	Protected bool
	// Fresh is true when Mark differs from the query's hint; only then are
	// Pointer and Document filled.
	Fresh   bool
	Pointer string
	// Document is the metadata document of (ID, Mark) from the database's cache,
	// or nil: then it has to be read from the store at Pointer.
	Document *document.Packed
}

// Resolver answers queries; implementations share one statement among the
// requests that wait at the same moment.
type Resolver interface {
	Resolve(ctx context.Context, queries ...Query) ([]Facts, error)
}
