package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/allowall"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/queries"
	"github.com/icecore-catalog/icecore/workers"
)

// TaskOptions choose and shape what the task commands print.
type TaskOptions struct {
	Statuses  []string // running, scheduled, stopping, cancelled, success, failed; empty: all
	Queues    []string
	Warehouse string // id; empty: all
	Limit     int
	JSON      bool
	Watch     bool // print again until nothing runs or waits any more
}

// TaskAction is what can be done with a task.
type TaskAction = commands.TaskAction

// The actions.
const (
	TaskStop   = commands.TaskStop
	TaskCancel = commands.TaskCancel
	TaskRunNow = commands.TaskRunNow
	TaskRunAt  = commands.TaskRunAt
)

// watchEvery is how often watched tasks are looked at.
const watchEvery = time.Second

// ErrTaskFailed means that a watched task used up its attempts.
var ErrTaskFailed = errors.New("a task used up its attempts")

// tasks operates the tasks of a database, as the server itself.
type tasks struct {
	log      *operated
	list     *workers.Tasks
	commands *commands.Service
	resolver *projections.SharedResolver
	ids      ids.Source
}

// openTasks prepares to show and control tasks, where a server runs or not.
func (t *Target) openTasks(ctx context.Context, warnings io.Writer) (*tasks, error) {
	log, err := t.operate(ctx, warnings)
	if err != nil {
		return nil, err
	}
	k := &tasks{
		log: log, list: workers.NewTasks(log.pools.append), ids: ids.NewV7(clock.System{}),
		resolver: projections.NewResolver(log.pools.append, projections.Options{}),
	}
	k.commands = commands.New(commands.Deps{
		Log: log.store, Idempotency: log.store, Resolver: k.resolver, Claims: projections.NewClaims(log.pools.append),
		Details: projections.NewDetails(log.pools.append), Authorizer: allowall.Authorizer{}, Clock: clock.System{}, IDs: k.ids, Tasks: k.list,
	})
	return k, nil
}

func (k *tasks) close() {
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	_ = k.resolver.Close(ctx)
	k.log.close()
}

func (o *TaskOptions) filter() (f queries.TaskFilter, err error) {
	for _, s := range o.Statuses {
		f.Statuses = append(f.Statuses, queries.TaskStatus(strings.ToUpper(s)))
	}
	f.Queues = o.Queues
	if o.Warehouse != "" {
		if f.Warehouse, err = ids.Parse(o.Warehouse); err != nil {
			return f, fmt.Errorf("--warehouse %q is no id of a warehouse", o.Warehouse)
		}
	}
	return f, nil
}

// read returns the tasks that a filter chooses, of all warehouses without one.
func (k *tasks) read(ctx context.Context, f queries.TaskFilter, limit int) ([]queries.Task, error) {
	if f.Warehouse.IsNil() {
		return k.list.All(ctx, f, limit)
	}
	return k.list.Tasks(ctx, f, limit)
}

// ListTasks prints tasks, newest first.
func ListTasks(ctx context.Context, t *Target, o TaskOptions, out, warnings io.Writer) error {
	f, err := o.filter()
	if err != nil {
		return err
	}
	k, err := t.openTasks(ctx, warnings)
	if err != nil {
		return err
	}
	defer k.close()
	return o.print(ctx, out, func() ([]queries.Task, error) { return k.read(ctx, f, o.Limit) }, writeTasks)
}

// ShowTask prints one task with the attempts that failed. It is named by its id,
// or by its last number.
func ShowTask(ctx context.Context, t *Target, name string, o TaskOptions, out, warnings io.Writer) error {
	id, err := taskNamed(name)
	if err != nil {
		return err
	}
	k, err := t.openTasks(ctx, warnings)
	if err != nil {
		return err
	}
	defer k.close()
	return o.print(ctx, out, func() ([]queries.Task, error) {
		list, err := k.list.All(ctx, queries.TaskFilter{ID: id}, 1)
		if err == nil && len(list) == 0 {
			err = noTask(id)
		}
		return list, err
	}, writeTask)
}

