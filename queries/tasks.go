package queries

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// TaskStatus is what a task stands at.
type TaskStatus string

// The statuses, as the management API spells them.
const (
	TaskRunning   TaskStatus = "RUNNING"
	TaskScheduled TaskStatus = "SCHEDULED"
	TaskStopping  TaskStatus = "STOPPING"
	TaskCancelled TaskStatus = "CANCELLED"
	TaskSuccess   TaskStatus = "SUCCESS"
	TaskFailed    TaskStatus = "FAILED" // it used up its attempts
)

// TaskStatuses are all of them.
func TaskStatuses() []TaskStatus {
	return []TaskStatus{TaskRunning, TaskScheduled, TaskStopping, TaskCancelled, TaskSuccess, TaskFailed}
}

// Task is what the server does later or by itself, as others see it.
type Task struct {
	ID        ids.ID
	Queue     string
	Warehouse ids.ID // Nil for what is no warehouse's
	Project   string // id by which callers name it; empty if it is unknown
	Kind      catalog.Entity
	Object    ids.ID   // the table or view that it is about, Nil for none
	Name      []string // of that object, at its drop
	Status    TaskStatus
	Attempt   int // runs that were begun and not cut short
	Done      int64
	Total     int64 // 0 while it is not known
	Progress  float64

	CreatedAt, ScheduledFor     time.Time
	PickedUpAt, SeenAt, EndedAt time.Time // zero for never
	Data                        json.RawMessage
	Failures                    []TaskFailure // of earlier attempts, the newest first
}

// TaskFailure is an attempt that failed.
type TaskFailure struct {
	Attempt int       `json:"attempt"`
	At      time.Time `json:"at"`
	Message string    `json:"error"`
}

// TaskFilter chooses among tasks. Empty lists and zero times choose all.
type TaskFilter struct {
	Warehouse     ids.ID // its tasks; Nil: those of the project itself
	Project       ids.ID
	Statuses      []TaskStatus
	Queues        []string
	Objects       []ids.ID
	Whole         bool // those about no object of the warehouse, beside those objects
	CreatedAfter  time.Time
	CreatedBefore time.Time
	Before        ids.ID // those that were made before this one; Nil for the newest
	ID            ids.ID // this one alone; Nil for all
}

// TaskLister reads tasks; workers do it.
type TaskLister interface {
	// Tasks returns up to limit tasks, newest first.
	Tasks(ctx context.Context, f TaskFilter, limit int) ([]Task, error)
}

// Tasks is a page of tasks.
type Tasks struct {
	Tasks []Task
	Next  string // token of the next page; empty on the last
}

func noSuchTask(id ids.ID) error {
	return &catalog.Error{Kind: catalog.NoSuchTask, Message: "Task does not exist: " + id.String()}
}

// tasksOf resolves whose tasks are asked for and asks for the right to see them.
func (s *Service) tasksOf(ctx context.Context, actor authz.Actor, warehouse, project ids.ID, onWarehouse, onProject authz.Action) (owner ids.ID, err error) {
	if warehouse.IsNil() {
		f, err := s.resolve(ctx, projections.Query{Project: projectOf(project)})
		if err != nil {
			return ids.Nil, err
		}
		if err := authz.Check(ctx, s.deps.Authorizer, actor, subject.Project(f), onProject, noSuchProject()); err != nil {
			return ids.Nil, err
		}
		if !f.Project.Exists {
			return ids.Nil, noSuchProject()
		}
		return f.Project.ID, nil
	}
	f, err := s.resolve(ctx, projections.Query{Warehouse: warehouse})
	if err != nil {
		return ids.Nil, err
	}
	if err := authz.Check(ctx, s.deps.Authorizer, actor, subject.Warehouse(f), onWarehouse, noSuchWarehouse()); err != nil {
		return ids.Nil, err
	}
	if !f.Warehouse.Exists {
		return ids.Nil, noSuchWarehouse()
	}
	return warehouse, nil
}

