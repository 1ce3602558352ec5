package catalog

import (
	"math"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// Types of the events by which dropped tables and views end for good.
const (
	TypeTablePurgeStarted = TypePrefix + "table.purge-started"
	TypeTablePurged       = TypePrefix + "table.purged"
	TypeTableSuperseded   = TypePrefix + "table.superseded"
	TypeViewPurgeStarted  = TypePrefix + "view.purge-started"
	TypeViewPurged        = TypePrefix + "view.purged"
	TypeViewSuperseded    = TypePrefix + "view.superseded"
)

// MaxReported bounds the locations that one event lists.
const MaxReported = 1000

// Reportable reports whether an event can hold a location that metadata names:
// metadata is client data and may name anything.
func Reportable(location string) bool { return checkText(location, MaxLocationBytes) == nil }

func purgeKind(typ string) (kind, bool) {
	switch typ {
	case TypeTablePurgeStarted:
		return first(func() Event { return new(TablePurgeStarted) })
	case TypeTablePurged:
		return first(func() Event { return new(TablePurged) })
	case TypeTableSuperseded:
		return first(func() Event { return new(TableSuperseded) })
	case TypeViewPurgeStarted:
		return first(func() Event { return new(ViewPurgeStarted) })
	case TypeViewPurged:
		return first(func() Event { return new(ViewPurged) })
	case TypeViewSuperseded:
		return first(func() Event { return new(ViewSuperseded) })
	}
	return kind{}, false
}

// Ended is the dropped table or view that an event of its end is about.
type Ended struct {
	TableName
	UUID             ids.ID // the table-uuid or view-uuid
	MetadataLocation string // the last one
}

func (e *Ended) fields(c *coder, uuid string) {
	e.TableName.fields(c)
	c.id(uuid, &e.UUID)
	c.text("metadata-location", &e.MetadataLocation, MaxLocationBytes)
}

// PurgeStarted commits before the first file is deleted: from now on nothing
// brings the object back.
type PurgeStarted struct {
	Ended
	// Everything says that all below the claims goes, also what the metadata does
	// not reach: each of them was vacant when it was claimed ([TableCreated]). Of
	// those that were, the rest goes in any case.
	Everything bool
	// KeepsData says that the data files stay: gc.enabled=false asks for that, or
	// the metadata, which might, cannot be read.
	KeepsData bool
	// Outside are files that the metadata reaches and that lie outside the
	// claims: they are somebody's, and stay. At most [MaxReported].
	Outside     []string
	OutsideMore bool // there are more of them, or not all was looked at
}

func (e *PurgeStarted) fields(c *coder, uuid string) {
	e.Ended.fields(c, uuid)
	c.flag("everything", &e.Everything)
	c.flag("keeps-data", &e.KeepsData)
	c.locations("outside", &e.Outside)
	c.flag("outside-more", &e.OutsideMore)
}

// Purged says that the files are gone.
type Purged struct {
	Ended
	// Deleted is the number of files that the last run of the job deleted; when
	// it was resumed, earlier runs deleted more.
	Deleted int64
	// Unreadable are metadata files below the claims that could not be read, so
	// that what they alone reach was not found. At most [MaxReported].
	Unreadable     []string
	ClaimsReleased []string // all of the object's
}

func (e *Purged) fields(c *coder, uuid string) {
	e.Ended.fields(c, uuid)
	c.integer("deleted", &e.Deleted, 0, math.MaxInt64)
	c.locations("unreadable", &e.Unreadable)
	c.claims("claims-released", &e.ClaimsReleased)
}

// Superseded says that another object was registered at the location of a
// dropped one, which ends without a file being deleted. It stands in the commit
// of that registration (design 4).
type Superseded struct {
	Ended
	By             ids.ID   // the object that was registered
	ClaimsReleased []string // all of the dropped object's
}

func (e *Superseded) fields(c *coder, uuid string) {
	e.Ended.fields(c, uuid)
	c.id("by", &e.By)
	c.claims("claims-released", &e.ClaimsReleased)
}

// locations codes locations as metadata spells them.
func (c *coder) locations(name string, list *[]string) {
	c.texts(name, list, 0, func(s string) error { return checkText(s, MaxLocationBytes) })
	if len(*list) > MaxReported {
		c.fail(name, "%d elements, at most %d are allowed", len(*list), MaxReported)
	}
}

const (
	tableUUIDMember = "table-uuid"
	viewUUIDMember  = "view-uuid"
)

// TablePurgeStarted is [PurgeStarted] of a table.
type TablePurgeStarted struct{ PurgeStarted }

// EventType implements [Event].
func (*TablePurgeStarted) EventType() string { return TypeTablePurgeStarted }

func (e *TablePurgeStarted) fields(c *coder) { e.PurgeStarted.fields(c, tableUUIDMember) }

// TablePurged is [Purged] of a table.
type TablePurged struct{ Purged }

// EventType implements [Event].
func (*TablePurged) EventType() string { return TypeTablePurged }

func (e *TablePurged) fields(c *coder) { e.Purged.fields(c, tableUUIDMember) }

// TableSuperseded is [Superseded] of a table.
type TableSuperseded struct{ Superseded }

// EventType implements [Event].
func (*TableSuperseded) EventType() string { return TypeTableSuperseded }

func (e *TableSuperseded) fields(c *coder) { e.Superseded.fields(c, tableUUIDMember) }

// ViewPurgeStarted is [PurgeStarted] of a view.
type ViewPurgeStarted struct{ PurgeStarted }

// EventType implements [Event].
func (*ViewPurgeStarted) EventType() string { return TypeViewPurgeStarted }

func (e *ViewPurgeStarted) fields(c *coder) { e.PurgeStarted.fields(c, viewUUIDMember) }

// ViewPurged is [Purged] of a view.
type ViewPurged struct{ Purged }

// EventType implements [Event].
func (*ViewPurged) EventType() string { return TypeViewPurged }

func (e *ViewPurged) fields(c *coder) { e.Purged.fields(c, viewUUIDMember) }

// ViewSuperseded is [Superseded] of a view.
type ViewSuperseded struct{ Superseded }

// EventType implements [Event].
func (*ViewSuperseded) EventType() string { return TypeViewSuperseded }

func (e *ViewSuperseded) fields(c *coder) { e.Superseded.fields(c, viewUUIDMember) }

// NewPurgeStarted returns the event for the entity, nil if nothing of that kind
// is ever purged. The same holds for the two below.
func NewPurgeStarted(entity Entity, e PurgeStarted) Event {
	switch entity { //nolint:exhaustive // others have no files
	case EntityTable:
		return &TablePurgeStarted{e}
	case EntityView:
		return &ViewPurgeStarted{e}
	}
	return nil
}

// NewPurged returns the event for the entity.
func NewPurged(entity Entity, e Purged) Event {
	switch entity { //nolint:exhaustive // others have no files
	case EntityTable:
		return &TablePurged{e}
	case EntityView:
		return &ViewPurged{e}
	}
	return nil
}

// NewSuperseded returns the event for the entity.
func NewSuperseded(entity Entity, e Superseded) Event {
	switch entity { //nolint:exhaustive // others have no files
	case EntityTable:
		return &TableSuperseded{e}
	case EntityView:
		return &ViewSuperseded{e}
	}
	return nil
}
