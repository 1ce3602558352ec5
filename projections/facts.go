package projections

import (
	"context"
	"time"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// Query asks Resolve for one object by its path. Fields from the top down;
// what is empty is not asked for. A warehouse is named by id, or by project
// and name.
type Query struct {
	Warehouse     ids.ID   // from the prefix of the route
	Project       ids.ID   // with WarehouseName: GET /v1/config
	WarehouseName string   // exact name, compared by folding
	Namespace     []string // levels as the client wrote them; nil asks for no namespace
	Name          string   // table or view in Namespace; empty asks for none
	Object        ids.ID   // an object by its id instead of its path (management, replay); Nil otherwise
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

// ServerFacts: the server's own stream.
type ServerFacts struct {
	ID           ids.ID
	Bootstrapped bool
}

// ProjectFacts: Exists is false when the project is unknown.
type ProjectFacts struct {
	Exists    bool
	ID        ids.ID
	Name      string
	AuthzMark ids.ID // id of the last event that changed a right in it
}

// WarehouseFacts: Exists is false when the warehouse is unknown.
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
	UpdatedAt      time.Time
	Protected      bool
}

// NamespaceFacts: Exists is false when the namespace is unknown.
type NamespaceFacts struct {
	Exists    bool
	ID        ids.ID
	Levels    []string // as created, with their case
	Ancestors []ids.ID // parent namespaces, nearest first
	Version   int64
	Mark      ids.ID
	Protected bool
	// Properties as JSON object, verbatim from the read model.
	Properties []byte
	// Parent is the deepest existing ancestor-by-path when the namespace itself
	// does not exist, so that creation can hold it: true ParentExists means all
	// levels but the last exist.
	ParentExists bool
	ParentID     ids.ID
}

// TabularFacts: Exists is false when the name is free.
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
	// Document is the cached stored form of the metadata document for (ID,
	// Mark), or nil: then it has to be read from the store at Pointer.
	Document []byte
}

// Resolver answers queries; implementations share one statement among the
// requests that wait at the same moment.
type Resolver interface {
	Resolve(ctx context.Context, queries ...Query) ([]Facts, error)
}