// ControlTasks does with tasks what an operator wants.
func ControlTasks(ctx context.Context, t *Target, action TaskAction, at time.Time, names []string, out, warnings io.Writer) error {
	wanted := make([]ids.ID, len(names))
	for i, name := range names {
		var err error
		if wanted[i], err = taskNamed(name); err != nil {
			return err
		}
	}
	k, err := t.openTasks(ctx, warnings)
	if err != nil {
		return err
	}
	defer k.close()
	found := make([]queries.Task, len(wanted))
	for i, id := range wanted {
		list, err := k.list.All(ctx, queries.TaskFilter{ID: id}, 1)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return noTask(id)
		}
		found[i] = list[0]
	}
	for i := range found {
		in := commands.ControlTasks{Warehouse: found[i].Warehouse, Tasks: []ids.ID{found[i].ID}, Action: action, At: at}
		if in.Warehouse.IsNil() {
			var about struct {
				Project ids.ID `json:"project"`
			}
			if err := json.Unmarshal(found[i].Data, &about); err != nil {
				return fmt.Errorf("read task %s: %w", found[i].ID, err)
			}
			in.Project = about.Project
		}
		if err := k.commands.ControlTasks(ctx, commands.Call{Actor: authz.System, RequestID: k.ids.New()}, in); err != nil {
			return err
		}
	}
	for _, id := range wanted {
		list, err := k.list.All(ctx, queries.TaskFilter{ID: id}, 1)
		if err != nil || len(list) == 0 {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s is %s\n", id, strings.ToLower(string(list[0].Status))); err != nil {
			return err
		}
	}
	return nil
}

func noTask(id ids.ID) error { return fmt.Errorf("there is no task %s", id) }

// taskNamed reads a task's id, or its number.
func taskNamed(name string) (ids.ID, error) {
	if id, err := ids.Parse(name); err == nil {
		return id, nil
	}
	number, err := strconv.ParseInt(name, 10, 64)
	if err != nil || number < 1 {
		return ids.Nil, fmt.Errorf("%q is neither the id of a task nor its number", name)
	}
	return workers.TaskID(number), nil
}

