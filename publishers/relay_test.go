package publishers

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// A batch that fails in the middle goes on where it failed, behind what was taken.
func TestAFailureInTheMiddleKeepsOrder(t *testing.T) {
	t.Parallel()
	for _, chained := range []bool{true, false} {
		w := newWorld(t)
		b := newBroker(chained)
		id := w.destination("d", b, commands.CreateDestination{})
		d := w.relay().runner(id)
		w.events(7)
		b.failAt = 4
		w.try(d)
		r, _ := w.row(id)
		if len(b.held) != 4 || r.Position != b.held[3].place.Position || r.Event != b.held[3].place.Event || r.failures != 1 || !r.waits || r.leased || r.published != 4 || r.err != errBroker.Error() {
			t.Errorf("after the failure: %d taken, %+v", len(b.held), r)
		}
		d.work(t.Context()) // it is not time yet
		if b.batches != 1 {
			t.Error("tried before its time")
		}
		b.failAt = 0
		w.try(d)
		if r, _ := w.row(id); len(b.held) != 4 || r.failures != 2 {
			t.Errorf("after the second failure: %d taken, %+v", len(b.held), r)
		}
		w.try(d)
		w.requireAll(id, b, 0)
	}
}

// Whoever cannot tell what was taken asks; whoever cannot be asked gets it again,
// with the same ids.
func TestALostAnswer(t *testing.T) {
	t.Parallel()
	for _, chained := range []bool{true, false} {
		w := newWorld(t)
		b := newBroker(chained)
		id := w.destination("d", b, commands.CreateDestination{})
		d := w.relay().runner(id)
		w.try(d)
		w.events(5)
		b.lose = true
		w.try(d)
		if r, _ := w.row(id); r.failures != 1 || r.Position == b.held[len(b.held)-1].place.Position {
			t.Errorf("after the loss %+v", r)
		}
		w.events(2)
		w.try(d)
		if chained {
			w.requireAll(id, b, 0)
		}
		w.requireFirstSeen(b, 0)
	}
}

// The first batch of all, too, when the destination may hold others' events: what
// is there comes again rather than never.
func TestALostAnswerToTheFirstBatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := newBroker(true)
	id := w.destination("d", b, commands.CreateDestination{})
	d := w.relay().runner(id)
	b.lose = true
	w.try(d)
	w.events(2)
	w.try(d)
	w.requireFirstSeen(b, 0)
	if r, _ := w.row(id); r.Place != w.after(0)[len(w.after(0))-1] {
		t.Errorf("at %+v", r)
	}
}

// A move of the place that is lost is made up for, whatever lies between.
func TestALostMoveOfThePlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := newBroker(true)
	id := w.destination("d", b, commands.CreateDestination{})
	r := w.relay()
	d := r.runner(id)
	w.events(3)
	w.try(d)
	was, _ := w.row(id)
	w.events(3)
	w.try(d)
	back := func() {
		w.Exec("UPDATE publish.destination SET position = $2, epoch = $3, event = $4, lease_owner = NULL WHERE destination_id = $1",
			[16]byte(id), was.Position, was.Epoch, [16]byte(was.Event))
	}
	back()
	w.try(r.runner(id)) // a new process finds out when it connects
	w.requireAll(id, b, 0)
	back()
	w.events(1)
	d.held.Store(false)
	w.try(d) // and one that is connected by the refusal
	w.requireAll(id, b, 0)
}

// Two processes do not publish one destination at the same time, and each goes on
// where the other ended.
func TestTwoWorkersOnOneDestination(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := newBroker(false)
	id := w.destination("d", b, commands.CreateDestination{})
	one, two := w.relay().runner(id), w.relay().runner(id)
	w.events(3)
	b.before = func(context.Context) {
		two.work(t.Context()) // while one is under way
		if two.held.Load() || b.batches != 1 {
			t.Error("two at once")
		}
	}
	w.try(one)
	w.requireAll(id, b, 0)
	b.before = nil
	w.events(1)
	two.work(t.Context()) // it stays with one
	if got := len(b.places()); got != len(w.after(0))-1 {
		t.Errorf("%d events", got)
	}
	one.release(t.Context())
	two.work(t.Context())
	w.requireAll(id, b, 0)
	w.events(1)
	one.work(t.Context())
	two.work(t.Context())
	w.requireAll(id, b, 0)
}

