package catalog

import "github.com/icecore-catalog/icecore/internal/ids"

// Entity names a kind of stream: one life of one object (design 3.1). It is
// the stream type, the first half of an event's subject and the second part of
// its type.
type Entity string

// The entities that have events today.
const (
	EntityServer      Entity = "server"
	EntityProject     Entity = "project"
	EntityWarehouse   Entity = "warehouse"
	EntityNamespace   Entity = "namespace"
	EntityTable       Entity = "table"
	EntityView        Entity = "view"
	EntityDestination Entity = "destination"
	EntityCleanUp     Entity = "cleanup" // one round of deletions below one table or view
	EntityLog         Entity = "log"
)

var (
	// MainBranch is the one branch of every warehouse today. Keys of read models
	// begin with (warehouse, branch), so that another branch needs no migration.
	MainBranch = ids.MustParse("00000000-0000-7000-8000-0000000000b1")

	// DefaultProject is the project that bootstrap creates. On the management
	// wire it appears as the nil UUID, as in Lakekeeper.
	DefaultProject = ids.MustParse("00000000-0000-7000-8000-0000000000d0")
)
