package main

import (
	"context"
	"errors"

	"github.com/icecore-catalog/icecore/internal/app"
)

type destinationCommand struct {
	Add    destinationAddCommand    `cmd:"" help:"Publish the stream of events to another place."`
	List   destinationListCommand   `cmd:"" help:"Print all destinations: status, how far behind, what went wrong."`
	Show   destinationShowCommand   `cmd:"" help:"Print one destination, and what it refused."`
	Update destinationUpdateCommand `cmd:"" help:"Change settings, filter, name or policy; its place stays."`
	Pause  destinationPauseCommand  `cmd:"" help:"Publish nothing there until it is resumed."`
	Resume destinationResumeCommand `cmd:"" help:"Go on: what was paused, has halted, or waits after failures, tries at once."`
	Replay destinationReplayCommand `cmd:"" help:"Publish again from a position or a time on; no other destination is touched."`
	Skip   destinationSkipCommand   `cmd:"" help:"Let the event pass at which a destination has halted; it is parked."`
	Retry  destinationRetryCommand  `cmd:"" help:"Publish a parked event again."`
	Remove destinationRemoveCommand `cmd:"" help:"End a destination; what it published stays."`
}

// operating is what all of them share.
type operating struct {
	target
	JSON bool `name:"json" help:"As JSON, in the form of the management API."`
}

// run opens the destinations for a while.
func (o operating) run(ctx context.Context, env environment, do func(*app.Destinations) error) error {
	t, err := o.open(ctx, env)
	if err != nil {
		return err
	}
	defer t.Close()
	d, err := app.OpenDestinations(ctx, t, o.JSON, env.stdout, env.stderr)
	if err != nil {
		return err
	}
	defer d.Close()
	return do(d)
}

// onFilter are the flags of a filter. Each may be repeated.
type onFilter struct {
	Project   []string `help:"Only events of this project, by its id." placeholder:"ID"`
	Warehouse []string `help:"Only events of this warehouse, by its id, or its name in the default project." placeholder:"WAREHOUSE"`
	Entity    []string `help:"Only events of this entity: table, view, namespace…" placeholder:"ENTITY"`
	Type      []string `help:"Only events of this type: table.committed" placeholder:"TYPE"`
}

type destinationAddCommand struct {
	operating
	onFilter
	Name      string            `arg:"" help:"How it is called; unique in any letter case."`
	Kind      string            `required:"" help:"nats, kafka, webhook or log." placeholder:"KIND"`
	Set       map[string]string `help:"A setting of its kind; repeat it. Secrets are named (…-secret=FILE), never given." placeholder:"NAME=VALUE" mapsep:"none" aliases:"setting"`
	OnRefusal string            `help:"At an event that it refuses for good: halt there, or park the event and go on." enum:"halt,park" default:"halt"`
	From      string            `help:"Where to start: beginning, now, a position or a time." default:"beginning" placeholder:"PLACE"`
	Paused    bool              `help:"Wait to be resumed before anything is published."`
}

// Run makes a destination.
func (c destinationAddCommand) Run(ctx context.Context, env environment) error {
	return c.run(ctx, env, func(d *app.Destinations) error {
		return d.Add(ctx, c.Name, app.DestinationOptions{
			Kind: c.Kind, Set: c.Set, OnRefusal: c.OnRefusal, From: c.From, Paused: c.Paused,
			Projects: c.Project, Warehouse: c.Warehouse, Entities: c.Entity, Types: c.Type,
		})
	})
}

type destinationListCommand struct{ operating }

// Run prints all destinations.
func (c destinationListCommand) Run(ctx context.Context, env environment) error {
	return c.run(ctx, env, func(d *app.Destinations) error { return d.List(ctx) })
}

// named is a destination that has to be there.
type named struct {
	operating
	Name string `arg:"" help:"Name or id of the destination."`
}

type destinationShowCommand struct{ named }

// Run prints one destination.
func (c destinationShowCommand) Run(ctx context.Context, env environment) error {
	return c.run(ctx, env, func(d *app.Destinations) error { return d.Show(ctx, c.Name) })
}

type destinationUpdateCommand struct {
	named
	onFilter
	All       bool              `help:"Publish everything: remove the filter."`
	Rename    string            `help:"Another name." placeholder:"NAME"`
	Set       map[string]string `help:"Set a setting; the others stay." placeholder:"NAME=VALUE" mapsep:"none" aliases:"setting"`
	Unset     []string          `help:"Remove a setting." placeholder:"NAME"`
	OnRefusal string            `help:"halt or park." enum:",halt,park" default:""`
}

// Run changes a destination.
func (c destinationUpdateCommand) Run(ctx context.Context, env environment) error {
	if c.All && len(c.Project)+len(c.Warehouse)+len(c.Entity)+len(c.Type) > 0 {
		return usageError{errors.New("--all and a filter exclude each other")}
	}
	return c.run(ctx, env, func(d *app.Destinations) error {
		return d.Update(ctx, c.Name, app.DestinationOptions{
			Name: c.Rename, Set: c.Set, Unset: c.Unset, OnRefusal: c.OnRefusal, All: c.All,
			Projects: c.Project, Warehouse: c.Warehouse, Entities: c.Entity, Types: c.Type,
		})
	})
}

type destinationPauseCommand struct{ named }

// Run pauses a destination.
func (c destinationPauseCommand) Run(ctx context.Context, env environment) error {
	return c.run(ctx, env, func(d *app.Destinations) error { return d.Pause(ctx, c.Name) })
}

type destinationResumeCommand struct{ named }

// Run resumes a destination.
func (c destinationResumeCommand) Run(ctx context.Context, env environment) error {
	return c.run(ctx, env, func(d *app.Destinations) error { return d.Resume(ctx, c.Name) })
}

type destinationReplayCommand struct {
	operating
	From string `required:"" help:"The first position to publish, a time such as 2026-05-01T00:00:00Z, beginning, or now." placeholder:"PLACE"`
	To   string `required:"" help:"Name or id of the destination." placeholder:"DESTINATION"`
}

// Run puts a destination to another place.
func (c destinationReplayCommand) Run(ctx context.Context, env environment) error {
	return c.run(ctx, env, func(d *app.Destinations) error { return d.Replay(ctx, c.To, c.From) })
}

type destinationSkipCommand struct {
	named
	Position int64 `help:"Where it has halted, to be sure; else wherever that is." placeholder:"POSITION"`
}

// Run lets an event pass.
func (c destinationSkipCommand) Run(ctx context.Context, env environment) error {
	return c.run(ctx, env, func(d *app.Destinations) error { return d.Skip(ctx, c.Name, c.Position) })
}

type destinationRetryCommand struct {
	named
	Position int64 `required:"" help:"Position of the parked event." placeholder:"POSITION"`
}

// Run has an event published again.
func (c destinationRetryCommand) Run(ctx context.Context, env environment) error {
	return c.run(ctx, env, func(d *app.Destinations) error { return d.Retry(ctx, c.Name, c.Position) })
}

type destinationRemoveCommand struct{ named }

// Run ends a destination.
func (c destinationRemoveCommand) Run(ctx context.Context, env environment) error {
	return c.run(ctx, env, func(d *app.Destinations) error { return d.Remove(ctx, c.Name) })
}
