package commands_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/internal/ids"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
	"github.com/icecore-catalog/icecore/projections"
)

// destinations is every command on a destination that is there, or not.
func destinations(k *kit.Kit, all map[string]func() error, name string, id ids.ID, call func() commands.Call) {
	ctx := k.Context()
	for verb, run := range map[string]func() error{
		"update": func() error {
			_, err := k.Commands.UpdateDestination(ctx, call(), commands.UpdateDestination{Destination: id, Settings: map[string]string{"a": "b"}})
			return err
		},
		"pause": func() error {
			_, err := k.Commands.PauseDestination(ctx, call(), commands.PauseDestination{Destination: id})
			return err
		},
		"resume": func() error {
			_, err := k.Commands.ResumeDestination(ctx, call(), commands.ResumeDestination{Destination: id})
			return err
		},
		"replay": func() error {
			_, err := k.Commands.ReplayDestination(ctx, call(), commands.ReplayDestination{Destination: id})
			return err
		},
		"skip": func() error {
			_, err := k.Commands.SkipRefused(ctx, call(), commands.SkipRefused{Destination: id})
			return err
		},
		"retry": func() error {
			_, err := k.Commands.RetryParked(ctx, call(), commands.RetryParked{Destination: id, Position: 1})
			return err
		},
		"remove": func() error {
			return k.Commands.RemoveDestination(ctx, call(), commands.RemoveDestination{Destination: id})
		},
	} {
		all[verb+" "+name] = run
	}
}

// newDestination is a request that succeeds.
func newDestination(name string) commands.CreateDestination {
	return commands.CreateDestination{Name: name, Kind: "log", Settings: map[string]string{"level": "info"}}
}

// stands returns a destination as the read model has it.
func stands(k *kit.Kit, id ids.ID) projections.Destination {
	k.Helper()
	d, found, err := projections.NewDetails(k.Pool).Destination(k.Context(), id)
	if err != nil || !found {
		k.Fatalf("destination %s: found %v, %v", id, found, err)
	}
	return d
}

// same compares the answer to a command with the state, but for what moves.
func same(t *testing.T, k *kit.Kit, answer projections.Destination) {
	t.Helper()
	state := stands(k, answer.ID)
	for _, d := range []*projections.Destination{&answer, &state} {
		d.Head, d.Now, d.NextSince = 0, time.Time{}, time.Time{}
		for _, list := range []*[]string{&d.Filter.Entities, &d.Filter.Types} {
			*list = append([]string{}, *list...)
		}
		for _, list := range []*[]ids.ID{&d.Filter.Projects, &d.Filter.Warehouses} {
			*list = append([]ids.ID{}, *list...)
		}
	}
	if !reflect.DeepEqual(answer, state) || string(answer.Settings) != string(state.Settings) {
		t.Errorf("answered\n%+v\nbut it is\n%+v", answer, state)
	}
}

