package workers

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/queries"
)

var (
	//go:embed sql/tasks.sql
	tasksSQL string
	//go:embed sql/controlled.sql
	controlledSQL string
	//go:embed sql/task_stop.sql
	taskStopSQL string
	//go:embed sql/task_run.sql
	taskRunSQL string
	//go:embed sql/task_cancel.sql
	taskCancelSQL string
)

// taskQueues are the kinds of jobs that are tasks for others to see, and the
// queues that they are in for them. Other kinds are the server's own business.
var taskQueues = map[string]string{
	PurgeArgs{}.Kind():   catalog.QueuePurge,
	ExpireArgs{}.Kind():  catalog.QueueExpiry,
	CleanArgs{}.Kind():   catalog.QueueDocuments,
	taskLogArgs{}.Kind(): catalog.QueueTaskLog,
}

// queueNames are spellings of a queue's name, with those that Lakekeeper had
// before.
var queueNames = map[string]string{"tabular_expiration": catalog.QueueExpiry}

// moreAttempts is how often a task that used up its attempts is tried when
// somebody runs it again.
const moreAttempts = 5

// Tasks shows jobs to others, and does with them what others want. It needs no
// worker: any instance can.
type Tasks struct{ pool *pgxpool.Pool }

// NewTasks returns the tasks on a pool of the application role, on the primary.
func NewTasks(pool *pgxpool.Pool) *Tasks { return &Tasks{pool} }

// TaskQueues are the queues that tasks can be in, by name.
func TaskQueues() []string {
	return slices.Compact(slices.Sorted(maps.Values(taskQueues)))
}

// scopes say whose tasks are listed. Each is a statement of its own, so that each
// has its index.
const (
	scopeMark      = "TRUE /* scope */"
	scopeWarehouse = "j.args ->> 'warehouse' = $2 AND j.args ? 'warehouse'"
	scopeProject   = "NOT j.args ? 'warehouse' AND j.args ->> 'project' = $2"
	scopeAll       = "$2::text IS NULL"
)

// Tasks implements [queries.TaskLister].
func (t *Tasks) Tasks(ctx context.Context, f queries.TaskFilter, limit int) ([]queries.Task, error) {
	if f.Warehouse.IsNil() {
		return t.list(ctx, scopeProject, f.Project.String(), f, limit)
	}
	return t.list(ctx, scopeWarehouse, f.Warehouse.String(), f, limit)
}

// All returns tasks of all warehouses and projects.
func (t *Tasks) All(ctx context.Context, f queries.TaskFilter, limit int) ([]queries.Task, error) {
	return t.list(ctx, scopeAll, nil, f, limit)
}

func (t *Tasks) list(ctx context.Context, scope string, owner any, f queries.TaskFilter, limit int) ([]queries.Task, error) {
	var before, exact any
	for _, id := range []struct {
		from ids.ID
		to   *any
	}{{f.Before, &before}, {f.ID, &exact}} {
		if id.from.IsNil() {
			continue
		}
		job, ok := jobOf(id.from)
		if !ok {
			return nil, nil
		}
		*id.to = job
	}
	rows, err := t.pool.Query(ctx, strings.Replace(tasksSQL, scopeMark, scope, 1),
		[16]byte(catalog.MainBranch), owner, kindsOf(f.Queues), texts(f.Statuses), moment(f.CreatedAfter), moment(f.CreatedBefore),
		idTexts(f.Objects), before, exact, f.Whole, limit)
	if err != nil {
		return nil, fmt.Errorf("list tasks: %w", err)
	}
	list, err := pgx.CollectRows(rows, scanTask)
	if err != nil {
		return nil, fmt.Errorf("list tasks: %w", err)
	}
	return list, nil
}

