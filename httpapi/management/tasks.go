package management

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/queries"
)

// Whose tasks a route is about, as its path says.
const (
	warehouseTasks = "/v1/warehouse/{warehouse_id}"
	projectTasks   = "/v1/project"
)

// taskRoutes are those of the tasks of warehouses and projects and of the
// settings of their queues.
func (a *API) taskRoutes() (routes []wire.Route) {
	for _, of := range []struct {
		base, title string
		queues      []string
	}{
		{warehouseTasks, "Warehouse", catalog.WarehouseQueues()},
		{projectTasks, "Project", catalog.ProjectQueues()},
	} {
		routes = append(routes,
			wire.Route{Method: http.MethodPost, Template: of.base + "/task/list", Operation: "list" + of.title + "Tasks", Handle: a.listTasks},
			wire.Route{Method: http.MethodGet, Template: of.base + "/task/by-id/{task_id}", Operation: "get" + of.title + "TaskDetails", Handle: a.getTask},
			wire.Route{Method: http.MethodPost, Template: of.base + "/task/control", Operation: "control" + of.title + "Tasks", Handle: a.controlTasks})
		for _, queue := range of.queues {
			template := of.base + "/task-queue/" + queue + "/config"
			routes = append(routes,
				wire.Route{Method: http.MethodGet, Template: template, Operation: "get" + of.title + "QueueConfig", Handle: a.getQueue(queue)},
				wire.Route{Method: http.MethodPost, Template: template, Operation: "set" + of.title + "QueueConfig", Handle: a.setQueue(queue)})
		}
	}
	return routes
}

// taskOwner finds whose tasks a request is about: warehouse is Nil for those of
// a project.
func (a *API) taskOwner(r *http.Request) (warehouse, project ids.ID, err error) {
	if r.PathValue("warehouse_id") != "" {
		warehouse, err = warehouseID(r)
		return warehouse, ids.Nil, err
	}
	project, err = a.project(r, "")
	return ids.Nil, project, err
}

// listTasks is POST …/task/list.
func (a *API) listTasks(w http.ResponseWriter, r *http.Request) error {
	object, err := a.object(r)
	if err != nil {
		return err
	}
	filter, page, err := readTaskFilter(object)
	if err != nil {
		return err
	}
	if filter.Warehouse, filter.Project, err = a.taskOwner(r); err != nil {
		return err
	}
	if !filter.Warehouse.IsNil() {
		if filter.Objects, filter.Whole, err = taskEntities(object); err != nil {
			return err
		}
	}
	tasks, err := a.deps.Queries.ListTasks(r.Context(), wire.Actor(r), filter, page)
	if err != nil {
		return err
	}
	body := []byte(`{"tasks":[`)
	for i := range tasks.Tasks {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(appendTask(body, &tasks.Tasks[i]), '}')
	}
	wire.JSON(w, http.StatusOK, wire.EndList(body, tasks.Next))
	return nil
}

// readTaskFilter reads what ListTasksRequest and ListProjectTasksRequest share.
func readTaskFilter(object wire.Object) (f queries.TaskFilter, page queries.Page, err error) {
	statuses, _, err := object.Strings("status")
	if err != nil {
		return f, page, err
	}
	for _, text := range statuses {
		status := queries.TaskStatus(text)
		if !slices.Contains(queries.TaskStatuses(), status) {
			return f, page, badMember("status holds what is no status of a task: " + text)
		}
		f.Statuses = append(f.Statuses, status)
	}
	if f.Queues, _, err = object.Strings("queue-name"); err != nil {
		return f, page, err
	}
	for name, to := range map[string]*time.Time{"created-after": &f.CreatedAfter, "created-before": &f.CreatedBefore} {
		if *to, err = timeMember(object, name); err != nil {
			return f, page, err
		}
	}
	if object.Raw("page-size") != nil {
		size, err := object.Int("page-size")
		if err != nil {
			return f, page, err
		}
		page.Size = &size
	}
	token, _, err := object.String("page-token")
	page.Token = &token
	return f, page, err
}

