package catalog

import (
	"encoding/json"
	"math"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// Types of the events of tables.
const (
	TypeTableCreated    = TypePrefix + "table.created"
	TypeTableCommitted  = TypePrefix + "table.committed"
	TypeTableRenamed    = TypePrefix + "table.renamed"
	TypeTableRegistered = TypePrefix + "table.registered"
	TypeTableDropped    = TypePrefix + "table.dropped"
)

// MaxLocationBytes bounds a location as a client spells it.
const MaxLocationBytes = 4096

// MaxSnapshots bounds the snapshots that one event describes; its updates hold
// all of them.
const MaxSnapshots = 100

// TableName is where a table stands.
type TableName struct {
	NamespaceID ids.ID
	Namespace   Namespace // spelled as the namespace was created
	Name        string    // spelled as the table was created
}

func (n *TableName) fields(c *coder) {
	c.id("namespace-id", &n.NamespaceID)
	c.levels("namespace", (*[]string)(&n.Namespace))
	c.text("name", &n.Name, MaxNameBytes)
}

// MetadataFile is one version of a table's metadata document.
type MetadataFile struct {
	MetadataLocation string   // as written into the pointer
	SHA256           [32]byte // of the document, uncompressed
	Size             int64    // bytes of the document, uncompressed
	Format           int      // Iceberg format version
}

func (m *MetadataFile) fields(c *coder) {
	c.text("metadata-location", &m.MetadataLocation, MaxLocationBytes)
	c.digest("metadata-sha256", &m.SHA256)
	c.integer("metadata-size", &m.Size, 1, math.MaxInt64)
	c.small("format-version", &m.Format, minFormat, maxFormat)
}

// Snapshot is a small summary of a snapshot that a commit added.
type Snapshot struct {
	ID             int64
	ParentID       *int64 // nil for the first
	SequenceNumber *int64 // nil in format version 1
	TimestampMS    int64
	Operation      string          // append, overwrite, replace, delete; may be empty in version 1
	Summary        json.RawMessage // object of strings: the counts of the spec's summary
}

func (s *Snapshot) fields(c *coder) {
	c.integer("snapshot-id", &s.ID, math.MinInt64, math.MaxInt64)
	c.optInteger("parent-snapshot-id", &s.ParentID, math.MinInt64, math.MaxInt64)
	c.optInteger("sequence-number", &s.SequenceNumber, 0, math.MaxInt64)
	c.integer("timestamp-ms", &s.TimestampMS, math.MinInt64, math.MaxInt64)
	c.optText("operation", &s.Operation, MaxNameBytes)
	c.raw("summary", &s.Summary, isStringMap)
}

func snapshotFields(c *coder, list *[]Snapshot) {
	c.objects("snapshots", len(*list), MaxSnapshots,
		func(n int) { *list = make([]Snapshot, n) },
		func(i int, c *coder) { (*list)[i].fields(c) })
}

// TableCreated opens a table that this server made. Request or Updates, and
// never both, say what its first document was built from.
type TableCreated struct {
	TableName
	TableUUID ids.ID
	Location  string // the table's base location, as in the document
	MetadataFile
	NowMS   int64           // the clock of the document, milliseconds since 1970
	Request json.RawMessage // CreateTableRequest of the spec, or nil
	Updates json.RawMessage // TableUpdates of a create by commit, or nil
	Claims  []string        // canonical location keys that the table owns from now on
	// Vacant are those of them that are the table's alone: their folder was
	// empty when it was claimed, or has a name that the server had just made up.
	// A purge clears them whole; below others lie files of others (law 5).
	Vacant []string
	// Snapshots that a create by commit (CTAS) brought along.
	Snapshots []Snapshot
}

// EventType implements [Event].
func (*TableCreated) EventType() string { return TypeTableCreated }

func (e *TableCreated) fields(c *coder) {
	e.TableName.fields(c)
	c.id("table-uuid", &e.TableUUID)
	c.text("location", &e.Location, MaxLocationBytes)
	e.MetadataFile.fields(c)
	c.integer("now-ms", &e.NowMS, 0, math.MaxInt64)
	c.optRaw("request", &e.Request, hasMembers("name", "schema"))
	c.optRaw("updates", &e.Updates, isArrayOf("action"))
	if (len(e.Request) == 0) == (len(e.Updates) == 0) {
		c.fail("request", "exactly one of request and updates is needed")
	}
	c.claims("claims", &e.Claims)
	c.vacant(&e.Vacant)
	snapshotFields(c, &e.Snapshots)
}

// TableCommitted moves a table to its next metadata document.
type TableCommitted struct {
	TableName
	TableUUID ids.ID
	Previous  string // metadata location before
	MetadataFile
	NowMS         int64           // the clock of the document, milliseconds since 1970
	Requirements  json.RawMessage // TableRequirements of the spec, as sent
	Updates       json.RawMessage // TableUpdates of the spec, as sent
	ClaimsAdded   []string
	ClaimsRemoved []string
	Vacant        []string // of those that were added; see [TableCreated]
	Snapshots     []Snapshot
}

// EventType implements [Event].
func (*TableCommitted) EventType() string { return TypeTableCommitted }

func (e *TableCommitted) fields(c *coder) {
	e.TableName.fields(c)
	c.id("table-uuid", &e.TableUUID)
	c.text("previous-metadata-location", &e.Previous, MaxLocationBytes)
	e.MetadataFile.fields(c)
	c.integer("now-ms", &e.NowMS, 0, math.MaxInt64)
	c.raw("requirements", &e.Requirements, isArrayOf("type"))
	c.raw("updates", &e.Updates, isArrayOf("action"))
	c.claims("claims-added", &e.ClaimsAdded)
	c.claims("claims-removed", &e.ClaimsRemoved)
	c.vacant(&e.Vacant)
	snapshotFields(c, &e.Snapshots)
}

// TableRenamed moves a table to another name, perhaps in another namespace of
// its warehouse. Its files stay where they are.
type TableRenamed struct {
	TableUUID ids.ID
	From, To  TableName
}

// EventType implements [Event].
func (*TableRenamed) EventType() string { return TypeTableRenamed }

func (e *TableRenamed) fields(c *coder) {
	c.id("table-uuid", &e.TableUUID)
	c.object("from", e.From.fields)
	c.object("to", e.To.fields)
}

// TableRegistered takes over an existing metadata document. It opens a stream,
// or, with Overwrites, replaces the state of a living table, which keeps its id
// and grants (design 4).
type TableRegistered struct {
	TableName
	TableUUID  ids.ID
	Location   string // the table's base location, as in the document
	Overwrites bool
	Previous   string // metadata location before; empty unless Overwrites
	MetadataFile
	ClaimsAdded   []string
	ClaimsRemoved []string
}

// EventType implements [Event].
func (*TableRegistered) EventType() string { return TypeTableRegistered }

func (e *TableRegistered) fields(c *coder) {
	e.TableName.fields(c)
	c.id("table-uuid", &e.TableUUID)
	c.text("location", &e.Location, MaxLocationBytes)
	c.flag("overwrites", &e.Overwrites)
	c.optText("previous-metadata-location", &e.Previous, MaxLocationBytes)
	if e.Overwrites != (e.Previous != "") {
		c.fail("previous-metadata-location", "present exactly if overwrites is true")
	}
	e.MetadataFile.fields(c)
	c.claims("claims-added", &e.ClaimsAdded)
	c.claims("claims-removed", &e.ClaimsRemoved)
}

// TableDropped ends a table's name. Its files are untouched: with
// PurgeRequested a job deletes them later, and until then the claims stay.
type TableDropped struct {
	TableName
	TableUUID        ids.ID
	MetadataLocation string // the last one
	PurgeRequested   bool
	ExpiresAtMS      *int64 // end of the soft delete, milliseconds since 1970; nil when dropped at once
	// ClaimsReleased are the canonical location keys that are free again:
	// all of them after a hard drop without purge, none while files are pending.
	ClaimsReleased []string
}

// Pending reports whether the object still holds its locations, because it may
// come back or because its files have to be deleted first.
func (e *TableDropped) Pending() bool { return e.ExpiresAtMS != nil || e.PurgeRequested }

// EventType implements [Event].
func (*TableDropped) EventType() string { return TypeTableDropped }

func (e *TableDropped) fields(c *coder) {
	e.TableName.fields(c)
	c.id("table-uuid", &e.TableUUID)
	c.text("metadata-location", &e.MetadataLocation, MaxLocationBytes)
	c.flag("purge-requested", &e.PurgeRequested)
	c.optInteger("expires-at-ms", &e.ExpiresAtMS, 0, math.MaxInt64)
	c.claims("claims-released", &e.ClaimsReleased)
}