func scanTask(row pgx.CollectableRow) (t queries.Task, err error) {
	var (
		job                      int64
		kind, args, errs, typ    string
		pickedUp, seen, finished *time.Time
	)
	if err := row.Scan(&job, &kind, &args, (*string)(&t.Status), &t.Attempt, &t.CreatedAt, &t.ScheduledFor, &pickedUp, &seen, &finished,
		&t.Done, &t.Total, &errs, &t.Project, &typ, &t.Name); err != nil {
		return t, err
	}
	t.ID, t.Queue, t.Kind, t.Data = TaskID(job), taskQueues[kind], catalog.Entity(typ), json.RawMessage(args)
	about, err := argsOf(args)
	if err != nil {
		return t, err
	}
	t.Warehouse, t.Object = about.Warehouse, about.Object
	t.CreatedAt, t.ScheduledFor = t.CreatedAt.UTC(), t.ScheduledFor.UTC()
	for at, to := range map[*time.Time]*time.Time{pickedUp: &t.PickedUpAt, seen: &t.SeenAt, finished: &t.EndedAt} {
		if at != nil {
			*to = at.UTC()
		}
	}
	t.Progress = Progress{t.Done, t.Total}.Fraction()
	if t.Status == queries.TaskSuccess {
		t.Progress = 1
	}
	if err := json.Unmarshal([]byte(errs), &t.Failures); err != nil {
		return t, fmt.Errorf("read the failures of a job: %w", err)
	}
	slices.Reverse(t.Failures)
	return t, nil
}

// taskArgs are the members that the arguments of tasks may have.
type taskArgs struct {
	Warehouse ids.ID `json:"warehouse"`
	Object    ids.ID `json:"object"`
	Drop      ids.ID `json:"drop"`
}

func argsOf(text string) (a taskArgs, err error) {
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return a, fmt.Errorf("read the arguments of a job: %w", err)
	}
	return a, nil
}

// kindsOf are the kinds of jobs that are in queues, all tasks without any.
func kindsOf(queues []string) []string {
	kinds := []string{}
	for kind, queue := range taskQueues {
		if len(queues) == 0 || slices.ContainsFunc(queues, func(name string) bool {
			if now, old := queueNames[name]; old {
				name = now
			}
			return name == queue
		}) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

func texts[T ~string](list []T) any {
	if len(list) == 0 {
		return nil
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

func idTexts(list []ids.ID) any {
	if len(list) == 0 {
		return nil
	}
	out := make([]string, len(list))
	for i, id := range list {
		out[i] = id.String()
	}
	return out
}

func moment(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return at
}

// Controlled implements [commands.TaskControl].
func (t *Tasks) Controlled(ctx context.Context, owner commands.TaskOwner, tasks []ids.ID) ([]commands.ControlledTask, error) {
	var warehouse any
	if !owner.Warehouse.IsNil() {
		warehouse = owner.Warehouse.String()
	}
	rows, err := t.pool.Query(ctx, controlledSQL, jobsOf(tasks), kindsOf(nil), warehouse, owner.Project.String())
	if err != nil {
		return nil, fmt.Errorf("find tasks: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c commands.ControlledTask, err error) {
		var job int64
		var kind, args string
		if err := row.Scan(&job, &kind, &args, &c.Open, (*string)(&c.Kind)); err != nil {
			return c, err
		}
		about, err := argsOf(args)
		c.ID, c.Queue, c.Drop = TaskID(job), taskQueues[kind], commands.Expiry(about)
		return c, err
	})
	if err != nil {
		return nil, fmt.Errorf("find tasks: %w", err)
	}
	return list, nil
}

// jobsOf are the jobs that ids name; what names none is left out.
func jobsOf(tasks []ids.ID) []int64 {
	jobs := make([]int64, 0, len(tasks))
	for _, id := range tasks {
		if job, ok := jobOf(id); ok {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

// Stop implements [commands.TaskControl].
func (t *Tasks) Stop(ctx context.Context, tasks []ids.ID) error {
	return t.control(ctx, "stop", taskStopSQL, jobsOf(tasks))
}

// Run implements [commands.TaskControl].
func (t *Tasks) Run(ctx context.Context, tasks []ids.ID, at time.Time) error {
	return t.control(ctx, "run", taskRunSQL, jobsOf(tasks), moment(at), moreAttempts)
}

// cancelled is what a purge that is called off carries: in whose name.
type cancelled struct {
	Actor   ids.ID `json:"actor"`
	Request ids.ID `json:"request"`
}

// Cancel implements [commands.TaskControl].
func (t *Tasks) Cancel(ctx context.Context, call commands.Call, tasks []ids.ID) error {
	by, err := json.Marshal(cancelled{call.Actor.ID, call.RequestID})
	if err != nil {
		return fmt.Errorf("cancel tasks: %w", err)
	}
	return t.control(ctx, "cancel", taskCancelSQL, jobsOf(tasks), string(by), moreAttempts)
}

func (t *Tasks) control(ctx context.Context, what, sql string, args ...any) error {
	if _, err := t.pool.Exec(ctx, sql, args...); err != nil {
		return fmt.Errorf("%s tasks: %w", what, err)
	}
	return nil
}
