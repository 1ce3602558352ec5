package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/allowall"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/httpapi/management"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// DestinationOptions are what an operator says about a destination.
type DestinationOptions struct {
	Kind      string
	Set       map[string]string // settings
	Unset     []string          // names of settings
	Projects  []string          // ids by which callers name them
	Warehouse []string          // ids, or names in the default project
	Entities  []string
	Types     []string
	All       bool   // removes the filter
	OnRefusal string // empty: as it is
	Name      string // another name; empty: as it is
	Paused    bool
	From      string // a place in the log, as [commands.ParseStart] reads it
}

// filtered reports whether a filter was told.
func (o *DestinationOptions) filtered() bool {
	return o.All || len(o.Projects)+len(o.Warehouse)+len(o.Entities)+len(o.Types) > 0
}

// Destinations operates the destinations of a database, as the server itself.
type Destinations struct {
	log      *operated
	commands *commands.Service
	resolver *projections.SharedResolver
	details  projections.Details
	ids      ids.Source
	JSON     bool
	out      io.Writer
}

// OpenDestinations prepares to operate the destinations of a database, where a
// server runs or not. The caller closes it.
func OpenDestinations(ctx context.Context, t *Target, asJSON bool, out, warnings io.Writer) (*Destinations, error) {
	log, err := t.operate(ctx, warnings)
	if err != nil {
		return nil, err
	}
	d := &Destinations{
		log: log, JSON: asJSON, out: out, ids: ids.NewV7(clock.System{}),
		resolver: projections.NewResolver(log.pools.append, projections.Options{}), details: projections.NewDetails(log.pools.append),
	}
	d.commands = commands.New(commands.Deps{
		Log: log.store, Idempotency: log.store, Resolver: d.resolver, Claims: projections.NewClaims(log.pools.append), Details: d.details,
		Places: log.store, Authorizer: allowall.Authorizer{}, Clock: clock.System{}, IDs: d.ids, DestinationKinds: destinationKinds(),
	})
	return d, nil
}

// Close ends what was opened.
func (d *Destinations) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	_ = d.resolver.Close(ctx)
	d.log.close()
}

// call is a call of an operator at the command line.
func (d *Destinations) call() commands.Call {
	return commands.Call{Actor: authz.System, RequestID: d.ids.New()}
}

// find returns the destination of a name or an id.
func (d *Destinations) find(ctx context.Context, name string) (projections.Destination, error) {
	find := func() (projections.Destination, bool, error) {
		if id, err := ids.Parse(name); err == nil {
			return d.details.Destination(ctx, id)
		}
		return d.details.DestinationNamed(ctx, name)
	}
	found, ok, err := find()
	if err == nil && !ok {
		err = fmt.Errorf("there is no destination %q; see icecore destination list", name)
	}
	return found, err
}

// Add makes a destination.
func (d *Destinations) Add(ctx context.Context, name string, o DestinationOptions) error {
	in := commands.CreateDestination{Name: name, Kind: o.Kind, Settings: o.Set, OnRefusal: o.OnRefusal, Paused: o.Paused}
	var err error
	if o.From != "" {
		if in.Start, err = commands.ParseStart(o.From); err != nil {
			return err
		}
	}
	if in.Filter, err = d.filter(ctx, &o); err != nil {
		return err
	}
	made, err := d.commands.CreateDestination(ctx, d.call(), in)
	return d.tell(ctx, made, err, "created; it publishes what follows position %d", made.StartAfter)
}

// filter resolves what an operator names.
func (d *Destinations) filter(ctx context.Context, o *DestinationOptions) (f catalog.DestinationFilter, err error) {
	f.Entities, f.Types = o.Entities, o.Types
	for _, name := range o.Projects {
		id, err := ids.Parse(name)
		if err != nil || id.IsNil() {
			project, found, err := d.details.ProjectNamed(ctx, name)
			if err != nil {
				return f, err
			}
			if !found {
				return f, fmt.Errorf("there is no project %q", name)
			}
			id = project.ID
		}
		f.Projects = append(f.Projects, id)
	}
	for _, name := range o.Warehouse {
		id, err := ids.Parse(name)
		if err != nil {
			facts, err := d.resolver.Resolve(ctx, projections.Query{Project: catalog.DefaultProject, WarehouseName: name})
			if err != nil {
				return f, err
			}
			if !facts[0].Warehouse.Exists {
				return f, fmt.Errorf("there is no warehouse %q in the default project; name one of another project by its id", name)
			}
			id = facts[0].Warehouse.ID
		}
		f.Warehouses = append(f.Warehouses, id)
	}
	return f, nil
}