func TestADestinationThroughItsLife(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	ctx := t.Context()
	in := newDestination("Orders")
	in.Filter = catalog.DestinationFilter{Warehouses: []ids.ID{k.Warehouse, k.Warehouse}, Projects: []ids.ID{catalog.DefaultProject}, Entities: []string{"view", "table", "view"}, Types: []string{"table.committed", "dev.icecore.log.epoch-opened"}}
	d, err := k.Commands.CreateDestination(ctx, k.Call(), in)
	if err != nil {
		t.Fatal(err)
	}
	same(t, k, d)
	want := catalog.DestinationFilter{Projects: []ids.ID{catalog.DefaultProject}, Warehouses: []ids.ID{k.Warehouse}, Entities: []string{"table", "view"}, Types: []string{"dev.icecore.log.epoch-opened", "dev.icecore.table.committed"}}
	if !reflect.DeepEqual(d.Filter, want) || d.OnRefusal != catalog.OnRefusalHalt || d.Paused || d.Position != 0 {
		t.Errorf("created %+v", d)
	}
	_, err = k.Commands.CreateDestination(ctx, k.Call(), newDestination("ORDERS"))
	wantError(t, err, catalog.AlreadyExists, "Destination already exists: ORDERS")

	// Updated: what is not named stays.
	name, park := "Orders 2", catalog.OnRefusalPark
	d, err = k.Commands.UpdateDestination(ctx, k.Call(), commands.UpdateDestination{Destination: d.ID, Name: &name, OnRefusal: &park})
	if err != nil || d.Name != name || d.OnRefusal != park || string(d.Settings) != `{"level":"info"}` || len(d.Filter.Types) != 2 {
		t.Errorf("updated: %+v, %v", d, err)
	}
	same(t, k, d)
	d, err = k.Commands.UpdateDestination(ctx, k.Call(), commands.UpdateDestination{Destination: d.ID, Settings: map[string]string{}, Filter: &catalog.DestinationFilter{}})
	if err != nil || string(d.Settings) != `{}` || len(d.Filter.Types) != 0 {
		t.Errorf("updated: %+v, %v", d, err)
	}
	same(t, k, d)
	other, err := k.Commands.CreateDestination(ctx, k.Call(), newDestination("other"))
	if err != nil {
		t.Fatal(err)
	}
	taken := "ORDERS 2"
	_, err = k.Commands.UpdateDestination(ctx, k.Call(), commands.UpdateDestination{Destination: other.ID, Name: &taken})
	wantError(t, err, catalog.AlreadyExists, "Destination already exists: ORDERS 2")

	// Paused and resumed, each once.
	before := len(k.Events())
	for range 2 {
		if d, err = k.Commands.PauseDestination(ctx, k.Call(), commands.PauseDestination{Destination: d.ID}); err != nil || !d.Paused {
			t.Fatalf("paused: %+v, %v", d, err)
		}
		same(t, k, d)
	}
	for range 2 {
		if d, err = k.Commands.ResumeDestination(ctx, k.Call(), commands.ResumeDestination{Destination: d.ID}); err != nil || d.Paused {
			t.Fatalf("resumed: %+v, %v", d, err)
		}
		same(t, k, d)
	}
	if got := len(k.Events()) - before; got != 2 {
		t.Errorf("%d events of pausing and resuming", got)
	}

	if err := k.Commands.RemoveDestination(ctx, k.Call(), commands.RemoveDestination{Destination: d.ID}); err != nil {
		t.Fatal(err)
	}
	err = k.Commands.RemoveDestination(ctx, k.Call(), commands.RemoveDestination{Destination: d.ID})
	wantError(t, err, catalog.NoSuchDestination, "Destination does not exist")
	if _, err := k.Commands.CreateDestination(ctx, k.Call(), newDestination("orders 2")); err != nil {
		t.Errorf("the name is not free: %v", err)
	}
}

