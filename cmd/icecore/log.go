package main

import (
	"context"
	"errors"

	"github.com/icecore-catalog/icecore/internal/app"
)

type logCommand struct {
	List          logListCommand       `cmd:"" help:"Print events in order: the newest, or those after a position."`
	Show          logShowCommand       `cmd:"" help:"Print one event, by position or id."`
	Follow        logFollowCommand     `cmd:"" help:"Print events as they come."`
	Diff          logDiffCommand       `cmd:"" help:"Print what changed after one position, up to another, object by object."`
	Checkpoint    logCheckpointCommand `cmd:"" help:"Print the newest signed checkpoint, to be kept outside the database."`
	CheckpointKey logKeyCommand        `cmd:"" help:"Make a key that signs checkpoints."`
	Repair        logRepairCommand     `cmd:"" help:"Say why the feed has halted, or decide about the commit that halted it."`
}

// choice are the flags that choose events.
type choice struct {
	Stream string `help:"Of one object alone, by its id." placeholder:"ID"`
	Type   string `help:"Of one type: an entity (table), or an entity and what happened (table.committed)." placeholder:"TYPE"`
	JSON   bool   `name:"json" help:"As JSON instead of text; events as CloudEvents, one a line."`
}

type logListCommand struct {
	target
	choice
	After *int64 `help:"Start after this position (0: at the beginning). Default: end with the newest." placeholder:"POSITION"`
	Limit int    `help:"At most this many." default:"50"`
}

// Run prints events.
func (c logListCommand) Run(ctx context.Context, env environment) error {
	if c.Limit < 1 {
		return usageError{errors.New("--limit must be above zero")}
	}
	t, err := c.open(ctx, env)
	if err != nil {
		return err
	}
	defer t.Close()
	o := app.LogOptions{After: c.After, Limit: c.Limit, Stream: c.Stream, Type: c.Type, JSON: c.JSON}
	return app.ListLog(ctx, t, o, env.stdout, env.stderr)
}

type logFollowCommand struct {
	target
	choice
	After *int64 `help:"Start after this position (0: at the beginning). Default: with what comes next." placeholder:"POSITION"`
}

// Run prints events until the process is told to end.
func (c logFollowCommand) Run(ctx context.Context, env environment) error {
	t, err := c.open(ctx, env)
	if err != nil {
		return err
	}
	defer t.Close()
	o := app.LogOptions{After: c.After, Stream: c.Stream, Type: c.Type, JSON: c.JSON}
	return app.FollowLog(ctx, t, o, env.stdout, env.stderr)
}

type logShowCommand struct {
	target
	Event string `arg:"" help:"Position or event id."`
	JSON  bool   `name:"json" help:"As a CloudEvent on one line."`
}

// Run prints one event.
func (c logShowCommand) Run(ctx context.Context, env environment) error {
	t, err := c.open(ctx, env)
	if err != nil {
		return err
	}
	defer t.Close()
	return app.ShowEvent(ctx, t, c.Event, c.JSON, env.stdout, env.stderr)
}

type logDiffCommand struct {
	target
	choice
	From int64 `arg:"" help:"Position before the change; 0 is the beginning."`
	To   int64 `arg:"" help:"Position after it."`
}

// Run prints what changed.
func (c logDiffCommand) Run(ctx context.Context, env environment) error {
	t, err := c.open(ctx, env)
	if err != nil {
		return err
	}
	defer t.Close()
	o := app.LogOptions{Stream: c.Stream, Type: c.Type, JSON: c.JSON}
	return app.DiffLog(ctx, t, c.From, c.To, o, env.stdout, env.stderr)
}

type logRepairCommand struct {
	target
	Skip   int64  `help:"Never number this commit." placeholder:"NUMBER" xor:"decision"`
	Accept int64  `help:"Number this commit as it is." placeholder:"NUMBER" xor:"decision"`
	Reason string `help:"Why; kept in the log." placeholder:"TEXT"`
}

// Run shows or decides.
func (c logRepairCommand) Run(ctx context.Context, env environment) error {
	if (c.Skip != 0 || c.Accept != 0) && c.Reason == "" {
		return usageError{errors.New("a decision needs its --reason")}
	}
	t, err := c.open(ctx, env)
	if err != nil {
		return err
	}
	defer t.Close()
	return app.RepairLog(ctx, t, app.RepairOptions{Skip: c.Skip, Accept: c.Accept, Reason: c.Reason}, env.stdout, env.stderr)
}

type logCheckpointCommand struct {
	target
}

// Run prints the newest checkpoint.
func (c logCheckpointCommand) Run(ctx context.Context, env environment) error {
	t, err := c.open(ctx, env)
	if err != nil {
		return err
	}
	defer t.Close()
	return app.ShowCheckpoint(ctx, t, env.stdout, env.stderr)
}

type logKeyCommand struct {
	Name string `arg:"" optional:"" default:"icecore" help:"Name of the signer, e.g. a domain."`
}

// Run prints a new key.
func (c logKeyCommand) Run(env environment) error { return app.NewCheckpointKey(c.Name, env.stdout) }