// Update changes what was said of a destination.
func (d *Destinations) Update(ctx context.Context, name string, o DestinationOptions) error {
	old, err := d.find(ctx, name)
	if err != nil {
		return err
	}
	in := commands.UpdateDestination{Destination: old.ID}
	if o.Name != "" {
		in.Name = &o.Name
	}
	if o.OnRefusal != "" {
		in.OnRefusal = &o.OnRefusal
	}
	if o.filtered() {
		f, err := d.filter(ctx, &o)
		if err != nil {
			return err
		}
		in.Filter = &f
	}
	if len(o.Set)+len(o.Unset) > 0 {
		in.Settings = map[string]string{}
		if err := json.Unmarshal(old.Settings, &in.Settings); err != nil {
			return err
		}
		for _, key := range o.Unset {
			if _, there := in.Settings[key]; !there {
				return fmt.Errorf("there is no setting %q to unset", key)
			}
			delete(in.Settings, key)
		}
		for key, value := range o.Set {
			in.Settings[key] = value
		}
	}
	made, err := d.commands.UpdateDestination(ctx, d.call(), in)
	return d.tell(ctx, made, err, "updated")
}

// Pause has a destination publish nothing.
func (d *Destinations) Pause(ctx context.Context, name string) error {
	old, err := d.find(ctx, name)
	if err != nil {
		return err
	}
	made, err := d.commands.PauseDestination(ctx, d.call(), commands.PauseDestination{Destination: old.ID})
	return d.tell(ctx, made, err, "paused at position %d", made.Position)
}

// Resume has a destination go on.
func (d *Destinations) Resume(ctx context.Context, name string) error {
	old, err := d.find(ctx, name)
	if err != nil {
		return err
	}
	made, err := d.commands.ResumeDestination(ctx, d.call(), commands.ResumeDestination{Destination: old.ID})
	return d.tell(ctx, made, err, "resumed; it goes on after position %d", made.Position)
}

// Replay puts a destination to another place.
func (d *Destinations) Replay(ctx context.Context, name, from string) error {
	start, err := commands.ParseStart(from)
	if err != nil {
		return err
	}
	old, err := d.find(ctx, name)
	if err != nil {
		return err
	}
	made, err := d.commands.ReplayDestination(ctx, d.call(), commands.ReplayDestination{Destination: old.ID, Start: start})
	return d.tell(ctx, made, err, "put to another place; it publishes what follows position %d", made.StartAfter)
}

// Skip lets the event pass at which a destination halted.
func (d *Destinations) Skip(ctx context.Context, name string, position int64) error {
	old, err := d.find(ctx, name)
	if err != nil {
		return err
	}
	made, err := d.commands.SkipRefused(ctx, d.call(), commands.SkipRefused{Destination: old.ID, Position: position})
	return d.tell(ctx, made, err, "let the event at position %d pass; it is parked", made.Position)
}

// Retry has a parked event published again.
func (d *Destinations) Retry(ctx context.Context, name string, position int64) error {
	old, err := d.find(ctx, name)
	if err != nil {
		return err
	}
	made, err := d.commands.RetryParked(ctx, d.call(), commands.RetryParked{Destination: old.ID, Position: position})
	return d.tell(ctx, made, err, "will publish the event at position %d again", position)
}

// Remove ends a destination.
func (d *Destinations) Remove(ctx context.Context, name string) error {
	old, err := d.find(ctx, name)
	if err != nil {
		return err
	}
	if err := d.commands.RemoveDestination(ctx, d.call(), commands.RemoveDestination{Destination: old.ID}); err != nil {
		return err
	}
	if d.JSON {
		return d.print([]byte("{}"))
	}
	_, err = fmt.Fprintf(d.out, "%s: removed; what it published stays where it is\n", old.Name)
	return err
}

// tell prints what a change made.
func (d *Destinations) tell(ctx context.Context, made projections.Destination, err error, format string, args ...any) error {
	if err != nil {
		return withCause(err)
	}
	if d.JSON {
		now, found, err := d.details.Destination(ctx, made.ID)
		if err != nil || !found {
			return errors.Join(err, errors.New("the change was made, but the destination is gone"))
		}
		return d.print(management.AppendDestination(nil, &now))
	}
	_, err = fmt.Fprintf(d.out, "%s: "+format+"\n", append([]any{made.Name}, args...)...)
	return err
}

// withCause shows an operator what the API would keep to itself.
func withCause(err error) error {
	var e *catalog.Error
	if errors.As(err, &e) && e.Cause != nil && e.Kind != catalog.BadRequest {
		return fmt.Errorf("%s: %w", e.Message, e.Cause)
	}
	return err
}