func TestDestinationsStartWhereTheyAreTold(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Sequence()
	head, err := k.Store.Head(t.Context())
	if err != nil || head.Size < 3 {
		t.Fatalf("head %+v, %v", head, err)
	}
	entries, err := k.Store.ReadAfter(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		start commands.DestinationStart
		after int64
		text  string
	}{
		{start: commands.DestinationStart{}},
		{start: commands.DestinationStart{From: catalog.StartBeginning}},
		{start: commands.DestinationStart{From: catalog.StartNow}, after: head.Size},
		{start: commands.DestinationStart{From: catalog.StartPosition, Position: 1}},
		{start: commands.DestinationStart{From: catalog.StartPosition, Position: 3}, after: 2},
		{start: commands.DestinationStart{From: catalog.StartPosition, Position: head.Size + 1}, after: head.Size},
		{start: commands.DestinationStart{From: catalog.StartPosition, Position: head.Size + 2}, text: "There is no position…"},
		{start: commands.DestinationStart{From: catalog.StartPosition}, text: "There is no position 0…"},
		{start: commands.DestinationStart{From: catalog.StartPosition, Position: -1}, text: "There is no position -1…"},
		{start: commands.DestinationStart{From: catalog.StartTime, Time: entries[0].LogTime.Add(-time.Hour)}},
		{start: commands.DestinationStart{From: catalog.StartTime, Time: entries[len(entries)-1].LogTime.Add(time.Millisecond)}, after: head.Size},
		{start: commands.DestinationStart{From: catalog.StartTime, Time: time.Now().Add(time.Hour)}, text: "The time to start from lies in the future"},
		{start: commands.DestinationStart{From: catalog.StartTime, Time: time.Unix(-1, 0)}, text: "The time to start from lies before 1970"},
		{start: commands.DestinationStart{From: "yesterday"}, text: "The start must be one of beginning, now, position, time"},
	} {
		in := newDestination(fmt.Sprint("d", i))
		in.Start = c.start
		d, err := k.Commands.CreateDestination(t.Context(), k.Call(), in)
		if c.text != "" {
			wantError(t, err, catalog.BadRequest, c.text)
			continue
		}
		if err != nil || d.Position != c.after || (d.Epoch == 1) != (c.after > 0) {
			t.Errorf("%+v: %+v, %v", c.start, d, err)
			continue
		}
		same(t, k, d)
	}
	// The event that was logged at the very time told is published.
	in := newDestination("time")
	at := entries[1].LogTime.Truncate(time.Millisecond)
	in.Start = commands.DestinationStart{From: catalog.StartTime, Time: at}
	d, err := k.Commands.CreateDestination(t.Context(), k.Call(), in)
	if err != nil || d.Position > 1 || d.Position < 1 && !entries[0].LogTime.Before(at) == false {
		t.Errorf("at %s: %+v, %v", at, d, err)
	}
}

func TestAReplayTouchesNoOtherDestination(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Sequence()
	in := newDestination("one")
	in.Start.From = catalog.StartNow
	one, err := k.Commands.CreateDestination(t.Context(), k.Call(), in)
	if err != nil {
		t.Fatal(err)
	}
	in.Name = "two"
	two, err := k.Commands.CreateDestination(t.Context(), k.Call(), in)
	if err != nil {
		t.Fatal(err)
	}
	owner := k.IDs.New()
	k.Exec("UPDATE publish.destination SET lease_owner = $1, lease_until = '2030-01-01Z', failures = 2, retry_after = '2030-01-01Z', last_error = 'away'", [16]byte(owner))
	untouched := stands(k, two.ID)
	if one, err = k.Commands.ReplayDestination(t.Context(), k.Call(), commands.ReplayDestination{Destination: one.ID, Start: commands.DestinationStart{From: catalog.StartPosition, Position: 2}}); err != nil || one.Position != 1 || one.Failures != 0 {
		t.Fatalf("replayed: %+v, %v", one, err)
	}
	same(t, k, one)
	after := stands(k, two.ID)
	after.Now, untouched.Now = time.Time{}, time.Time{}
	if !reflect.DeepEqual(after, untouched) {
		t.Errorf("the other one was\n%+v and is\n%+v", untouched, after)
	}
	var leases int
	if err := k.Pool.QueryRow(t.Context(), "SELECT count(*) FROM publish.destination WHERE lease_owner = $1", [16]byte(owner)).Scan(&leases); err != nil || leases != 1 {
		t.Errorf("%d leases are left, %v", leases, err)
	}
	// A run that had the lease moves nothing: the row is not its own any more.
	if n := k.Exec("UPDATE publish.destination SET position = 99 WHERE destination_id = $1 AND lease_owner = $2", [16]byte(one.ID), [16]byte(owner)); n != 0 {
		t.Error("a run from before moved the place")
	}
}

