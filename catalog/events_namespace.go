package catalog

import (
	"encoding/json"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// Types of the events of namespaces.
const (
	TypeNamespaceCreated           = TypePrefix + "namespace.created"
	TypeNamespacePropertiesUpdated = TypePrefix + "namespace.properties-updated"
	TypeNamespaceDropped           = TypePrefix + "namespace.dropped"
)

// MaxPropertyBytes bounds the name of a property in a payload.
const MaxPropertyBytes = 64 << 10

// NamespaceCreated opens a namespace.
type NamespaceCreated struct {
	Namespace  Namespace
	Ancestors  []ids.ID        // parent namespaces, nearest first; empty at the top
	Properties json.RawMessage // object of strings, in the order of the request
}

// EventType implements [Event].
func (*NamespaceCreated) EventType() string { return TypeNamespaceCreated }

func (e *NamespaceCreated) fields(c *coder) {
	c.levels("namespace", (*[]string)(&e.Namespace))
	c.idList("ancestors", &e.Ancestors)
	if len(e.Ancestors) > MaxLevels {
		c.fail("ancestors", "%d elements, at most %d are allowed", len(e.Ancestors), MaxLevels)
	}
	c.raw("properties", &e.Properties, isStringMap)
}

// NamespacePropertiesUpdated replaces properties of a namespace.
type NamespacePropertiesUpdated struct {
	Namespace  Namespace
	Updated    json.RawMessage // what was set, an object of strings
	Removed    []string        // names that were removed
	Properties json.RawMessage // all properties afterwards
}

// EventType implements [Event].
func (*NamespacePropertiesUpdated) EventType() string { return TypeNamespacePropertiesUpdated }

func (e *NamespacePropertiesUpdated) fields(c *coder) {
	c.levels("namespace", (*[]string)(&e.Namespace))
	c.raw("updated", &e.Updated, isStringMap)
	c.texts("removed", &e.Removed, 0, propertyName)
	if repeats(e.Removed) {
		c.fail("removed", "an element occurs twice")
	}
	c.raw("properties", &e.Properties, isStringMap)
}

// propertyName accepts any text, the empty one too: Iceberg sets no rule.
func propertyName(s string) error {
	if s == "" {
		return nil
	}
	return checkText(s, MaxPropertyBytes)
}

// NamespaceDropped ends a namespace; or, with Soft, hides it and all that stands
// in it until it is undropped or its time is over.
type NamespaceDropped struct {
	Namespace Namespace
	// Recursive says that what stood in it was to go, too: each object by its own
	// event, or with Soft by this one. The first version did not tell.
	Recursive bool
	Soft      *SoftDrop // nil when dropped for good
}

// EventType implements [Event].
func (*NamespaceDropped) EventType() string { return TypeNamespaceDropped }

func (e *NamespaceDropped) fields(c *coder) {
	c.levels("namespace", (*[]string)(&e.Namespace))
	c.optFlag("recursive", &e.Recursive)
	c.optSoftDrop("soft", &e.Soft)
}