// ListTasks lists the tasks of a warehouse, active or not, or those of a project
// itself. It pages always.
func (s *Service) ListTasks(ctx context.Context, actor authz.Actor, filter TaskFilter, page Page) (Tasks, error) {
	owner, err := s.tasksOf(ctx, actor, filter.Warehouse, filter.Project, authz.WarehouseGetAllTasks, authz.ProjectGetTasks)
	if err != nil {
		return Tasks{}, err
	}
	if filter.Warehouse.IsNil() {
		filter.Project = owner
	}
	if err := checkTaskFilter(filter); err != nil {
		return Tasks{}, err
	}
	l := listing{name: "tasks/" + filter.name(), actor: actor, of: owner}
	size, after, err := s.opened(l, page)
	if err != nil {
		return Tasks{}, err
	}
	if after != "" {
		if filter.Before, err = ids.Parse(after); err != nil {
			return Tasks{}, &catalog.Error{Kind: catalog.BadRequest, Message: "Invalid page token", Cause: err}
		}
	}
	if s.deps.Tasks == nil {
		return Tasks{}, nil
	}
	list, err := s.deps.Tasks.Tasks(ctx, filter, size+1)
	if err != nil {
		return Tasks{}, unavailable(err)
	}
	out := Tasks{Tasks: list}
	if len(list) > size {
		out.Tasks = list[:size]
		out.Next = s.tokens.seal(list[size-1].ID.String(), bind(actor, l.name, owner))
	}
	return out, nil
}

// maxTaskObjects bounds the objects that one list can be about.
const maxTaskObjects = 1000

func checkTaskFilter(f TaskFilter) error {
	if len(f.Objects) > maxTaskObjects {
		return &catalog.Error{Kind: catalog.BadRequest, Message: "Too many entities: at most " + strconv.Itoa(maxTaskObjects) + " can be asked for"}
	}
	return nil
}

// name binds a page token to what was asked for.
func (f *TaskFilter) name() string {
	var b strings.Builder
	for _, s := range f.Statuses {
		b.WriteString(string(s) + ",")
	}
	b.WriteString("/" + strings.Join(f.Queues, ",") + "/")
	for _, o := range f.Objects {
		b.WriteString(o.String())
	}
	b.WriteString(strconv.FormatBool(f.Whole))
	for _, at := range []time.Time{f.CreatedAfter, f.CreatedBefore} {
		b.WriteString("/" + strconv.FormatInt(at.UnixMicro(), 10))
	}
	return b.String()
}

// GetTask returns one task of a warehouse, or of a project itself.
func (s *Service) GetTask(ctx context.Context, actor authz.Actor, warehouse, project, task ids.ID) (Task, error) {
	owner, err := s.tasksOf(ctx, actor, warehouse, project, authz.WarehouseGetAllTasks, authz.ProjectGetTasks)
	if err != nil {
		return Task{}, err
	}
	filter := TaskFilter{Warehouse: warehouse, ID: task}
	if warehouse.IsNil() {
		filter.Project = owner
	}
	if s.deps.Tasks == nil || task.IsNil() {
		return Task{}, noSuchTask(task)
	}
	list, err := s.deps.Tasks.Tasks(ctx, filter, 1)
	if err != nil {
		return Task{}, unavailable(err)
	}
	if len(list) == 0 {
		return Task{}, noSuchTask(task)
	}
	return list[0], nil
}

// QueueSettings returns what a warehouse, or a project, wants of a queue.
func (s *Service) QueueSettings(ctx context.Context, actor authz.Actor, warehouse, project ids.ID, queue string) (catalog.QueueSettings, error) {
	owner, err := s.tasksOf(ctx, actor, warehouse, project, authz.WarehouseGetTaskQueueConfig, authz.ProjectGetTaskQueueConfig)
	if err != nil {
		return catalog.QueueSettings{}, err
	}
	queues, err := s.details.Queues(ctx, owner)
	if err != nil {
		return catalog.QueueSettings{}, unavailable(err)
	}
	return queues[queue], nil
}
