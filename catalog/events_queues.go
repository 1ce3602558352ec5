package catalog

import "encoding/json"

// Types of the events of tasks: of the settings of their queues, and of purges
// that were called off.
const (
	TypeWarehouseQueueConfigured = TypePrefix + "warehouse.queue-configured"
	TypeProjectQueueConfigured   = TypePrefix + "project.queue-configured"
	TypeTablePurgeCancelled      = TypePrefix + "table.purge-cancelled"
	TypeViewPurgeCancelled       = TypePrefix + "view.purge-cancelled"
)

// QueueConfigured changes the settings of one queue.
type QueueConfigured struct {
	Name   string          // of the warehouse or project
	Queue  string          // whose settings were changed
	Queues json.RawMessage // settings of all its queues from now on: [Queues]
}

func (e *QueueConfigured) fields(c *coder, queues []string) {
	c.text("name", &e.Name, MaxNameBytes)
	c.text("queue", &e.Queue, MaxNameBytes)
	c.raw("queues", &e.Queues, checkQueues(queues))
}

// WarehouseQueueConfigured is [QueueConfigured] of a warehouse.
type WarehouseQueueConfigured struct{ QueueConfigured }

// EventType implements [Event].
func (*WarehouseQueueConfigured) EventType() string { return TypeWarehouseQueueConfigured }

func (e *WarehouseQueueConfigured) fields(c *coder) { e.QueueConfigured.fields(c, WarehouseQueues()) }

// ProjectQueueConfigured is [QueueConfigured] of a project.
type ProjectQueueConfigured struct{ QueueConfigured }

// EventType implements [Event].
func (*ProjectQueueConfigured) EventType() string { return TypeProjectQueueConfigured }

func (e *ProjectQueueConfigured) fields(c *coder) { e.QueueConfigured.fields(c, ProjectQueues()) }

// PurgeCancelled says that a purge was called off: the files that are left stay,
// and the locations are free.
type PurgeCancelled struct {
	Ended
	Started        bool     // files may be gone
	ClaimsReleased []string // all of the object's
}

func (e *PurgeCancelled) fields(c *coder, uuid string) {
	e.Ended.fields(c, uuid)
	c.flag("started", &e.Started)
	c.claims("claims-released", &e.ClaimsReleased)
}

// TablePurgeCancelled is [PurgeCancelled] of a table.
type TablePurgeCancelled struct{ PurgeCancelled }

// EventType implements [Event].
func (*TablePurgeCancelled) EventType() string { return TypeTablePurgeCancelled }

func (e *TablePurgeCancelled) fields(c *coder) { e.PurgeCancelled.fields(c, tableUUIDMember) }

// ViewPurgeCancelled is [PurgeCancelled] of a view.
type ViewPurgeCancelled struct{ PurgeCancelled }

// EventType implements [Event].
func (*ViewPurgeCancelled) EventType() string { return TypeViewPurgeCancelled }

func (e *ViewPurgeCancelled) fields(c *coder) { e.PurgeCancelled.fields(c, viewUUIDMember) }

// NewPurgeCancelled returns the event for the entity, nil if nothing of that kind
// is ever purged.
func NewPurgeCancelled(entity Entity, e PurgeCancelled) Event {
	switch entity { //nolint:exhaustive // others have no files
	case EntityTable:
		return &TablePurgeCancelled{e}
	case EntityView:
		return &ViewPurgeCancelled{e}
	}
	return nil
}

// queueKind is what the codec knows of the events above.
func queueKind(typ string) (kind, bool) {
	switch typ {
	case TypeWarehouseQueueConfigured:
		return first(func() Event { return new(WarehouseQueueConfigured) })
	case TypeProjectQueueConfigured:
		return first(func() Event { return new(ProjectQueueConfigured) })
	case TypeTablePurgeCancelled:
		return first(func() Event { return new(TablePurgeCancelled) })
	case TypeViewPurgeCancelled:
		return first(func() Event { return new(ViewPurgeCancelled) })
	}
	return kind{}, false
}
