package workers

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/internal/ids"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
	"github.com/icecore-catalog/icecore/queries"
)

// newTaskWorld is a world whose services see tasks.
func newTaskWorld(t *testing.T) *world {
	t.Helper()
	var tasks *Tasks
	w := newWorld(t, kit.Setup{Wrap: func(p *kit.Parts) {
		tasks = &Tasks{}
		p.Commands.Tasks, p.Queries.Tasks = tasks, tasks
	}})
	tasks.pool = w.Pool
	return w
}

func (w *world) tasks(f queries.TaskFilter) []queries.Task {
	w.Helper()
	f.Warehouse = w.Warehouse
	page, err := w.Queries.ListTasks(w.Context(), authz.Anonymous, f, queries.Page{})
	if err != nil {
		w.Fatal(err)
	}
	return page.Tasks
}

func (w *world) control(action commands.TaskAction, at time.Time, tasks ...ids.ID) error {
	return w.Commands.ControlTasks(w.Context(), w.Call(), commands.ControlTasks{Warehouse: w.Warehouse, Tasks: tasks, Action: action, At: at})
}

func TestTasksAreListedAndShown(t *testing.T) {
	t.Parallel()
	w := newTaskWorld(t)
	var objects []ids.ID
	for _, name := range []string{"a", "b", "c"} {
		tb := w.table(name)
		objects = append(objects, tb.ID)
		w.dropPurge(tb)
	}
	other := w.NewWarehouse("other", w.Root+"2")
	list := w.tasks(queries.TaskFilter{})
	if len(list) != 3 {
		t.Fatalf("%d tasks", len(list))
	}
	for i, name := range []string{"c", "b", "a"} { // newest first
		got := list[i]
		if !slices.Equal(got.Name, []string{"db", name}) || got.Queue != catalog.QueuePurge || got.Status != queries.TaskScheduled ||
			got.Kind != catalog.EntityTable || got.Object != objects[2-i] || got.Warehouse != w.Warehouse || got.Project != ids.Nil.String() || got.Attempt != 0 {
			t.Errorf("%+v", got)
		}
	}
	two := 2
	page, err := w.Queries.ListTasks(t.Context(), authz.Anonymous, queries.TaskFilter{Warehouse: w.Warehouse}, queries.Page{Size: &two})
	if err != nil || len(page.Tasks) != 2 || page.Next == "" {
		t.Fatalf("%+v, %v", page, err)
	}
	page, err = w.Queries.ListTasks(t.Context(), authz.Anonymous, queries.TaskFilter{Warehouse: w.Warehouse}, queries.Page{Size: &two, Token: &page.Next})
	if err != nil || len(page.Tasks) != 1 || page.Next != "" || page.Tasks[0].Name[1] != "a" {
		t.Fatalf("%+v, %v", page, err)
	}
	if _, err := w.Queries.ListTasks(t.Context(), authz.Anonymous, queries.TaskFilter{Warehouse: w.Warehouse, Queues: []string{"x"}}, queries.Page{Token: &page.Next}); err != nil {
		t.Errorf("an empty token: %v", err)
	}
	for what, c := range map[string]struct {
		filter queries.TaskFilter
		want   int
	}{
		"status":        {queries.TaskFilter{Statuses: []queries.TaskStatus{queries.TaskScheduled}}, 3},
		"other status":  {queries.TaskFilter{Statuses: []queries.TaskStatus{queries.TaskFailed, queries.TaskRunning}}, 0},
		"queue":         {queries.TaskFilter{Queues: []string{catalog.QueuePurge}}, 3},
		"other queue":   {queries.TaskFilter{Queues: []string{catalog.QueueExpiry}}, 0},
		"unknown queue": {queries.TaskFilter{Queues: []string{"x"}}, 0},
		"object":        {queries.TaskFilter{Objects: objects[1:2]}, 1},
		"no object":     {queries.TaskFilter{Whole: true}, 0},
		"after":         {queries.TaskFilter{CreatedAfter: time.Now().Add(time.Hour)}, 0},
		"before":        {queries.TaskFilter{CreatedBefore: time.Now().Add(time.Hour)}, 3},
	} {
		if got := w.tasks(c.filter); len(got) != c.want {
			t.Errorf("%s: %d, want %d", what, len(got), c.want)
		}
	}

	// After the purge the name is what the log says.
	w.purgeAll()
	w.sequence()
	shown, err := w.Queries.GetTask(t.Context(), authz.Anonymous, w.Warehouse, ids.Nil, list[0].ID)
	if err != nil || !slices.Equal(shown.Name, []string{"db", "c"}) {
		t.Errorf("%+v, %v", shown, err)
	}
	// What is another warehouse's is not there.
	for _, task := range []ids.ID{TaskID(4711), w.IDs.New(), ids.Nil} {
		if _, err := w.Queries.GetTask(t.Context(), authz.Anonymous, w.Warehouse, ids.Nil, task); catalog.KindOf(err) != catalog.NoSuchTask {
			t.Errorf("%s: %v", task, err)
		}
	}
	if _, err := w.Queries.GetTask(t.Context(), authz.Anonymous, other, ids.Nil, list[0].ID); catalog.KindOf(err) != catalog.NoSuchTask {
		t.Errorf("another warehouse: %v", err)
	}
	err = w.Commands.ControlTasks(t.Context(), w.Call(), commands.ControlTasks{Warehouse: other, Tasks: []ids.ID{list[0].ID}, Action: commands.TaskCancel})
	if catalog.KindOf(err) != catalog.NoSuchTask {
		t.Errorf("another warehouse: %v", err)
	}
}