func TestOperatorsDecideAboutRefusedEvents(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Sequence()
	d, err := k.Commands.CreateDestination(t.Context(), k.Call(), newDestination("d"))
	if err != nil {
		t.Fatal(err)
	}
	skip := func(position int64) (projections.Destination, error) {
		return k.Commands.SkipRefused(t.Context(), k.Call(), commands.SkipRefused{Destination: d.ID, Position: position})
	}
	retry := func(position int64) (projections.Destination, error) {
		return k.Commands.RetryParked(t.Context(), k.Call(), commands.RetryParked{Destination: d.ID, Position: position})
	}
	_, err = skip(0)
	wantError(t, err, catalog.BadRequest, "The destination has not halted: there is nothing to skip")
	k.Exec("UPDATE publish.destination SET position = 1, epoch = 1, halted_at = 2, last_error = 'too large', last_error_at = '2026-01-01Z', failures = 1")
	_, err = skip(3)
	wantError(t, err, catalog.BadRequest, "The destination has halted at position 2, not at 3")
	if d, err = skip(2); err != nil || d.Position != 2 || d.HaltedAt != 0 || d.Parked != 1 {
		t.Fatalf("skipped: %+v, %v", d, err)
	}
	same(t, k, d)
	_, err = skip(2)
	wantError(t, err, catalog.BadRequest, "The destination has not halted: there is nothing to skip")
	for position, kind := range map[int64]catalog.Kind{0: catalog.BadRequest, 1: catalog.NotFound, 3: catalog.NotFound} {
		_, err = retry(position)
		wantError(t, err, kind, "")
	}
	before := len(k.Events())
	for range 2 {
		if d, err = retry(2); err != nil {
			t.Fatal(err)
		}
		same(t, k, d)
	}
	if got := len(k.Events()) - before; got != 1 {
		t.Errorf("%d events of retrying", got)
	}
	// Resuming one that halted tries again, and is an event.
	k.Exec("UPDATE publish.destination SET halted_at = 3, failures = 1, retry_after = '2030-01-01Z'")
	if d, err = k.Commands.ResumeDestination(t.Context(), k.Call(), commands.ResumeDestination{Destination: d.ID}); err != nil || d.HaltedAt != 0 || d.Failures != 0 {
		t.Fatalf("resumed: %+v, %v", d, err)
	}
	same(t, k, d)
}

