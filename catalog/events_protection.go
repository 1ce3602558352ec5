package catalog

// Types of the events about the protection of namespaces, tables and views.
const (
	TypeNamespaceProtectionUpdated = TypePrefix + "namespace.protection-updated"
	TypeTableProtectionUpdated     = TypePrefix + "table.protection-updated"
	TypeViewProtectionUpdated      = TypePrefix + "view.protection-updated"
)

// NamespaceProtectionUpdated says whether dropping the namespace needs force.
type NamespaceProtectionUpdated struct {
	Namespace Namespace
	Protected bool
}

// EventType implements [Event].
func (*NamespaceProtectionUpdated) EventType() string { return TypeNamespaceProtectionUpdated }

func (e *NamespaceProtectionUpdated) fields(c *coder) {
	c.levels("namespace", (*[]string)(&e.Namespace))
	c.flag("protected", &e.Protected)
}

// TabularProtection is what the events about the protection of tables and of
// views hold.
type TabularProtection struct {
	TableName
	Protected bool
}

func (e *TabularProtection) fields(c *coder) {
	e.TableName.fields(c)
	c.flag("protected", &e.Protected)
}

// TableProtectionUpdated says whether dropping the table needs force.
type TableProtectionUpdated struct{ TabularProtection }

// EventType implements [Event].
func (*TableProtectionUpdated) EventType() string { return TypeTableProtectionUpdated }

// ViewProtectionUpdated says whether dropping the view needs force.
type ViewProtectionUpdated struct{ TabularProtection }

// EventType implements [Event].
func (*ViewProtectionUpdated) EventType() string { return TypeViewProtectionUpdated }

// protectionKind is what the codec knows of the events about protection.
func protectionKind(typ string) (kind, bool) {
	switch typ {
	case TypeNamespaceProtectionUpdated:
		return first(func() Event { return new(NamespaceProtectionUpdated) })
	case TypeTableProtectionUpdated:
		return first(func() Event { return new(TableProtectionUpdated) })
	case TypeViewProtectionUpdated:
		return first(func() Event { return new(ViewProtectionUpdated) })
	}
	return kind{}, false
}