// A process that was frozen while it published wakes up, and finds that it may
// not move the place, whatever became of its batch.
func TestAFrozenWorkerMovesNothing(t *testing.T) {
	t.Parallel()
	for _, chained := range []bool{true, false} {
		w := newWorld(t)
		b := newBroker(chained)
		id := w.destination("d", b, commands.CreateDestination{})
		one, two := w.relay().runner(id), w.relay().runner(id)
		w.try(one)
		w.events(4)
		b.before = func(context.Context) {
			b.before = nil
			w.Exec("UPDATE publish.destination SET lease_until = clock_timestamp() - interval '1 second'")
			two.work(t.Context())
			w.events(2)
			two.work(t.Context())
		}
		one.work(t.Context())
		r, _ := w.row(id)
		if log := w.after(0); r.Place != log[len(log)-1] || one.held.Load() {
			t.Errorf("at %+v of %s", r, text(log))
		}
		w.requireFirstSeen(b, 0)
		if chained {
			w.requireAll(id, b, 0)
		}
		// A lease that ended is no lease, also when nobody took it.
		w.events(1)
		two.release(t.Context())
		b.before = func(context.Context) {
			b.before = nil
			w.Exec("UPDATE publish.destination SET lease_until = clock_timestamp() - interval '1 second'")
		}
		before := len(b.places())
		one.work(t.Context())
		if chained {
			w.requireAll(id, b, 0)
		} else if n := len(b.places()) - before; n != 2 {
			t.Errorf("%d events for one, once in vain", n)
		}
		w.requireFirstSeen(b, 0)
	}
}

// An event that is refused for good halts the destination, or is put aside.
func TestRefusalHaltsOrParks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := newBroker(true)
	halts := w.destination("halts", b, commands.CreateDestination{OnRefusal: "halt"})
	d := w.relay().runner(halts)
	w.events(6)
	log := w.after(0)
	bad := log[len(log)-3]
	b.refuse[bad.Event.String()] = true
	w.try(d)
	before := log[len(log)-4]
	r, _ := w.row(halts)
	if r.halted != bad.Position || r.Place != before || r.leased || r.err != errBroker.Error() || len(b.places()) != len(log)-3 {
		t.Fatalf("halted at %+v with %d of %d", r, len(b.places()), len(log))
	}
	w.try(d)
	if b.batches != 1 {
		t.Error("a halted destination is published to")
	}
	// An operator lets it pass, and then has it published after all.
	if _, err := w.Commands.SkipRefused(t.Context(), w.Call(), commands.SkipRefused{Destination: halts, Position: bad.Position}); err != nil {
		t.Fatal(err)
	}
	w.Sequence()
	w.try(d)
	want := slices.DeleteFunc(w.after(0), func(p Place) bool { return p == bad })
	if r, _ := w.row(halts); !slices.Equal(b.places(), want) || r.Place != want[len(want)-1] || !slices.Equal(r.parked, []int64{bad.Position}) {
		t.Fatalf("it holds %s, %+v", text(b.places()), r)
	}
	retry := func() {
		t.Helper()
		if _, err := w.Commands.RetryParked(t.Context(), w.Call(), commands.RetryParked{Destination: halts, Position: bad.Position}); err != nil {
			t.Fatal(err)
		}
		w.Sequence()
		w.try(d)
	}
	retry()
	if r, _ := w.row(halts); len(r.parked) != 1 || slices.Contains(b.places(), bad) || r.halted != 0 {
		t.Fatalf("it holds %s, %+v", text(b.places()), r)
	}
	delete(b.refuse, bad.Event.String())
	b.lose = true // the answer, too
	retry()
	w.try(d)
	w.events(1)
	w.try(d)
	places := b.places()
	if r, _ := w.row(halts); len(r.parked) != 0 || r.Place != places[len(places)-1] || len(places) != len(w.after(0)) || r.halted != 0 {
		t.Fatalf("it holds %s, %+v", text(places), r)
	}

	// The other policy needs no operator.
	p := newBroker(true)
	parks := w.destination("parks", p, commands.CreateDestination{OnRefusal: "park"})
	log = w.after(0)
	p.refuse[log[0].Event.String()], p.refuse[log[3].Event.String()], p.refuse[log[len(log)-1].Event.String()] = true, true, true
	w.try(w.relay().runner(parks))
	want = slices.DeleteFunc(slices.Clone(log), func(at Place) bool { return p.refuse[at.Event.String()] })
	r, _ = w.row(parks)
	if !slices.Equal(p.places(), want) || !slices.Equal(r.parked, []int64{log[0].Position, log[3].Position, log[len(log)-1].Position}) ||
		r.Position != log[len(log)-1].Position || r.Event != want[len(want)-1].Event || r.halted != 0 {
		t.Errorf("it holds %s, %+v", text(p.places()), r)
	}
	var reason string
	if err := w.Pool.QueryRow(t.Context(), "SELECT reason FROM publish.parked WHERE position = $1 AND event = $2", log[3].Position, [16]byte(log[3].Event)).Scan(&reason); err != nil || reason != errBroker.Error() {
		t.Errorf("reason %q, %v", reason, err)
	}
}