// A purge that is called off before it begins leaves all files, and the place is
// free: the table can be registered again.
func TestAPurgeThatIsCalledOffLeavesTheFiles(t *testing.T) {
	t.Parallel()
	w := newTaskWorld(t)
	tb := w.table("t")
	w.fill(tb, 1, 0, "a.parquet")
	files := fmt.Sprint(w.below(tb))
	w.dropPurge(tb)
	task := w.tasks(queries.TaskFilter{})[0]
	if err := w.control(commands.TaskCancel, time.Time{}, task.ID); err != nil {
		t.Fatal(err)
	}
	if got := w.tasks(queries.TaskFilter{})[0]; got.Status != queries.TaskStopping {
		t.Errorf("%s", got.Status)
	}
	stop := w.run(w.config())
	defer stop()
	eventually(t, "the end", func() bool { return w.tasks(queries.TaskFilter{})[0].Status == queries.TaskCancelled })
	if got := fmt.Sprint(w.below(tb)); got != files {
		t.Errorf("left %s of %s", got, files)
	}
	if closed, dropped, claims := w.state(tb.ID); !closed || dropped != 0 || claims != 0 {
		t.Errorf("closed %v, %d dropped, %d claims", closed, dropped, claims)
	}
	if e := w.event(catalog.TypeTablePurgeCancelled); e["started"] != false {
		t.Errorf("%v", e)
	}
	if n, err := sweep(t.Context(), w.Pool); n != 0 || err != nil {
		t.Errorf("the sweep made %d jobs again, %v", n, err)
	}
	if _, err := w.Commands.RegisterTable(t.Context(), w.Call(), commands.RegisterTable{
		Warehouse: w.Warehouse, Namespace: []string{"db"}, Name: "t", MetadataLocation: tb.Pointer,
	}); err != nil {
		t.Errorf("register it again: %v", err)
	}
	for _, action := range []commands.TaskAction{commands.TaskCancel, commands.TaskStop, commands.TaskRunNow} { // it is over
		if err := w.control(action, time.Time{}, task.ID); err != nil {
			t.Error(err)
		}
		if got := w.tasks(queries.TaskFilter{})[0]; got.Status != queries.TaskCancelled {
			t.Errorf("%s after %s", got.Status, action)
		}
	}
}