// No secret gets into a setting, nor anything that a kind does not know; no text
// of a refusal repeats a value.
func TestSettingsOfDestinationsAreRefused(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{DestinationKinds: commands.DestinationKinds{
		"log":  func(map[string]string) error { return nil },
		"nats": func(map[string]string) error { return errors.New("unknown setting 'color'") },
	}})
	const value = "hunter2"
	long := strings.Repeat("x", 4097)
	many := map[string]string{}
	for i := range 65 {
		many[fmt.Sprint("s", i)] = "x"
	}
	for i, c := range []struct {
		change func(*commands.CreateDestination)
		text   string
	}{
		{func(in *commands.CreateDestination) { in.Kind = "smoke" }, "This server knows no such kind of destinations; kind must be one of log, nats"},
		{func(in *commands.CreateDestination) { in.Kind = "" }, "This server knows no such kind…"},
		{func(in *commands.CreateDestination) { in.Kind = "nats" }, "Invalid settings: unknown setting 'color'"},
		{func(in *commands.CreateDestination) { in.OnRefusal = "panic" }, "on-refusal must be halt or park"},
		{func(in *commands.CreateDestination) { in.Name = "" }, "Destination name cannot be empty"},
		{func(in *commands.CreateDestination) { in.Name = "a/b" }, "Invalid destination name…"},
		{func(in *commands.CreateDestination) { in.Name = "a\x00" }, "…"},
		{func(in *commands.CreateDestination) { in.Name = strings.Repeat("n", 129) }, "Destination name is longer…"},
		{func(in *commands.CreateDestination) { in.Name = k.Warehouse.String() }, "Invalid destination name: it looks like an id"},
		{func(in *commands.CreateDestination) { in.Settings = many }, "65 settings…"},
		{func(in *commands.CreateDestination) { in.Settings = map[string]string{"password": value} }, "Invalid settings: 'password' would be kept in the log: put it into a file in the folder of secrets, and name that in 'password-secret'"},
		{func(in *commands.CreateDestination) { in.Settings = map[string]string{"sasl-password": value} }, "Invalid settings: 'sasl-password' would…"},
		{func(in *commands.CreateDestination) { in.Settings = map[string]string{"secret": value} }, "Invalid settings: 'secret' would…"},
		{func(in *commands.CreateDestination) {
			in.Settings = map[string]string{"password-secret": "../" + value}
		}, "Invalid settings: 'password-secret' must be the name…"},
		{func(in *commands.CreateDestination) { in.Settings = map[string]string{"password-secret": ""} }, "Invalid settings: 'password-secret' must be the name…"},
		{func(in *commands.CreateDestination) { in.Settings = map[string]string{"Password": value} }, "Invalid settings: a name…"},
		{func(in *commands.CreateDestination) {
			in.Settings = map[string]string{strings.Repeat("k", 65): value}
		}, "Invalid settings: a name…"},
		{func(in *commands.CreateDestination) { in.Settings = map[string]string{"": value} }, "Invalid settings: a name…"},
		{func(in *commands.CreateDestination) {
			in.Settings = map[string]string{"url": "nats://a,nats://me:" + value + "@b"}
		}, "Invalid settings: 'url' holds a user…"},
		{func(in *commands.CreateDestination) { in.Settings = map[string]string{"url": "nats://" + value + "@b"} }, "Invalid settings: 'url' holds a user…"},
		{func(in *commands.CreateDestination) {
			in.Settings = map[string]string{"url": "https://h/x?a=b&access_token=" + value}
		}, "Invalid settings: 'url' holds a user…"},
		{func(in *commands.CreateDestination) { in.Settings = map[string]string{"url": value + long} }, "Invalid settings: 'url' is longer…"},
		{func(in *commands.CreateDestination) { in.Settings = map[string]string{"url": value + "\n"} }, "Invalid settings: 'url' is longer…"},
		{func(in *commands.CreateDestination) { in.Settings = map[string]string{"url": value + "\xff"} }, "Invalid settings: 'url' is longer…"},
		{func(in *commands.CreateDestination) { in.Filter.Entities = []string{"tables"} }, "Invalid filter: there is no such entity…"},
		{func(in *commands.CreateDestination) { in.Filter.Types = []string{"table.eaten"} }, "Invalid filter: there is no such type…"},
		{func(in *commands.CreateDestination) { in.Filter.Warehouses = []ids.ID{k.IDs.New()} }, "Invalid filter: there is no warehouse…"},
		{func(in *commands.CreateDestination) { in.Filter.Projects = []ids.ID{k.Warehouse} }, "Invalid filter: there is no project…"},
	} {
		in := newDestination(fmt.Sprint("d", i))
		in.Settings = maps.Clone(in.Settings)
		c.change(&in)
		_, err := k.Commands.CreateDestination(t.Context(), k.Call(), in)
		wantError(t, err, catalog.BadRequest, c.text)
		if err != nil && strings.Contains(err.Error(), value) {
			t.Errorf("the refusal repeats a value: %v", err)
		}
	}
	for _, settings := range []map[string]string{
		{"url": "nats://a:4222,tls://b"},
		{"user": "me", "password-secret": "kafka.password"},
		{"url": "https://h/a@b?to=x@y"},
		nil,
	} {
		in := newDestination(k.IDs.New().String()[:13])
		in.Settings = settings
		if _, err := k.Commands.CreateDestination(t.Context(), k.Call(), in); err != nil {
			t.Errorf("%v: %v", settings, err)
		}
	}
	none := kit.New(t, kit.Setup{Share: k, DestinationKinds: commands.DestinationKinds{}})
	_, err := none.Commands.CreateDestination(t.Context(), none.Call(), newDestination("x"))
	wantError(t, err, catalog.BadRequest, "This server publishes to no destinations")
	bare := kit.New(t, kit.Setup{Bare: true})
	_, err = bare.Commands.CreateDestination(t.Context(), bare.Call(), newDestination("x"))
	wantError(t, err, catalog.BadRequest, "The catalog is not bootstrapped")
}