// What a filter leaves out moves the place, and is in nobody's way.
func TestFilteredEventsMoveThePlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := newBroker(true)
	id := w.destination("d", b, commands.CreateDestination{Filter: catalog.DestinationFilter{Entities: []string{"table"}}})
	d := w.relay().runner(id)
	w.events(5)
	w.try(d)
	if r, _ := w.row(id); len(b.held) != 0 || r.Position != int64(len(w.log())) || !r.Event.IsNil() || r.failures != 0 {
		t.Errorf("%d published, %+v", len(b.held), r)
	}
	w.Namespace("a")
	w.Table("a", "t")
	w.events(2)
	w.try(d)
	if r, _ := w.row(id); len(b.held) != 1 || r.Event != b.held[0].place.Event || r.Position != int64(len(w.log())) || r.published != 1 {
		t.Errorf("%d published, %+v", len(b.held), r)
	}
}

func TestANewDestinationStartsWhereItIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.events(5)
	log := w.log()
	middle := log[len(log)-3]
	relay := w.relay()
	for name, c := range map[string]struct {
		start commands.DestinationStart
		first int64
	}{
		"beginning": {commands.DestinationStart{From: "beginning"}, 1},
		"now":       {commands.DestinationStart{From: "now"}, 0},
		"position":  {commands.DestinationStart{From: "position", Position: middle.Position}, middle.Position},
		"time":      {commands.DestinationStart{From: "time", Time: time.UnixMilli(1)}, 1},
	} {
		b := newBroker(true)
		id := w.destination(name, b, commands.CreateDestination{Start: c.start})
		if c.first == 0 { // its own creation is the first that it hears of
			c.first = int64(len(w.log()))
		}
		w.try(relay.runner(id))
		w.requireAll(id, b, c.first-1)
	}
}

// A replay while a batch is under way: what was decreed holds.
func TestAReplayDuringABatch(t *testing.T) {
	t.Parallel()
	for _, chained := range []bool{true, false} {
		w := newWorld(t)
		b := newBroker(chained)
		id := w.destination("d", b, commands.CreateDestination{})
		d := w.relay().runner(id)
		w.try(d)
		w.events(5)
		b.before = func(context.Context) {
			b.before = nil
			if _, err := w.Commands.ReplayDestination(t.Context(), w.Call(), commands.ReplayDestination{Destination: id, Start: commands.DestinationStart{From: "position", Position: 3}}); err != nil {
				t.Error(err)
			}
			w.Sequence()
		}
		w.try(d)
		w.requireFirstSeen(b, 0)
		counts := map[int64]int{}
		for _, p := range b.places() {
			counts[p.Position]++
		}
		if counts[1] != 1 || counts[3] != 2 || counts[5] != 2 {
			t.Errorf("it holds %s", text(b.places()))
		}
		if b.opened != 2 || b.closed != 1 {
			t.Errorf("%d connections were opened and %d closed: a replay is another version", b.opened, b.closed)
		}
		if r, _ := w.row(id); r.Position != int64(len(w.log())) {
			t.Errorf("at %+v", r)
		}
	}
}

// Large events go by reference, at the limit that an operator set or else the
// destination's own.
func TestLargeEventsGoByReference(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own, set, none := newBroker(true), newBroker(true), newBroker(true)
	own.limit, set.limit = 10_000, 200_000
	relay := w.relay()
	list := []ids.ID{
		w.destination("own", own, commands.CreateDestination{}),
		w.destination("set", set, commands.CreateDestination{Settings: map[string]string{SettingMaxMessageBytes: "20000"}}),
		w.destination("none", none, commands.CreateDestination{}),
	}
	w.Namespace("a")
	made := w.Table("a", "t")
	if _, err := w.Commit(commands.Identifier{Namespace: []string{"a"}, Name: "t"}, `[]`, `[{"action":"set-properties","updates":{"big":"`+strings.Repeat("x", 20_000)+`"}}]`); err != nil {
		t.Fatal(err)
	}
	_ = made
	w.Sequence()
	for i, b := range []*broker{own, set, none} {
		w.try(relay.runner(list[i]))
		w.requireAll(list[i], b, 0)
		at := b.held[len(b.held)-1]
		switch {
		case i < 2 && (at.size != 0 || at.ref != "/events/"+at.place.Event.String()):
			t.Errorf("by a limit: %+v", at)
		case i == 2 && (at.size < 20_000 || at.ref != ""):
			t.Errorf("below the limit: %+v", at)
		}
		if first := b.held[0]; first.size == 0 || first.ref != "" {
			t.Errorf("a small one: %+v", first)
		}
	}
}

