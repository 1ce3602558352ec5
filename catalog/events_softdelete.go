package catalog

import (
	"encoding/json"
	"errors"
	"math"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// Types of the events by which what was dropped softly comes back, or ends
// because its time is over.
const (
	TypeNamespaceUndropped = TypePrefix + "namespace.undropped"
	TypeNamespaceExpired   = TypePrefix + "namespace.expired"
	TypeTableUndropped     = TypePrefix + "table.undropped"
	TypeTableExpired       = TypePrefix + "table.expired"
	TypeViewUndropped      = TypePrefix + "view.undropped"
	TypeViewExpired        = TypePrefix + "view.expired"
)

// MaxTree bounds the tables and views of a tree that is dropped softly, and its
// namespaces: one event tells of all of them.
const MaxTree = 10_000

func softDeleteKind(typ string) (kind, bool) {
	switch typ {
	case TypeNamespaceUndropped:
		return first(func() Event { return new(NamespaceUndropped) })
	case TypeNamespaceExpired:
		return first(func() Event { return new(NamespaceExpired) })
	case TypeTableUndropped:
		return first(func() Event { return new(TableUndropped) })
	case TypeTableExpired:
		return first(func() Event { return new(TableExpired) })
	case TypeViewUndropped:
		return first(func() Event { return new(ViewUndropped) })
	case TypeViewExpired:
		return first(func() Event { return new(ViewExpired) })
	}
	return kind{}, false
}

// Undropped gives a dropped table or view its life back, under the name that it
// had or another one. Its files, its id and its rights are what they were.
type Undropped struct {
	UUID             ids.ID // the table-uuid or view-uuid
	MetadataLocation string
	From, To         TableName // where it was dropped, and where it stands now
}

func (e *Undropped) fields(c *coder, uuid string) {
	c.id(uuid, &e.UUID)
	c.text("metadata-location", &e.MetadataLocation, MaxLocationBytes)
	c.object("from", e.From.fields)
	c.object("to", e.To.fields)
}

// Expired ends a dropped table or view whose time to come back is over. With
// PurgeRequested, which its drop fixed, a job deletes its files, and until then
// the claims stay.
type Expired struct {
	Ended
	PurgeRequested bool
	ClaimsReleased []string // all of the object's, none with PurgeRequested
}

func (e *Expired) fields(c *coder, uuid string) {
	e.Ended.fields(c, uuid)
	c.flag("purge-requested", &e.PurgeRequested)
	c.claims("claims-released", &e.ClaimsReleased)
}

// TableUndropped is [Undropped] of a table.
type TableUndropped struct{ Undropped }

// EventType implements [Event].
func (*TableUndropped) EventType() string { return TypeTableUndropped }

func (e *TableUndropped) fields(c *coder) { e.Undropped.fields(c, tableUUIDMember) }

// TableExpired is [Expired] of a table.
type TableExpired struct{ Expired }

// EventType implements [Event].
func (*TableExpired) EventType() string { return TypeTableExpired }

func (e *TableExpired) fields(c *coder) { e.Expired.fields(c, tableUUIDMember) }

// ViewUndropped is [Undropped] of a view.
type ViewUndropped struct{ Undropped }

// EventType implements [Event].
func (*ViewUndropped) EventType() string { return TypeViewUndropped }

func (e *ViewUndropped) fields(c *coder) { e.Undropped.fields(c, viewUUIDMember) }

// ViewExpired is [Expired] of a view.
type ViewExpired struct{ Expired }

// EventType implements [Event].
func (*ViewExpired) EventType() string { return TypeViewExpired }

func (e *ViewExpired) fields(c *coder) { e.Expired.fields(c, viewUUIDMember) }

// NewUndropped returns the event for the entity, nil if nothing of that kind is
// dropped softly by itself. The same holds for the one below.
func NewUndropped(entity Entity, e Undropped) Event {
	switch entity { //nolint:exhaustive // others have no files
	case EntityTable:
		return &TableUndropped{e}
	case EntityView:
		return &ViewUndropped{e}
	}
	return nil
}

// NewExpired returns the event for the entity.
func NewExpired(entity Entity, e Expired) Event {
	switch entity { //nolint:exhaustive // others have no files
	case EntityTable:
		return &TableExpired{e}
	case EntityView:
		return &ViewExpired{e}
	}
	return nil
}

// TreeNamespace is a namespace of a tree that is dropped or comes back as a whole.
type TreeNamespace struct {
	ID         ids.ID
	Namespace  Namespace
	Ancestors  []ids.ID        // parent namespaces, nearest first
	Properties json.RawMessage // object of strings
}

func (n *TreeNamespace) fields(c *coder) {
	c.id("id", &n.ID)
	c.levels("namespace", (*[]string)(&n.Namespace))
	c.idList("ancestors", &n.Ancestors)
	if len(n.Ancestors) > MaxLevels {
		c.fail("ancestors", "%d elements, at most %d are allowed", len(n.Ancestors), MaxLevels)
	}
	c.raw("properties", &n.Properties, isStringMap)
}

// TreeTabular is a table or view of such a tree. Its own stream has no event of
// this: that of the namespace speaks for it.
type TreeTabular struct {
	Kind             Entity // table or view
	ID               ids.ID
	NamespaceID      ids.ID
	Name             string
	UUID             ids.ID // the table-uuid or view-uuid
	MetadataLocation string
}

func (t *TreeTabular) fields(c *coder) {
	c.text("kind", (*string)(&t.Kind), MaxNameBytes)
	if t.Kind != EntityTable && t.Kind != EntityView {
		c.fail("kind", "neither table nor view")
	}
	c.id("id", &t.ID)
	c.id("namespace-id", &t.NamespaceID)
	c.text("name", &t.Name, MaxNameBytes)
	c.id("uuid", &t.UUID)
	c.text("metadata-location", &t.MetadataLocation, MaxLocationBytes)
}

// Tree is all that stands in a namespace, and the namespace itself.
type Tree struct {
	Namespaces []TreeNamespace // parents first: the first one is the root
	Tabulars   []TreeTabular
}

func (t *Tree) fields(c *coder) {
	c.objects("namespaces", len(t.Namespaces), MaxTree,
		func(n int) { t.Namespaces = make([]TreeNamespace, n) },
		func(i int, c *coder) { t.Namespaces[i].fields(c) })
	if len(t.Namespaces) == 0 {
		c.fail("namespaces", "empty")
	}
	c.objects("tabulars", len(t.Tabulars), MaxTree,
		func(n int) { t.Tabulars = make([]TreeTabular, n) },
		func(i int, c *coder) { t.Tabulars[i].fields(c) })
}

// SoftDrop is what a soft drop of a tree fixes for all that stands in it.
type SoftDrop struct {
	PurgeRequested bool
	ExpiresAtMS    int64 // end of the soft delete, milliseconds since 1970
	Tree
}

func (d *SoftDrop) fields(c *coder) {
	c.flag("purge-requested", &d.PurgeRequested)
	c.integer("expires-at-ms", &d.ExpiresAtMS, 0, math.MaxInt64)
	d.Tree.fields(c)
}

// NamespaceUndropped gives a namespace and all that was dropped with it its life
// back, perhaps under another name or parent.
type NamespaceUndropped struct {
	From, To Namespace
	Tree     // as it stands now; what left it meanwhile is not in it
}

// EventType implements [Event].
func (*NamespaceUndropped) EventType() string { return TypeNamespaceUndropped }

func (e *NamespaceUndropped) fields(c *coder) {
	c.levels("from", (*[]string)(&e.From))
	c.levels("to", (*[]string)(&e.To))
	e.Tree.fields(c)
}

// ExpiredTabular is a table or view that ends with its tree.
type ExpiredTabular struct {
	TreeTabular
	ClaimsReleased []string // all of the object's, none when its files are to be purged
}

func (t *ExpiredTabular) fields(c *coder) {
	t.TreeTabular.fields(c)
	c.claims("claims-released", &t.ClaimsReleased)
}

// NamespaceExpired ends a dropped tree whose time to come back is over.
type NamespaceExpired struct {
	Namespace      Namespace
	PurgeRequested bool
	Namespaces     []ids.ID // all of the tree
	Tabulars       []ExpiredTabular
}

// EventType implements [Event].
func (*NamespaceExpired) EventType() string { return TypeNamespaceExpired }

func (e *NamespaceExpired) fields(c *coder) {
	c.levels("namespace", (*[]string)(&e.Namespace))
	c.flag("purge-requested", &e.PurgeRequested)
	c.idList("namespaces", &e.Namespaces)
	if len(e.Namespaces) > MaxTree {
		c.fail("namespaces", "%d elements, at most %d are allowed", len(e.Namespaces), MaxTree)
	}
	c.objects("tabulars", len(e.Tabulars), MaxTree,
		func(n int) { e.Tabulars = make([]ExpiredTabular, n) },
		func(i int, c *coder) { e.Tabulars[i].fields(c) })
}

// optFlag is absent when false.
func (c *coder) optFlag(name string, b *bool) {
	if c.reading {
		value, ok := c.get(name, false)
		if ok && string(value) != "true" {
			c.fail(name, "not true")
		}
		*b = ok
		return
	}
	if *b && c.name(name) {
		c.out = append(c.out, "true"...)
	}
}

// optSoftDrop is absent when nil.
func (c *coder) optSoftDrop(name string, d **SoftDrop) {
	if c.reading {
		if _, ok := c.get(name, false); !ok {
			return
		}
		c.taken-- // object takes it again
		*d = new(SoftDrop)
	}
	if *d != nil {
		c.object(name, (*d).fields)
	}
}

// namespaceDroppedV1 lifts the first version, which knew no soft drop and did not
// say whether it was recursive.
func namespaceDroppedV1(data []byte) ([]byte, error) {
	list, err := members(data)
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		if m.name == "recursive" || m.name == "soft" {
			return nil, errors.New("version 1 has no member " + m.name)
		}
	}
	return data, nil
}
