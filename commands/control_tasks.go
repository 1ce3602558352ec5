package commands

import (
	"context"
	"errors"
	"time"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// TaskAction is what can be done with a task.
type TaskAction string

// The actions.
const (
	// TaskStop ends a run; the task rests and is taken up again.
	TaskStop TaskAction = "stop"
	// TaskCancel calls a task off for good. What it was for stays undone: the files
	// of a purge stay and its locations are free, a dropped object whose expiry is
	// called off comes back.
	TaskCancel TaskAction = "cancel"
	// TaskRunNow and TaskRunAt say when a task that waits, or that used up its
	// attempts, runs next.
	TaskRunNow TaskAction = "run-now"
	TaskRunAt  TaskAction = "run-at"
)

// MaxControlledTasks bounds one request.
const MaxControlledTasks = 100

// ControlTasks is POST …/task/control.
type ControlTasks struct {
	Warehouse ids.ID // Nil for tasks of a project
	Project   ids.ID // Nil means the default project
	Tasks     []ids.ID
	Action    TaskAction
	At        time.Time // of run-at
}

// TaskOwner is whose tasks are meant: a warehouse's, or else a project's own.
type TaskOwner struct{ Warehouse, Project ids.ID }

// ControlledTask is a task that somebody wants to be otherwise.
type ControlledTask struct {
	ID    ids.ID
	Queue string
	Open  bool           // it has not ended, or not well
	Kind  catalog.Entity // of the dropped object that it is about, if it is about one
	Drop  Expiry         // that object, and its drop
}

// TaskControl carries out what can be done with tasks; workers do it.
type TaskControl interface {
	// Controlled returns those of the tasks that are the owner's.
	Controlled(ctx context.Context, owner TaskOwner, tasks []ids.ID) ([]ControlledTask, error)
	// Stop ends runs. Those that do not run stay as they are. The same holds below
	// for what cannot be done with a task as it stands.
	Stop(ctx context.Context, tasks []ids.ID) error
	// Cancel calls tasks off, in the caller's name. It may come about later, when
	// nothing is at work for them any more.
	Cancel(ctx context.Context, call Call, tasks []ids.ID) error
	// Run has tasks run at a time, or at once if it is zero.
	Run(ctx context.Context, tasks []ids.ID, at time.Time) error
}

// ControlTasks does with tasks what the caller wants. They are the owner's, all of
// them, or nothing is done.
func (s *Service) ControlTasks(ctx context.Context, call Call, in ControlTasks) error {
	if in.Warehouse.IsNil() {
		in.Project = projectOf(in.Project)
		if _, _, err := s.project(ctx, call, in.Project, authz.ProjectControlTasks); err != nil {
			return err
		}
	} else if _, _, err := s.warehouse(ctx, call, in.Warehouse, authz.WarehouseControlAllTasks); err != nil {
		return err
	}
	switch {
	case len(in.Tasks) > MaxControlledTasks:
		return badRequest("Too many tasks: at most %d can be controlled in one request", MaxControlledTasks)
	case len(in.Tasks) == 0:
		return nil
	case s.deps.Tasks == nil:
		return &catalog.Error{Kind: catalog.Unsupported, Message: "This server controls no tasks"}
	}
	tasks, err := s.deps.Tasks.Controlled(ctx, TaskOwner{in.Warehouse, in.Project}, in.Tasks)
	if err != nil {
		return unavailable(err, "The tasks are not available")
	}
	known := make(map[ids.ID]bool, len(tasks))
	for _, t := range tasks {
		known[t.ID] = true
	}
	for _, id := range in.Tasks {
		if !known[id] {
			return &catalog.Error{Kind: catalog.NoSuchTask, Message: "Task does not exist: " + id.String()}
		}
	}
	switch in.Action {
	case TaskStop:
		err = s.deps.Tasks.Stop(ctx, in.Tasks)
	case TaskCancel:
		return s.cancelTasks(ctx, call, tasks)
	case TaskRunNow:
		if err := s.expireNow(ctx, call, tasks); err != nil {
			return err
		}
		err = s.deps.Tasks.Run(ctx, in.Tasks, time.Time{}) // of an expiry, to find that it is over
	case TaskRunAt:
		err = s.deps.Tasks.Run(ctx, in.Tasks, in.At)
	default:
		return badRequest("Unknown action: %s", in.Action)
	}
	if err != nil {
		return unavailable(err, "The tasks are not available")
	}
	return nil
}

// expireNow ends at once, in the caller's name, what was dropped softly and whose
// expiry is to run now.
func (s *Service) expireNow(ctx context.Context, call Call, tasks []ControlledTask) error {
	for i := range tasks {
		if !tasks[i].Open || tasks[i].Queue != catalog.QueueExpiry {
			continue
		}
		if err := s.expireFor(ctx, call, tasks[i].Drop, true); err != nil && !errors.Is(err, ErrExpiryOver) {
			return err
		}
	}
	return nil
}

// cancelTasks calls tasks off. An expiry that is called off gives the object its
// life back, all or none of them; that needs the rights of an undrop, too.
func (s *Service) cancelTasks(ctx context.Context, call Call, tasks []ControlledTask) error {
	var back Undrop
	for i := range tasks {
		if t := &tasks[i]; t.Open && t.Queue == catalog.QueueExpiry {
			back.Warehouse = t.Drop.Warehouse
			back.Targets = append(back.Targets, UndropTarget{Kind: t.Kind, Object: t.Drop.Object})
		}
	}
	if len(back.Targets) > 0 {
		if err := s.Undrop(ctx, call, back); err != nil {
			return err
		}
	}
	list := make([]ids.ID, len(tasks))
	for i, t := range tasks {
		list[i] = t.ID
	}
	if err := s.deps.Tasks.Cancel(ctx, call, list); err != nil {
		return unavailable(err, "The tasks are not available")
	}
	return nil
}