// After a fail-over that lost events a destination goes on, and its consumers are
// told by the event that opens the epoch. Events that no history explains stop it.
func TestEventsThatTheLogDoesNotKnow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := newBroker(true)
	id := w.destination("d", b, commands.CreateDestination{})
	d := w.relay().runner(id)
	w.events(2)
	w.try(d)
	b.held = append(b.held, held{place: Place{1, int64(len(w.log()) + 1), w.IDs.New()}}) // lost by the log
	w.Exec("UPDATE es.log_head SET timeline = 'another'")
	w.events(2)
	w.try(d)
	phantom := slices.IndexFunc(b.places(), func(p Place) bool { return !slices.Contains(w.after(0), p) })
	places := slices.Delete(b.places(), phantom, phantom+1)
	if !slices.Equal(places, w.after(0)) || places[len(places)-1].Epoch != 2 {
		t.Errorf("it holds %s, want %s", text(places), text(w.after(0)))
	}

	b.held = append(b.held, held{place: Place{2, 3, w.IDs.New()}}) // never of this log
	w.events(1)
	n := len(b.places())
	w.try(d)
	if r, _ := w.row(id); len(b.places()) != n || r.failures != 1 || !strings.Contains(r.err, "not of this log") {
		t.Errorf("%d published, %+v", len(b.places())-n, r)
	}
	b.held = nil // somebody emptied it
	w.try(d)
	if got := b.places(); len(got) != 1 || b.held[0].previous != "" || got[0] != w.after(int64(len(w.log())) - 1)[0] {
		t.Errorf("it holds %s", text(got))
	}
}

func TestWhereADestinationStands(t *testing.T) {
	t.Parallel()
	at := func(position int64) Place {
		return Place{Epoch: 1, Position: position, Event: ids.MustParse(fmt.Sprintf("00000000-0000-7000-8000-%012d", position))}
	}
	cursor := func(position, event int64) Place {
		p := at(position)
		p.Event = at(event).Event
		return p
	}
	for name, c := range map[string]struct {
		place     Place
		published int64
		last      Place
		want      Place
	}{
		"the move was lost":                 {cursor(50, 50), 50, at(80), at(80)},
		"another published behind a filter": {cursor(50, 40), 40, at(45), cursor(50, 45)},
		"it was restored":                   {cursor(50, 50), 50, at(30), at(30)},
		"a replay whose batch was lost":     {cursor(20, 50), 50, at(30), at(30)},
		"a replay during a batch":           {cursor(20, 50), 50, at(60), cursor(20, 60)},
		"a replay of a restored one":        {cursor(20, 50), 50, at(10), at(10)},
		"a new one on old ground":           {Place{Epoch: 1, Position: 20}, 0, at(60), cursor(20, 60)},
	} {
		if got := corrected(c.place, c.published, c.last); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestPausesDoubleAndAreSpread(t *testing.T) {
	t.Parallel()
	random := 0.0
	r := NewRelay(Config{Random: func() float64 { return random }})
	for failures, want := range map[int]time.Duration{1: 125 * time.Millisecond, 2: 250 * time.Millisecond, 5: 2 * time.Second, 8: 15 * time.Second, 1000: 15 * time.Second} {
		random = 0
		low := r.wait(failures)
		random = 0.999999
		if high := r.wait(failures); low != want || high < 2*low-time.Millisecond || high > 2*low {
			t.Errorf("%d failures: %v to %v, want %v", failures, low, high, want)
		}
	}
}

// The statements of the relay run all the time, on tables that are too small to
// have statistics: none may look so dear that PostgreSQL compiles it (JIT), which
// takes seconds of a processor each time and delays every event by that.
func TestStatementsAreNotCompiled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const compiled = 100_000 // jit_above_cost
	for name, sql := range map[string]string{"look": lookSQL, "check": checkSQL, "take": takeSQL, "settle": settleSQL, "retries": retriesSQL, "release": releaseSQL} {
		conn, err := w.Pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		described, err := conn.Conn().Prepare(t.Context(), "", sql)
		conn.Release()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		nulls := strings.TrimSuffix(strings.Repeat("NULL,", len(described.ParamOIDs)), ",")
		if nulls != "" {
			nulls = "(" + nulls + ")"
		}
		var plan []struct {
			Plan struct {
				Cost float64 `json:"Total Cost"`
			}
		}
		tx, err := w.Pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var text []byte
		for _, statement := range []string{"SET LOCAL plan_cache_mode = force_generic_plan", "PREPARE looked AS " + sql} {
			if _, err := tx.Exec(t.Context(), statement); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		err = tx.QueryRow(t.Context(), "EXPLAIN (FORMAT JSON) EXECUTE looked"+nulls).Scan(&text)
		if err == nil {
			err = json.Unmarshal(text, &plan)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if cost := plan[0].Plan.Cost; cost <= 0 || cost > compiled/10 {
			t.Errorf("%s costs %.0f", name, cost)
		}
		if _, err := tx.Exec(t.Context(), "DEALLOCATE looked"); err != nil {
			t.Fatal(err)
		}
		_ = tx.Rollback(t.Context())
	}
}