// print writes tasks once, or whenever they have changed until none of them runs
// or waits to be run.
func (o *TaskOptions) print(ctx context.Context, out io.Writer, read func() ([]queries.Task, error), write func(io.Writer, []queries.Task) error) error {
	if o.JSON {
		write = writeTaskLines
	}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var last []byte
	for {
		list, err := read()
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := write(&b, list); err != nil {
			return err
		}
		if !bytes.Equal(b.Bytes(), last) {
			if last != nil && terminal(out) && !o.JSON {
				fmt.Fprintf(out, "\x1b[%dA\x1b[J", bytes.Count(last, []byte{'\n'})) // over what was there
			}
			if _, err := out.Write(b.Bytes()); err != nil {
				return err
			}
			last = bytes.Clone(b.Bytes())
		}
		if !o.Watch {
			return nil
		}
		if !unfinished(list) {
			for i := range list {
				if list[i].Status == queries.TaskFailed {
					return ErrTaskFailed
				}
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// terminal reports whether somebody looks at a terminal.
func terminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func unfinished(list []queries.Task) bool {
	for i := range list {
		switch list[i].Status { //nolint:exhaustive // the others are over
		case queries.TaskRunning, queries.TaskScheduled, queries.TaskStopping:
			return true
		}
	}
	return false
}

// writeTasks prints a table.
func writeTasks(out io.Writer, list []queries.Task) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TASK\tQUEUE\tSTATUS\tATTEMPT\tNEXT OR LAST\tPROGRESS\tABOUT")
	for i := range list {
		t := &list[i]
		at := t.ScheduledFor
		switch {
		case !t.EndedAt.IsZero():
			at = t.EndedAt
		case t.Status == queries.TaskRunning && !t.PickedUpAt.IsZero():
			at = t.PickedUpAt
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", t.ID, t.Queue, strings.ToLower(string(t.Status)), t.Attempt,
			at.Format(time.DateTime), progressBar(t), about(t))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print tasks: %w", err)
	}
	return nil
}

// barWidth is how many characters a progress bar has.
const barWidth = 20

// progressBar draws how far a task has come; of a task that never began nothing.
func progressBar(t *queries.Task) string {
	if t.Total == 0 && t.Done == 0 {
		return ""
	}
	if t.Total == 0 {
		return strconv.FormatInt(t.Done, 10) + " done"
	}
	full := int(t.Progress * barWidth)
	return fmt.Sprintf("[%s%s] %3.0f%% %d/%d", strings.Repeat("#", full), strings.Repeat("-", barWidth-full), t.Progress*100, t.Done, t.Total)
}

// about names the object of a task. Names are tenants' text: what a terminal
// would obey is quoted.
func about(t *queries.Task) string {
	switch {
	case len(t.Name) > 0:
		name := strings.Join(t.Name, ".")
		if quoted := strconv.Quote(name); quoted != `"`+name+`"` {
			return quoted
		}
		return name
	case !t.Object.IsNil():
		return t.Object.String()
	case t.Project != "":
		return "project " + t.Project
	}
	return ""
}

// writeTask prints one task in full.
func writeTask(out io.Writer, list []queries.Task) error {
	t := &list[0]
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, line := range [][2]string{
		{"task", t.ID.String()}, {"queue", t.Queue}, {"status", strings.ToLower(string(t.Status))}, {"about", about(t)},
		{"warehouse", idText(t.Warehouse)}, {"created", timeText(t.CreatedAt)}, {"scheduled for", timeText(t.ScheduledFor)},
		{"picked up", timeText(t.PickedUpAt)}, {"last sign of life", timeText(t.SeenAt)}, {"ended", timeText(t.EndedAt)},
		{"attempt", strconv.Itoa(t.Attempt)}, {"progress", progressBar(t)}, {"data", string(t.Data)},
	} {
		if line[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", line[0], line[1])
		}
	}
	for _, f := range t.Failures {
		fmt.Fprintf(w, "attempt %d failed\t%s  %s\n", f.Attempt, timeText(f.At), strconv.Quote(f.Message))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print a task: %w", err)
	}
	return nil
}

func timeText(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

func idText(id ids.ID) string {
	if id.IsNil() {
		return ""
	}
	return id.String()
}

// writeTaskLines prints each task as a JSON object on a line.
func writeTaskLines(out io.Writer, list []queries.Task) error {
	for i := range list {
		t := &list[i]
		line := struct {
			Task      string                `json:"task-id"`
			Queue     string                `json:"queue-name"`
			Status    queries.TaskStatus    `json:"status"`
			Warehouse string                `json:"warehouse-id,omitempty"`
			Project   string                `json:"project-id,omitempty"`
			Object    string                `json:"object-id,omitempty"`
			Name      []string              `json:"entity-name,omitempty"`
			Attempt   int                   `json:"attempt"`
			Progress  float64               `json:"progress"`
			Done      int64                 `json:"done"`
			Total     int64                 `json:"total,omitempty"`
			Created   string                `json:"created-at"`
			Scheduled string                `json:"scheduled-for"`
			PickedUp  string                `json:"picked-up-at,omitempty"`
			Ended     string                `json:"ended-at,omitempty"`
			Failures  []queries.TaskFailure `json:"failures,omitempty"`
		}{
			t.ID.String(), t.Queue, t.Status, idText(t.Warehouse), t.Project, idText(t.Object), t.Name, t.Attempt, t.Progress, t.Done, t.Total,
			timeText(t.CreatedAt), timeText(t.ScheduledFor), timeText(t.PickedUpAt), timeText(t.EndedAt), t.Failures,
		}
		if err := json.NewEncoder(out).Encode(line); err != nil {
			return fmt.Errorf("print tasks: %w", err)
		}
	}
	return nil
}
