package catalog

import (
	"encoding/json"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// Types of the events of warehouses.
const (
	TypeWarehouseCreated               = TypePrefix + "warehouse.created"
	TypeWarehouseRenamed               = TypePrefix + "warehouse.renamed"
	TypeWarehouseActivated             = TypePrefix + "warehouse.activated"
	TypeWarehouseDeactivated           = TypePrefix + "warehouse.deactivated"
	TypeWarehouseDeleteProfileUpdated  = TypePrefix + "warehouse.delete-profile-updated"
	TypeWarehouseFormatVersionsUpdated = TypePrefix + "warehouse.format-versions-updated"
	TypeWarehouseProtectionUpdated     = TypePrefix + "warehouse.protection-updated"
	TypeWarehouseUndoWindowUpdated     = TypePrefix + "warehouse.undo-window-updated"
	TypeWarehouseDeleted               = TypePrefix + "warehouse.deleted"
)

// The Iceberg format versions that a payload may name. Wider than what the
// server supports today, so that a version 4 needs no new schema.
const minFormat, maxFormat = 1, 9

// MaxExpirationSeconds bounds how long a dropped object can be kept to come
// back: a hundred years.
const MaxExpirationSeconds = 100 * 366 * 24 * 3600

// WarehouseCreated opens a warehouse in a project. It drops for good until a
// [WarehouseDeleteProfileUpdated] says otherwise, which may stand in the same
// commit.
type WarehouseCreated struct {
	Project        ids.ID
	Name           string
	StorageProfile json.RawMessage // wire form, no secret in it
	DefaultFormat  int             // Iceberg format version of new tables
	AllowedFormats []int           // Iceberg format versions that tables may have
}

// EventType implements [Event].
func (*WarehouseCreated) EventType() string { return TypeWarehouseCreated }

func (e *WarehouseCreated) fields(c *coder) {
	c.id("project-id", &e.Project)
	c.text("name", &e.Name, MaxNameBytes)
	c.raw("storage-profile", &e.StorageProfile, hasMembers("type"))
	c.small("default-format-version", &e.DefaultFormat, minFormat, maxFormat)
	c.smalls("allowed-format-versions", &e.AllowedFormats, minFormat, maxFormat)
}

// WarehouseRenamed gives a warehouse another name in its project.
type WarehouseRenamed struct{ From, To string }

// EventType implements [Event].
func (*WarehouseRenamed) EventType() string { return TypeWarehouseRenamed }

func (e *WarehouseRenamed) fields(c *coder) {
	c.text("from", &e.From, MaxNameBytes)
	c.text("to", &e.To, MaxNameBytes)
}

// WarehouseActivated opens a warehouse to its clients again.
type WarehouseActivated struct{ Name string }

// EventType implements [Event].
func (*WarehouseActivated) EventType() string { return TypeWarehouseActivated }

func (e *WarehouseActivated) fields(c *coder) { c.text("name", &e.Name, MaxNameBytes) }

// WarehouseDeactivated hides a warehouse from its clients; nothing is lost.
type WarehouseDeactivated struct{ Name string }

// EventType implements [Event].
func (*WarehouseDeactivated) EventType() string { return TypeWarehouseDeactivated }

func (e *WarehouseDeactivated) fields(c *coder) { c.text("name", &e.Name, MaxNameBytes) }

// WarehouseDeleteProfileUpdated says what a drop in the warehouse means from
// now on. What was dropped before keeps what was fixed at its drop.
type WarehouseDeleteProfileUpdated struct {
	Name string
	// ExpirationSeconds is how long a dropped object can come back; nil means
	// that a drop is for good.
	ExpirationSeconds *int64
}

// EventType implements [Event].
func (*WarehouseDeleteProfileUpdated) EventType() string { return TypeWarehouseDeleteProfileUpdated }

func (e *WarehouseDeleteProfileUpdated) fields(c *coder) {
	c.text("name", &e.Name, MaxNameBytes)
	c.optInteger("expiration-seconds", &e.ExpirationSeconds, 0, MaxExpirationSeconds)
}

// WarehouseFormatVersionsUpdated says which Iceberg format versions new and
// upgraded tables may have from now on. Tables that are there may go on.
type WarehouseFormatVersionsUpdated struct {
	Name           string
	DefaultFormat  int
	AllowedFormats []int
}

// EventType implements [Event].
func (*WarehouseFormatVersionsUpdated) EventType() string { return TypeWarehouseFormatVersionsUpdated }

func (e *WarehouseFormatVersionsUpdated) fields(c *coder) {
	c.text("name", &e.Name, MaxNameBytes)
	c.small("default-format-version", &e.DefaultFormat, minFormat, maxFormat)
	c.smalls("allowed-format-versions", &e.AllowedFormats, minFormat, maxFormat)
}

// WarehouseProtectionUpdated says whether deleting the warehouse needs force.
type WarehouseProtectionUpdated struct {
	Name      string
	Protected bool
}

// EventType implements [Event].
func (*WarehouseProtectionUpdated) EventType() string { return TypeWarehouseProtectionUpdated }

func (e *WarehouseProtectionUpdated) fields(c *coder) {
	c.text("name", &e.Name, MaxNameBytes)
	c.flag("protected", &e.Protected)
}

// MaxUndoWindowSeconds bounds the undo window: a hundred years.
const MaxUndoWindowSeconds = MaxExpirationSeconds

// WarehouseUndoWindowUpdated says how long the metadata files of former states
// are kept in the warehouse: nothing that was a table's state within that time is
// cleaned up.
type WarehouseUndoWindowUpdated struct {
	Name string
	// UndoWindowSeconds is that time; nil means that the server's setting holds.
	UndoWindowSeconds *int64
}

// EventType implements [Event].
func (*WarehouseUndoWindowUpdated) EventType() string { return TypeWarehouseUndoWindowUpdated }

func (e *WarehouseUndoWindowUpdated) fields(c *coder) {
	c.text("name", &e.Name, MaxNameBytes)
	c.optInteger("undo-window-seconds", &e.UndoWindowSeconds, 0, MaxUndoWindowSeconds)
}

// WarehouseDeleted ends a warehouse that held nothing. Its storage is left as
// it is.
type WarehouseDeleted struct {
	Name   string
	Forced bool // it was protected
}

// EventType implements [Event].
func (*WarehouseDeleted) EventType() string { return TypeWarehouseDeleted }

func (e *WarehouseDeleted) fields(c *coder) {
	c.text("name", &e.Name, MaxNameBytes)
	c.flag("forced", &e.Forced)
}

// warehouseKind is what the codec knows of the events of warehouses.
func warehouseKind(typ string) (kind, bool) {
	switch typ {
	case TypeWarehouseCreated:
		return first(func() Event { return new(WarehouseCreated) })
	case TypeWarehouseRenamed:
		return first(func() Event { return new(WarehouseRenamed) })
	case TypeWarehouseActivated:
		return first(func() Event { return new(WarehouseActivated) })
	case TypeWarehouseDeactivated:
		return first(func() Event { return new(WarehouseDeactivated) })
	case TypeWarehouseDeleteProfileUpdated:
		return first(func() Event { return new(WarehouseDeleteProfileUpdated) })
	case TypeWarehouseFormatVersionsUpdated:
		return first(func() Event { return new(WarehouseFormatVersionsUpdated) })
	case TypeWarehouseProtectionUpdated:
		return first(func() Event { return new(WarehouseProtectionUpdated) })
	case TypeWarehouseUndoWindowUpdated:
		return first(func() Event { return new(WarehouseUndoWindowUpdated) })
	case TypeWarehouseDeleted:
		return first(func() Event { return new(WarehouseDeleted) })
	}
	return kind{}, false
}
