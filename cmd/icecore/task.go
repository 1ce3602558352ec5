package main

import (
	"context"
	"errors"
	"time"

	"github.com/icecore-catalog/icecore/internal/app"
)

type taskCommand struct {
	List   taskListCommand   `cmd:"" help:"Print tasks, newest first."`
	Show   taskShowCommand   `cmd:"" help:"Print one task, with the attempts that failed."`
	Run    taskRunCommand    `cmd:"" help:"Run tasks now, or at a time: those that wait, and those that used up their attempts."`
	Stop   taskStopCommand   `cmd:"" help:"Stop tasks that run; they rest for a minute and are taken up again."`
	Cancel taskCancelCommand `cmd:"" help:"Call tasks off for good: the files of a purge stay, and its locations are free."`
}

// watched are the flags of what prints tasks.
type watched struct {
	target
	JSON  bool `name:"json" help:"As JSON, one task a line."`
	Watch bool `short:"w" help:"Print again as they go on, until none of them runs or waits any more."`
}

type taskListCommand struct {
	watched
	Status    []string `help:"Only these: running, scheduled, stopping, cancelled, success, failed." placeholder:"STATUS" enum:"running,scheduled,stopping,cancelled,success,failed"`
	Queue     []string `help:"Only of these queues, such as tabular_purge." placeholder:"QUEUE"`
	Warehouse string   `help:"Only of one warehouse, by its id." placeholder:"ID"`
	Limit     int      `help:"At most this many." default:"50"`
}

// Run prints tasks.
func (c taskListCommand) Run(ctx context.Context, env environment) error {
	if c.Limit < 1 {
		return usageError{errors.New("--limit must be above zero")}
	}
	t, err := c.open(ctx, env)
	if err != nil {
		return err
	}
	defer t.Close()
	o := app.TaskOptions{Statuses: c.Status, Queues: c.Queue, Warehouse: c.Warehouse, Limit: c.Limit, JSON: c.JSON, Watch: c.Watch}
	return app.ListTasks(ctx, t, o, env.stdout, env.stderr)
}

type taskShowCommand struct {
	watched
	Task string `arg:"" help:"Id of the task, or its number."`
}

// Run prints one task.
func (c taskShowCommand) Run(ctx context.Context, env environment) error {
	t, err := c.open(ctx, env)
	if err != nil {
		return err
	}
	defer t.Close()
	return app.ShowTask(ctx, t, c.Task, app.TaskOptions{JSON: c.JSON, Watch: c.Watch}, env.stdout, env.stderr)
}

// chosen are the tasks that something is done with.
type chosen struct {
	target
	Task []string `arg:"" help:"Ids of tasks, or their numbers."`
}

func (c chosen) control(ctx context.Context, env environment, action app.TaskAction, at time.Time) error {
	t, err := c.open(ctx, env)
	if err != nil {
		return err
	}
	defer t.Close()
	return app.ControlTasks(ctx, t, action, at, c.Task, env.stdout, env.stderr)
}

type taskRunCommand struct {
	chosen
	At *time.Time `help:"At this time (2026-12-31T23:59:59Z) instead of now." placeholder:"TIME" format:"2006-01-02T15:04:05Z07:00"`
}

// Run has tasks run.
func (c taskRunCommand) Run(ctx context.Context, env environment) error {
	if c.At != nil {
		return c.control(ctx, env, app.TaskRunAt, *c.At)
	}
	return c.control(ctx, env, app.TaskRunNow, time.Time{})
}

type taskStopCommand struct{ chosen }

// Run stops tasks.
func (c taskStopCommand) Run(ctx context.Context, env environment) error {
	return c.control(ctx, env, app.TaskStop, time.Time{})
}

type taskCancelCommand struct{ chosen }

// Run calls tasks off.
func (c taskCancelCommand) Run(ctx context.Context, env environment) error {
	return c.control(ctx, env, app.TaskCancel, time.Time{})
}