func TestKeyedDestinationCommandsHappenOnce(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	key := k.IDs.New()
	first, err := k.Commands.CreateDestination(t.Context(), k.Keyed(key, 1), newDestination("d"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := k.Commands.CreateDestination(t.Context(), k.Keyed(key, 1), newDestination("d"))
	if err != nil || again.ID != first.ID || again.Name != "d" {
		t.Errorf("again: %+v, %v", again, err)
	}
	_, err = k.Commands.CreateDestination(t.Context(), k.Keyed(key, 2), newDestination("e"))
	wantError(t, err, catalog.Unprocessable, "")
	key = k.IDs.New()
	before := len(k.Events())
	for range 2 {
		if err := k.Commands.RemoveDestination(t.Context(), k.Keyed(key, 3), commands.RemoveDestination{Destination: first.ID}); err != nil {
			t.Errorf("removed: %v", err)
		}
	}
	if got := len(k.Events()) - before; got != 1 {
		t.Errorf("%d events of removing", got)
	}
	missing := k.IDs.New()
	for range 2 {
		_, err := k.Commands.PauseDestination(t.Context(), k.Keyed(missing, 4), commands.PauseDestination{Destination: missing})
		wantError(t, err, catalog.NoSuchDestination, "Destination does not exist")
	}
}

// Of many that decide at once, each works on what the others left.
func TestDecisionsAboutOneDestinationRace(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{Conns: 16})
	other := kit.New(t, kit.Setup{Share: k})
	d, err := k.Commands.CreateDestination(t.Context(), k.Call(), newDestination("d"))
	if err != nil {
		t.Fatal(err)
	}
	errs := make(chan error, 20)
	for i := range cap(errs) {
		s := []*kit.Kit{k, other}[i%2]
		go func() {
			_, err := s.Commands.ReplayDestination(t.Context(), s.Call(), commands.ReplayDestination{Destination: d.ID})
			errs <- err
		}()
	}
	done := int64(0)
	for range cap(errs) {
		if err := <-errs; err == nil {
			done++
		} else if catalog.KindOf(err) != catalog.CommitFailed {
			t.Error(err)
		}
	}
	if got := stands(k, d.ID).Version; got != 1+done || done == 0 {
		t.Errorf("version %d after %d replays", got, done)
	}
}

func TestEventsOfDestinationsHoldWhatTheySay(t *testing.T) {
	t.Parallel()
	k := kit.New(t, kit.Setup{})
	k.Sequence()
	in := newDestination("d")
	in.Settings = map[string]string{"b": "<&>", "a": "1"}
	in.Paused = true
	d, err := k.Commands.CreateDestination(t.Context(), k.Call(), in)
	if err != nil {
		t.Fatal(err)
	}
	k.Sequence()
	entries, err := k.Store.ReadStream(t.Context(), d.ID, 1, 1)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d events, %v", len(entries), err)
	}
	event, err := catalog.Decode(entries[0].Type, entries[0].DataSchema, entries[0].Data)
	if err != nil {
		t.Fatal(err)
	}
	created := event.(*catalog.DestinationCreated)
	if !created.Paused || string(created.Settings) != `{"a":"1","b":"<&>"}` || !json.Valid(created.Settings) || !entries[0].Warehouse.IsNil() || !entries[0].Project.IsNil() {
		t.Errorf("created %+v", created)
	}
}
