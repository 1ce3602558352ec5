package catalog

import (
	"encoding/json"
	"math"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// Types of the events of views.
const (
	TypeViewCreated    = TypePrefix + "view.created"
	TypeViewCommitted  = TypePrefix + "view.committed"
	TypeViewRenamed    = TypePrefix + "view.renamed"
	TypeViewRegistered = TypePrefix + "view.registered"
	TypeViewDropped    = TypePrefix + "view.dropped"
)

// ViewName is where a view stands. Views and tables share one name space.
type ViewName = TableName

// ViewFile is one version of a view's metadata document.
type ViewFile struct {
	MetadataFile
	CurrentVersion int // current-version-id in the document
}

func (f *ViewFile) fields(c *coder) {
	f.MetadataFile.fields(c)
	c.small("current-version-id", &f.CurrentVersion, math.MinInt32, math.MaxInt32)
}

// ViewCreated opens a view that this server made.
type ViewCreated struct {
	ViewName
	ViewUUID ids.ID
	Location string // the view's base location, as in the document
	ViewFile
	NowMS   int64           // the clock of the document, milliseconds since 1970
	Request json.RawMessage // CreateViewRequest of the spec
	Claims  []string        // canonical location keys that the view owns from now on
	Vacant  []string        // of these; see [TableCreated]
}

// EventType implements [Event].
func (*ViewCreated) EventType() string { return TypeViewCreated }

func (e *ViewCreated) fields(c *coder) {
	e.ViewName.fields(c)
	c.id("view-uuid", &e.ViewUUID)
	c.text("location", &e.Location, MaxLocationBytes)
	e.ViewFile.fields(c)
	c.integer("now-ms", &e.NowMS, 0, math.MaxInt64)
	c.raw("request", &e.Request, hasMembers("name", "schema", "view-version"))
	c.claims("claims", &e.Claims)
	c.vacant(&e.Vacant)
}

// ViewCommitted moves a view to its next metadata document: it was replaced, or
// its properties or location were changed.
type ViewCommitted struct {
	ViewName
	ViewUUID ids.ID
	Previous string // metadata location before
	ViewFile
	NowMS         int64           // the clock of the document, milliseconds since 1970
	Requirements  json.RawMessage // ViewRequirements of the spec, as sent
	Updates       json.RawMessage // ViewUpdates of the spec, as sent
	ClaimsAdded   []string
	ClaimsRemoved []string
	Vacant        []string // of those that were added; see [TableCreated]
}

// EventType implements [Event].
func (*ViewCommitted) EventType() string { return TypeViewCommitted }

func (e *ViewCommitted) fields(c *coder) {
	e.ViewName.fields(c)
	c.id("view-uuid", &e.ViewUUID)
	c.text("previous-metadata-location", &e.Previous, MaxLocationBytes)
	e.ViewFile.fields(c)
	c.integer("now-ms", &e.NowMS, 0, math.MaxInt64)
	c.raw("requirements", &e.Requirements, isArrayOf("type"))
	c.raw("updates", &e.Updates, isArrayOf("action"))
	c.claims("claims-added", &e.ClaimsAdded)
	c.claims("claims-removed", &e.ClaimsRemoved)
	c.vacant(&e.Vacant)
}

// ViewRenamed moves a view to another name, perhaps in another namespace of its
// warehouse. Its files stay where they are.
type ViewRenamed struct {
	ViewUUID ids.ID
	From, To ViewName
}

// EventType implements [Event].
func (*ViewRenamed) EventType() string { return TypeViewRenamed }

func (e *ViewRenamed) fields(c *coder) {
	c.id("view-uuid", &e.ViewUUID)
	c.object("from", e.From.fields)
	c.object("to", e.To.fields)
}

// ViewRegistered opens a view on an existing metadata document.
type ViewRegistered struct {
	ViewName
	ViewUUID ids.ID
	Location string // the view's base location, as in the document
	ViewFile
	Claims []string // canonical location keys that the view owns from now on
}

// EventType implements [Event].
func (*ViewRegistered) EventType() string { return TypeViewRegistered }

func (e *ViewRegistered) fields(c *coder) {
	e.ViewName.fields(c)
	c.id("view-uuid", &e.ViewUUID)
	c.text("location", &e.Location, MaxLocationBytes)
	e.ViewFile.fields(c)
	c.claims("claims", &e.Claims)
}

// ViewDropped ends a view's name. Its metadata files are untouched: with
// PurgeRequested a job deletes them later, and until then the claims stay.
type ViewDropped struct {
	ViewName
	ViewUUID         ids.ID
	MetadataLocation string // the last one
	PurgeRequested   bool
	ExpiresAtMS      *int64 // end of the soft delete, milliseconds since 1970; nil when dropped at once
	// ClaimsReleased are the canonical location keys that are free again: all of
	// them after a hard drop without purge, none while files are pending.
	ClaimsReleased []string
}

// Pending reports whether the view still holds its locations, because it may
// come back or because its files have to be deleted first.
func (e *ViewDropped) Pending() bool { return e.ExpiresAtMS != nil || e.PurgeRequested }

// EventType implements [Event].
func (*ViewDropped) EventType() string { return TypeViewDropped }

func (e *ViewDropped) fields(c *coder) {
	e.ViewName.fields(c)
	c.id("view-uuid", &e.ViewUUID)
	c.text("metadata-location", &e.MetadataLocation, MaxLocationBytes)
	c.flag("purge-requested", &e.PurgeRequested)
	c.optInteger("expires-at-ms", &e.ExpiresAtMS, 0, math.MaxInt64)
	c.claims("claims-released", &e.ClaimsReleased)
}