func (d *Destinations) print(text []byte) error {
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return err
	}
	_, err := d.out.Write(append(b.Bytes(), '\n'))
	return err
}

// List prints all destinations.
func (d *Destinations) List(ctx context.Context) error {
	list, err := d.details.Destinations(ctx)
	if err != nil {
		return err
	}
	if d.JSON {
		body := []byte("[")
		for i := range list {
			if i > 0 {
				body = append(body, ',')
			}
			body = management.AppendDestination(body, &list[i])
		}
		return d.print(append(body, ']'))
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(d.out, "there are no destinations; see icecore destination add --help")
		return err
	}
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tKIND\tSTATUS\tPOSITION\tBEHIND\tPUBLISHED\tPARKED\tFAILURES\tLAST ERROR")
	for i := range list {
		o := &list[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%d\t%d\t%d\t%s\n", o.Name, o.Kind, o.Status(), o.Position, behind(o), o.Published, o.Parked, o.Failures, clipped(o.ShownError(), 60))
	}
	return w.Flush()
}

// behind says how far a destination is behind the log.
func behind(o *projections.Destination) string {
	events, age := o.Lag()
	if events == 0 {
		return "-"
	}
	return fmt.Sprintf("%d events, %s", events, age.Round(time.Millisecond))
}

func clipped(text string, limit int) string {
	if r := []rune(text); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return text
}

// maxShownParked bounds the parked events that are printed for a person.
const maxShownParked = 100

// Show prints a destination, and what it refused.
func (d *Destinations) Show(ctx context.Context, name string) error {
	o, err := d.find(ctx, name)
	if err != nil {
		return err
	}
	if d.JSON {
		return d.print(management.AppendDestination(nil, &o))
	}
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(w, name+"\t"+format+"\n", args...) }
	line("name", "%s", o.Name)
	line("id", "%s", o.ID)
	line("kind", "%s", o.Kind)
	line("settings", "%s", o.Settings)
	line("filter", "%s", filterText(&o.Filter))
	line("on refusal", "%s", o.OnRefusal)
	line("status", "%s", o.Status())
	line("position", "%d of %d, epoch %d", o.Position, o.Head, o.Epoch)
	line("behind", "%s", behind(&o))
	line("started", "after position %d", o.StartAfter)
	line("published", "%d events", o.Published)
	if !o.Event.IsNil() {
		line("last event", "%s", o.Event)
	}
	if o.HaltedAt != 0 {
		line("halted at", "position %d: decide with icecore destination skip, or resume to try again", o.HaltedAt)
	}
	if o.Failures > 0 {
		line("failures", "%d in a row", o.Failures)
	}
	if o.Status() == projections.DestinationBackingOff {
		line("tried again", "in %s", o.RetryAfter.Sub(o.Now).Round(time.Millisecond))
	}
	if o.LastError != "" {
		line("last error", "%s (%s)", o.ShownError(), o.LastErrorAt.Format("2006-01-02 15:04:05 UTC"))
	}
	line("parked", "%d events", o.Parked)
	if err := w.Flush(); err != nil || o.Parked == 0 {
		return err
	}
	parked, err := d.details.Parked(ctx, o.ID, 0, maxShownParked)
	if err != nil {
		return err
	}
	w = tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nPARKED AT\tEVENT\tSINCE (UTC)\tREASON")
	for i := range parked {
		p := &parked[i]
		reason := p.ShownReason()
		if p.Retry {
			reason = "is published again; was: " + reason
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\n", p.Position, p.Event, p.ParkedAt.Format("2006-01-02 15:04:05"), clipped(reason, 200))
	}
	if more := o.Parked - int64(len(parked)); more > 0 {
		fmt.Fprintf(w, "… and %d more: GET /management/v1/destinations/%s/parked\n", more, o.ID)
	}
	return w.Flush()
}

func filterText(f *catalog.DestinationFilter) string {
	var parts []string
	add := func(name string, list []string) {
		if len(list) > 0 {
			parts = append(parts, name+" "+strings.Join(list, ", "))
		}
	}
	texts := func(list []ids.ID) []string {
		out := make([]string, len(list))
		for i, id := range list {
			out[i] = id.String()
		}
		return out
	}
	add("projects", texts(f.Projects))
	add("warehouses", texts(f.Warehouses))
	add("entities", f.Entities)
	add("types", f.Types)
	if len(parts) == 0 {
		return "everything"
	}
	return strings.Join(parts, "; ")
}