// One that is called off while it runs ends where it is, under its lease.
func TestARunningPurgeIsStoppedAndCalledOff(t *testing.T) {
	t.Parallel()
	w := newTaskWorld(t)
	tb := w.table("t")
	files := make([]string, 300)
	for i := range files {
		files[i] = fmt.Sprintf("%03d.parquet", i)
	}
	w.fill(tb, 1, 0, files...)
	all := len(w.below(tb))
	w.dropPurge(tb)
	c := w.config()
	c.PurgeRate, c.beat = 100, 50*time.Millisecond
	defer w.run(c)()
	eventually(t, "some of the purge", func() bool { return len(w.below(tb)) < all-10 })
	task := w.tasks(queries.TaskFilter{})[0]
	if task.Status != queries.TaskRunning || task.Attempt != 1 || task.PickedUpAt.IsZero() || task.SeenAt.IsZero() {
		t.Errorf("%+v", task)
	}
	eventually(t, "progress", func() bool {
		now := w.tasks(queries.TaskFilter{})[0]
		return now.Done > 0 && now.Total >= 300 && now.Progress > 0 && now.Progress < 1
	})
	if err := w.control(commands.TaskStop, time.Time{}, task.ID); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a rest", func() bool { return w.tasks(queries.TaskFilter{})[0].Status == queries.TaskScheduled })
	rests := len(w.below(tb))
	if rests == 0 || len(w.below(tb)) != rests {
		t.Errorf("%d files after the stop, then %d", rests, len(w.below(tb)))
	}
	if at := w.tasks(queries.TaskFilter{})[0].ScheduledFor; at.Before(time.Now().Add(stopPause / 2)) {
		t.Errorf("it rests until %s", at)
	}
	if err := w.control(commands.TaskRunNow, time.Time{}, task.ID); err != nil {
		t.Fatal(err)
	}
	eventually(t, "more of the purge", func() bool { return len(w.below(tb)) < rests })
	if err := w.control(commands.TaskCancel, time.Time{}, task.ID); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end", func() bool { return w.tasks(queries.TaskFilter{})[0].Status == queries.TaskCancelled })
	left := len(w.below(tb))
	if closed, dropped, claims := w.state(tb.ID); left == 0 || !closed || dropped != 0 || claims != 0 {
		t.Errorf("%d files left, closed %v, %d dropped, %d claims", left, closed, dropped, claims)
	}
	if e := w.event(catalog.TypeTablePurgeCancelled); e["started"] != true {
		t.Errorf("%v", e)
	}
	if n := w.count(catalog.TypeTablePurged); n != 0 {
		t.Errorf("purged is said %d times", n)
	}
}

// A process that dies between giving up the right to delete and saying so leaves
// a purge that is called off, not one that is over.
func TestAPurgeThatIsCalledOffIsSaidSoByTheNextRun(t *testing.T) {
	t.Parallel()
	w := newTaskWorld(t)
	tb := w.table("t")
	w.dropPurge(tb)
	in := w.waiting()[0]
	c := w.config()
	c.defaults()
	held, _, err := takeLease(t.Context(), &c, in)
	if err != nil {
		t.Fatal(err)
	}
	by := &cancelled{Actor: authz.Anonymous.ID, Request: w.IDs.New()}
	if err := held.settle(t.Context(), deletedReport{Unreadable: []string{}, Cancelled: by}); err != nil {
		t.Fatal(err)
	}
	if err := w.purger().purge(t.Context(), in, nil); err == nil {
		t.Error("the job does not end as cancelled")
	}
	if n, m := w.count(catalog.TypeTablePurgeCancelled), w.count(catalog.TypeTablePurged); n != 1 || m != 0 {
		t.Errorf("cancelled is said %d times, purged %d times", n, m)
	}
}

// A job that used up its attempts is told of once, stays in the list, is not made
// again behind anybody's back, and can be run again.
func TestATaskThatUsedUpItsAttemptsCanBeRunAgain(t *testing.T) {
	t.Parallel()
	w := newTaskWorld(t)
	once := int64(1)
	in := commands.ConfigureQueue{Warehouse: w.Warehouse, Queue: catalog.QueuePurge, Settings: catalog.QueueSettings{MaxAttempts: &once}}
	if err := w.Commands.ConfigureQueue(t.Context(), w.Call(), in); err != nil {
		t.Fatal(err)
	}
	tb := w.table("t")
	w.fill(tb, 1, 0, "a.parquet")
	w.dropPurge(tb)
	away := w.Root + ".away"
	if err := os.Rename(w.Root, away); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(away, w.Root); err != nil {
		t.Fatal(err)
	}
	logged := &logs{}
	c := w.config()
	c.Logger = logged.logger()
	stop := w.run(c)
	defer stop()
	eventually(t, "the failure", func() bool { return w.tasks(queries.TaskFilter{})[0].Status == queries.TaskFailed })
	task := w.tasks(queries.TaskFilter{Statuses: []queries.TaskStatus{queries.TaskFailed}})[0]
	if len(task.Failures) != 1 || task.Failures[0].Message == "" || task.Failures[0].Attempt != 1 || task.EndedAt.IsZero() {
		t.Errorf("%+v", task)
	}
	if n := logged.count("used up its attempts"); n != 1 {
		t.Errorf("told %d times", n)
	}
	if n, err := sweep(t.Context(), w.Pool); n != 0 || err != nil {
		t.Errorf("the sweep made %d jobs, %v", n, err)
	}
	figures, err := NewTasks(w.Pool).Figures(t.Context())
	if err != nil || figures[catalog.QueuePurge].Failed != 1 {
		t.Errorf("%+v, %v", figures, err)
	}
	if err := os.Remove(w.Root); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(away, w.Root); err != nil {
		t.Fatal(err)
	}
	if err := w.control(commands.TaskRunNow, time.Time{}, task.ID); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the purge", func() bool { return w.tasks(queries.TaskFilter{})[0].Status == queries.TaskSuccess })
	w.requireGone(tb)
}