// timeMember reads a time, zero if it is absent.
func timeMember(object wire.Object, name string) (time.Time, error) {
	text, sent, err := object.String(name)
	if err != nil || !sent {
		return time.Time{}, err
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.Year() < 1 {
		return time.Time{}, badMember(name + " must be a time as in 2026-12-31T23:59:59Z")
	}
	return at, nil
}

// taskEntities reads the objects that tasks are asked for, and whether those are
// that are about none.
func taskEntities(object wire.Object) (list []ids.ID, whole bool, err error) {
	entities, err := object.Objects("entities")
	if err != nil {
		return nil, false, err
	}
	for _, entity := range entities {
		kind, err := entity.RequiredString("type")
		if err != nil {
			return nil, false, err
		}
		switch kind {
		case "warehouse":
			whole = true
			continue
		case "table", "view", "generic-table":
		default:
			return nil, false, badMember("entities: type must be table, view, generic-table or warehouse")
		}
		text, err := entity.RequiredString(kind + "-id")
		if err != nil {
			return nil, false, err
		}
		id, err := ids.Parse(text)
		if err != nil {
			return nil, false, badMember("entities: " + kind + "-id must be a UUID")
		}
		list = append(list, id)
	}
	return list, whole, nil
}

// appendTask prints a WarehouseTaskInfo or ProjectTaskInfo, without its last
// brace.
func appendTask(body []byte, t *queries.Task) []byte {
	body = wire.AppendString(append(body, `{"task-id":`...), t.ID.String())
	body = wire.AppendString(append(body, `,"project-id":`...), t.Project)
	if !t.Warehouse.IsNil() {
		body = wire.AppendString(append(body, `,"warehouse-id":`...), t.Warehouse.String())
	}
	body = wire.AppendString(append(body, `,"queue-name":`...), t.Queue)
	if !t.Object.IsNil() && (t.Kind == catalog.EntityTable || t.Kind == catalog.EntityView) {
		body = append(body, `,"entity":{"type":"`+string(t.Kind)+`","`+string(t.Kind)+`-id":"`+t.Object.String()+`"}`...)
	}
	if len(t.Name) > 0 {
		body = append(body, `,"entity-name":[`...)
		for i, part := range t.Name {
			if i > 0 {
				body = append(body, ',')
			}
			body = wire.AppendString(body, part)
		}
		body = append(body, ']')
	}
	body = wire.AppendString(append(body, `,"status":`...), string(t.Status))
	body = appendTime(append(body, `,"scheduled-for":`...), t.ScheduledFor)
	updated := t.CreatedAt
	for _, at := range []struct {
		name string
		time time.Time
	}{{"picked-up-at", t.PickedUpAt}, {"last-heartbeat-at", t.SeenAt}, {"", t.EndedAt}} {
		if at.time.IsZero() {
			continue
		}
		if at.time.After(updated) {
			updated = at.time
		}
		if at.name != "" {
			body = appendTime(append(body, `,"`+at.name+`":`...), at.time)
		}
	}
	body = strconv.AppendInt(append(body, `,"attempt":`...), int64(t.Attempt), 10)
	body = strconv.AppendFloat(append(body, `,"progress":`...), t.Progress, 'f', -1, 32)
	body = appendTime(append(body, `,"created-at":`...), t.CreatedAt)
	return appendTime(append(body, `,"updated-at":`...), updated)
}

// defaultAttempts is how many attempts details have unless the caller says.
const defaultAttempts = 5

// getTask is GET …/task/by-id/{task_id}.
func (a *API) getTask(w http.ResponseWriter, r *http.Request) error {
	warehouse, project, err := a.taskOwner(r)
	if err != nil {
		return err
	}
	text, err := wire.DecodeSegment(r.PathValue("task_id"))
	if err != nil {
		return err
	}
	q, err := wire.ParseQuery(r)
	if err != nil {
		return err
	}
	attempts := defaultAttempts
	number, err := q.String("numAttempts")
	if err != nil {
		return err
	}
	if number != "" {
		if attempts, err = strconv.Atoi(number); err != nil || attempts < 0 {
			return badMember("numAttempts must be a whole number, not below 0")
		}
	}
	task, _ := ids.Parse(text) // what is no id names no task: the rights are asked first
	t, err := a.deps.Queries.GetTask(r.Context(), wire.Actor(r), warehouse, project, task)
	if err != nil {
		return err
	}
	body := appendTask(nil, &t)
	body = append(append(body, `,"task-data":`...), t.Data...)
	body = strconv.AppendInt(append(body, `,"execution-details":{"done":`...), t.Done, 10)
	if t.Total > 0 {
		body = strconv.AppendInt(append(body, `,"total":`...), t.Total, 10)
	}
	body = append(body, '}')
	if t.Status == queries.TaskFailed && len(t.Failures) > 0 {
		body = wire.AppendString(append(body, `,"message":`...), t.Failures[0].Message)
	}
	body = append(body, `,"attempts":[`...)
	for i := range min(attempts, len(t.Failures)) {
		if i > 0 {
			body = append(body, ',')
		}
		body = appendAttempt(body, &t, i)
	}
	wire.JSON(w, http.StatusOK, append(body, "]}"...))
	return nil
}

// appendAttempt prints a TaskAttempt that failed. When it was scheduled is not
// kept: it was after the one before it had failed.
func appendAttempt(body []byte, t *queries.Task, i int) []byte {
	f, scheduled := &t.Failures[i], t.CreatedAt
	if i+1 < len(t.Failures) {
		scheduled = t.Failures[i+1].At
	}
	body = strconv.AppendInt(append(body, `{"attempt":`...), int64(f.Attempt), 10)
	body = wire.AppendString(append(body, `,"status":`...), string(queries.TaskFailed))
	body = appendTime(append(body, `,"scheduled-for":`...), scheduled)
	body = appendTime(append(body, `,"created-at":`...), scheduled)
	body = append(body, `,"progress":0,"message":`...)
	return append(wire.AppendString(body, f.Message), '}')
}

// controlTasks is POST …/task/control.
func (a *API) controlTasks(w http.ResponseWriter, r *http.Request) error {
	object, call, err := a.request(r)
	if err != nil {
		return err
	}
	in := commands.ControlTasks{}
	if in.Warehouse, in.Project, err = a.taskOwner(r); err != nil {
		return err
	}
	action, sent, err := object.Object("action")
	if err != nil {
		return err
	}
	if !sent {
		return object.Missing("action")
	}
	kind, err := action.RequiredString("action-type")
	if err != nil {
		return err
	}
	in.Action = commands.TaskAction(kind)
	switch in.Action {
	case commands.TaskStop, commands.TaskCancel, commands.TaskRunNow:
	case commands.TaskRunAt:
		if action.Raw("scheduled-for") == nil {
			return action.Missing("scheduled-for")
		}
		if in.At, err = timeMember(action, "scheduled-for"); err != nil {
			return err
		}
	default:
		return badMember("action.action-type must be stop, cancel, run-now or run-at")
	}
	tasks, sent, err := object.Strings("task-ids")
	if err != nil {
		return err
	}
	if !sent {
		return object.Missing("task-ids")
	}
	for _, text := range tasks {
		id, err := ids.Parse(text)
		if err != nil {
			return badMember("task-ids must be UUIDs")
		}
		in.Tasks = append(in.Tasks, id)
	}
	if err := a.deps.Commands.ControlTasks(r.Context(), call, in); err != nil {
		return err
	}
	wire.NoContent(w)
	return nil
}

// getQueue is GET …/task-queue/{queue}/config.
func (a *API) getQueue(queue string) wire.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		warehouse, project, err := a.taskOwner(r)
		if err != nil {
			return err
		}
		q, err := a.deps.Queries.QueueSettings(r.Context(), wire.Actor(r), warehouse, project, queue)
		if err != nil {
			return err
		}
		var members []string
		for _, m := range []struct {
			name    string
			value   *int64
			seconds bool
		}{
			{"max-attempts", q.MaxAttempts, false}, {"files-per-second", q.FilesPerSecond, false},
			{"cleanup-period", q.CleanupSeconds, true}, {"retention-period", q.RetentionSeconds, true},
		} {
			switch {
			case m.value == nil:
			case m.seconds:
				members = append(members, `"`+m.name+`":"PT`+strconv.FormatInt(*m.value, 10)+`S"`)
			default:
				members = append(members, `"`+m.name+`":`+strconv.FormatInt(*m.value, 10))
			}
		}
		body := []byte(`{"queue-config":{` + strings.Join(members, ",") + `}`)
		if q.HeartbeatSeconds != nil {
			body = strconv.AppendInt(append(body, `,"max-seconds-since-last-heartbeat":`...), *q.HeartbeatSeconds, 10)
		}
		wire.JSON(w, http.StatusOK, append(body, '}'))
		return nil
	}
}

