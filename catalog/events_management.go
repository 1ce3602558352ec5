package catalog

import (
	"encoding/json"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// Types of the events above namespaces.
const (
	TypeServerBootstrapped = TypePrefix + "server.bootstrapped"
	TypeProjectCreated     = TypePrefix + "project.created"
	TypeWarehouseCreated   = TypePrefix + "warehouse.created"
)

// The Iceberg format versions that a payload may name. Wider than what the
// server supports today, so that a version 4 needs no new schema.
const minFormat, maxFormat = 1, 9

// ServerBootstrapped is the first event of a server's stream.
type ServerBootstrapped struct {
	TermsAccepted  bool
	DefaultProject ids.ID // project created in the same commit; Nil if none
}

// EventType implements [Event].
func (*ServerBootstrapped) EventType() string { return TypeServerBootstrapped }

func (e *ServerBootstrapped) fields(c *coder) {
	c.flag("terms-of-use-accepted", &e.TermsAccepted)
	c.optID("default-project-id", &e.DefaultProject)
}

// ProjectCreated opens a project.
type ProjectCreated struct{ Name string }

// EventType implements [Event].
func (*ProjectCreated) EventType() string { return TypeProjectCreated }

func (e *ProjectCreated) fields(c *coder) { c.text("name", &e.Name, MaxNameBytes) }

// WarehouseCreated opens a warehouse in a project.
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