// run-at moves a task that waits.
func TestATaskRunsWhenItIsTold(t *testing.T) {
	t.Parallel()
	w := newTaskWorld(t)
	w.dropPurge(w.table("t"))
	task := w.tasks(queries.TaskFilter{})[0]
	at := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	if err := w.control(commands.TaskRunAt, at, task.ID); err != nil {
		t.Fatal(err)
	}
	if got := w.tasks(queries.TaskFilter{})[0]; !got.ScheduledFor.Equal(at) || got.Status != queries.TaskScheduled {
		t.Errorf("%+v", got)
	}
	if figures, err := NewTasks(w.Pool).Figures(t.Context()); err != nil || figures[catalog.QueuePurge].Waiting != 0 {
		t.Errorf("%+v, %v", figures, err) // it is not due
	}
	if err := w.control(commands.TaskRunNow, time.Time{}, task.ID); err != nil {
		t.Fatal(err)
	}
	if got := w.tasks(queries.TaskFilter{})[0]; got.ScheduledFor.After(at.Add(-time.Minute)) {
		t.Errorf("%+v", got)
	}
	if figures, err := NewTasks(w.Pool).Figures(t.Context()); err != nil || figures[catalog.QueuePurge].Waiting != 1 {
		t.Errorf("%+v, %v", figures, err)
	}
	var many []ids.ID
	for range commands.MaxControlledTasks + 1 {
		many = append(many, task.ID)
	}
	for what, err := range map[string]error{
		"unknown action": w.control("x", time.Time{}, task.ID),
		"too many":       w.control(commands.TaskStop, time.Time{}, many...),
	} {
		if catalog.KindOf(err) != catalog.BadRequest {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := w.control(commands.TaskCancel, time.Time{}, task.ID, TaskID(4711)); catalog.KindOf(err) != catalog.NoSuchTask {
		t.Errorf("one that is not there: %v", err)
	}
	if got := w.tasks(queries.TaskFilter{})[0]; got.Status != queries.TaskScheduled {
		t.Errorf("%s though one was missing", got.Status)
	}
}

// What a warehouse wants of its purges holds for those that are made after it.
func TestQueueSettingsAreEventsAndWorkersFollowThem(t *testing.T) {
	t.Parallel()
	w := newTaskWorld(t)
	set := func(settings catalog.QueueSettings) {
		t.Helper()
		in := commands.ConfigureQueue{Warehouse: w.Warehouse, Queue: catalog.QueuePurge, Settings: settings}
		for range 2 { // the second changes nothing
			if err := w.Commands.ConfigureQueue(t.Context(), w.Call(), in); err != nil {
				t.Fatal(err)
			}
		}
	}
	three, slow, hour := int64(3), int64(20), int64(3600)
	set(catalog.QueueSettings{MaxAttempts: &three, FilesPerSecond: &slow, HeartbeatSeconds: &hour})
	if n := w.count(catalog.TypeWarehouseQueueConfigured); n != 1 {
		t.Errorf("%d events", n)
	}
	got, err := w.Queries.QueueSettings(t.Context(), authz.Anonymous, w.Warehouse, ids.Nil, catalog.QueuePurge)
	if err != nil || *got.MaxAttempts != 3 || *got.FilesPerSecond != 20 || *got.HeartbeatSeconds != 3600 {
		t.Errorf("%+v, %v", got, err)
	}
	tb := w.table("t")
	for i := range 12 {
		w.put(tb, fmt.Sprintf("data/%d.parquet", i), nil)
	}
	w.dropPurge(tb)
	var most int
	if err := w.Pool.QueryRow(t.Context(), "SELECT max_attempts FROM river.river_job WHERE kind = 'purge'").Scan(&most); err != nil || most != 3 {
		t.Errorf("%d attempts, %v", most, err)
	}
	// Its process has been silent for a while: the warehouse wants to wait longer.
	if _, err := w.Pool.Exec(t.Context(), `INSERT INTO ops.worker VALUES ('silent', clock_timestamp() - interval '10 minutes')`); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Pool.Exec(t.Context(), `UPDATE river.river_job SET state = 'running', attempt = 1, attempted_by = ARRAY['silent'],
		attempted_at = clock_timestamp() - interval '20 minutes' WHERE kind = 'purge'`); err != nil {
		t.Fatal(err)
	}
	c := w.config()
	c.defaults()
	workers, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := workers.rescue(t.Context()); err != nil || w.jobs("running") != 1 {
		t.Errorf("%d run, %v", w.jobs("running"), err)
	}
	set(catalog.QueueSettings{FilesPerSecond: &slow})
	if err := workers.rescue(t.Context()); err != nil || w.jobs("running") != 0 {
		t.Errorf("%d run, %v", w.jobs("running"), err)
	}
	start := time.Now()
	if err := w.purger().purge(t.Context(), w.waiting()[0], nil); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < 400*time.Millisecond { // 13 files at 20 a second, two of them saved up
		t.Errorf("the purge took %v", took)
	}
	w.requireGone(tb)
	bad := int64(0)
	for queue, settings := range map[string]catalog.QueueSettings{
		catalog.QueuePurge:  {MaxAttempts: &bad},
		catalog.QueueExpiry: {FilesPerSecond: &slow},
	} {
		err := w.Commands.ConfigureQueue(t.Context(), w.Call(), commands.ConfigureQueue{Warehouse: w.Warehouse, Queue: queue, Settings: settings})
		if catalog.KindOf(err) != catalog.BadRequest {
			t.Errorf("%s: %v", queue, err)
		}
	}
}

// Finished tasks are kept as long as their project wants, the server's own jobs an
// hour.
func TestFinishedTasksAreForgottenInTime(t *testing.T) {
	t.Parallel()
	w := newTaskWorld(t)
	day, week := int64(86400), int64(7*86400)
	in := commands.ConfigureQueue{Queue: catalog.QueueTaskLog, Settings: catalog.QueueSettings{CleanupSeconds: &day, RetentionSeconds: &week}}
	if err := w.Commands.ConfigureQueue(t.Context(), w.Call(), in); err != nil {
		t.Fatal(err)
	}
	gone := w.IDs.New()
	for what, row := range map[string]struct {
		kind, args, age string
		kept            bool
	}{
		"old":          {"purge", fmt.Sprintf(`{"warehouse":%q}`, w.Warehouse), "8 days", false},
		"new":          {"purge", fmt.Sprintf(`{"warehouse":%q}`, w.Warehouse), "6 days", true},
		"no warehouse": {"purge", fmt.Sprintf(`{"warehouse":%q}`, gone), "8 days", false},
		"own":          {"chore", `{"name":"x"}`, "2 hours", false},
		"own, new":     {"chore", `{"name":"x"}`, "1 minute", true},
	} {
		if _, err := w.Pool.Exec(t.Context(), `INSERT INTO river.river_job (kind, args, tags, state, finalized_at)
			VALUES ($1, $2::text::jsonb, ARRAY[$3], 'completed', clock_timestamp() - $4::text::interval)`, row.kind, row.args, what, row.age); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			var n int
			if err := w.Pool.QueryRow(context.Background(), "SELECT count(*) FROM river.river_job WHERE $1 = ANY (tags)", what).Scan(&n); err != nil || (n == 1) != row.kept {
				t.Errorf("%s: %d left, %v", what, n, err)
			}
		})
	}
	defer w.run(w.config())()
	eventually(t, "the clean-up", func() bool {
		var n int
		if err := w.Pool.QueryRow(t.Context(), "SELECT count(*) FROM river.river_job WHERE kind = 'task_log_cleanup' AND state = 'completed'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n == 1
	})
	page, err := w.Queries.ListTasks(t.Context(), authz.Anonymous, queries.TaskFilter{}, queries.Page{})
	if err != nil || len(page.Tasks) != 1 || page.Tasks[0].Queue != catalog.QueueTaskLog || page.Tasks[0].Done != 2 || !page.Tasks[0].Warehouse.IsNil() {
		t.Errorf("%+v, %v", page, err)
	}
	if err := forget(t.Context(), w.Pool); err != nil { // not due again
		t.Fatal(err)
	}
	if page, err = w.Queries.ListTasks(t.Context(), authz.Anonymous, queries.TaskFilter{}, queries.Page{}); err != nil || len(page.Tasks) != 1 {
		t.Errorf("%+v, %v", page, err)
	}
	var data struct{ Project ids.ID }
	if err := json.Unmarshal(page.Tasks[0].Data, &data); err != nil || data.Project != catalog.DefaultProject {
		t.Errorf("%s, %v", page.Tasks[0].Data, err)
	}
}