// setQueue is POST …/task-queue/{queue}/config.
func (a *API) setQueue(queue string) wire.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		object, call, err := a.request(r)
		if err != nil {
			return err
		}
		in := commands.ConfigureQueue{Queue: queue}
		if in.Warehouse, in.Project, err = a.taskOwner(r); err != nil {
			return err
		}
		settings, sent, err := object.Object("queue-config")
		if err != nil {
			return err
		}
		if !sent {
			return object.Missing("queue-config")
		}
		for _, m := range []struct {
			object wire.Object
			name   string
			to     **int64
		}{
			{object, "max-seconds-since-last-heartbeat", &in.Settings.HeartbeatSeconds},
			{settings, "max-attempts", &in.Settings.MaxAttempts},
			{settings, "files-per-second", &in.Settings.FilesPerSecond},
		} {
			if m.object.Raw(m.name) == nil {
				continue
			}
			number, err := m.object.Int(m.name)
			if err != nil {
				return err
			}
			value := int64(number)
			*m.to = &value
		}
		if err := periods(settings, &in.Settings); err != nil {
			return err
		}
		if err := a.deps.Commands.ConfigureQueue(r.Context(), call, in); err != nil {
			return err
		}
		wire.NoContent(w)
		return nil
	}
}

// periods reads the durations of a TaskLogCleanupConfig. A period of less than a
// day is a day, as in Lakekeeper.
func periods(settings wire.Object, to *catalog.QueueSettings) error {
	for _, m := range []struct {
		name  string
		to    **int64
		least int64
	}{
		{"cleanup-period", &to.CleanupSeconds, catalog.MinCleanupSeconds},
		{"retention-period", &to.RetentionSeconds, 0},
	} {
		text, sent, err := settings.String(m.name)
		if err != nil {
			return err
		}
		if !sent {
			continue
		}
		period, ok := isoDuration(text, catalog.MaxQueueSeconds*time.Second)
		if !ok {
			return badMember("queue-config." + m.name + " must be an ISO 8601 duration of weeks, days, hours, minutes and seconds, as in P90D")
		}
		seconds := max(int64(period/time.Second), m.least)
		*m.to = &seconds
	}
	return nil
}
