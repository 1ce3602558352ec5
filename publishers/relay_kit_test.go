package publishers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
)

// broker is a destination in this process: it keeps what it takes, and fails as
// it is told. It is no part of what is tested.
type broker struct {
	mu   sync.Mutex
	news *sync.Cond
	held []held

	chained bool            // refuses what does not follow its last event, and can be asked for it
	refuse  map[string]bool // for good, by id
	failAt  int             // index of a message in the next batch that is not taken; -1 for none
	lose    bool            // the next batch is taken, and its answer lost
	down    error           // nothing works
	before  func(ctx context.Context)
	limit   int

	opened, closed, batches int
	seen                    []*Destination
}

type held struct {
	place    Place
	ref      string
	size     int
	previous string
}

func newBroker(chained bool) *broker {
	b := &broker{chained: chained, refuse: map[string]bool{}, failAt: -1}
	b.news = sync.NewCond(&b.mu)
	return b
}

func (b *broker) connect(_ context.Context, d *Destination) (Transport, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opened++
	b.seen = append(b.seen, d)
	b.news.Broadcast()
	return &brokerTransport{broker: b}, nil
}

type brokerTransport struct {
	broker *broker
	closed bool
}

func (t *brokerTransport) MaxMessageBytes() int { return t.broker.limit }

func (t *brokerTransport) Prepare(context.Context) error {
	t.broker.mu.Lock()
	defer t.broker.mu.Unlock()
	return t.broker.down
}

func (t *brokerTransport) Last(context.Context) (Place, bool, error) {
	b := t.broker
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.chained || len(b.held) == 0 {
		return Place{}, false, b.down
	}
	return b.held[len(b.held)-1].place, true, b.down
}

func (t *brokerTransport) Close() error {
	t.broker.mu.Lock()
	defer t.broker.mu.Unlock()
	if !t.closed {
		t.closed = true
		t.broker.closed++
		t.broker.news.Broadcast()
	}
	return nil
}

var errBroker = errors.New("the broker fails as it was told")

func (t *brokerTransport) Publish(_ string, messages ...*message.Message) error {
	b := t.broker
	b.mu.Lock()
	before := b.before
	b.batches++
	b.news.Broadcast()
	b.mu.Unlock()
	if before != nil {
		before(messages[0].Context())
		if err := messages[0].Context().Err(); err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.news.Broadcast()
	if b.down != nil {
		return b.down
	}
	for i, m := range messages {
		event := EventOf(m)
		entry, err := eventstore.FromCloudEvent(*event)
		if err != nil || m.UUID != event.ID() || PreviousOf(m) != "" && i > 0 && PreviousOf(m) != messages[i-1].UUID {
			return fmt.Errorf("no message: %w", err)
		}
		last := ""
		if n := len(b.held); n > 0 {
			last = b.held[n-1].place.Event.String()
		}
		if b.chained && PreviousOf(m) != last {
			return &BatchError{Index: i, Err: ErrMismatch}
		}
		if b.refuse[m.UUID] {
			return &BatchError{Index: i, Permanent: true, Err: errBroker}
		}
		if b.failAt == i {
			b.failAt = -1
			return &BatchError{Index: i, Err: errBroker}
		}
		ref, _ := event.Extensions()["dataref"].(string)
		b.held = append(b.held, held{Place{entry.Epoch, entry.Position, entry.ID}, ref, len(event.Data()), PreviousOf(m)})
	}
	if b.lose {
		b.lose = false
		return errBroker
	}
	return nil
}

// places is what the broker holds.
func (b *broker) places() []Place {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []Place
	for _, h := range b.held {
		list = append(list, h.place)
	}
	return list
}

// wait waits until something holds of the broker.
func (b *broker) wait(t *testing.T, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.news.Broadcast()
	})()
	b.mu.Lock()
	defer b.mu.Unlock()
	for !holds() {
		if ctx.Err() != nil {
			t.Fatalf("waited in vain; the broker holds %d events", len(b.held))
		}
		b.news.Wait()
	}
}

// world is a catalog with relays to brokers.
type world struct {
	*kit.Kit
	brokers map[string]*broker // by the name of the destination
	n       int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{Kit: kit.New(t, kit.Setup{}), brokers: map[string]*broker{}}
}

// relay makes one that is not run.
func (w *world) relay(change ...func(*Config)) *Relay {
	c := Config{
		Pool: w.Pool, Log: w.Store, Source: func(context.Context) (string, error) { return "urn:icecore:" + w.Store.LogID().String(), nil },
		Connect:   func(ctx context.Context, d *Destination) (Transport, error) { return w.brokers[d.Name].connect(ctx, d) },
		Reference: func(event ids.ID) string { return "/events/" + event.String() },
		FirstWait: time.Hour, LongestWait: time.Hour, Pace: time.Millisecond,
	}
	for _, f := range change {
		f(&c)
	}
	return NewRelay(c)
}

// destination makes one with a broker.
func (w *world) destination(name string, b *broker, in commands.CreateDestination) ids.ID {
	w.Helper()
	in.Name, in.Kind = name, "log"
	if in.OnRefusal == "" {
		in.OnRefusal = "halt"
	}
	w.brokers[name] = b
	d, err := w.Commands.CreateDestination(w.Context(), w.Call(), in)
	if err != nil {
		w.Fatal(err)
	}
	w.Sequence()
	return d.ID
}

// events adds some to the log.
func (w *world) events(n int) {
	w.Helper()
	for range n {
		w.n++
		w.Namespace(fmt.Sprintf("n%d", w.n))
	}
	w.Sequence()
}

// log is all of it.
func (w *world) log() (list []eventstore.Entry) {
	w.Helper()
	for position := int64(0); ; {
		page, err := w.Store.ReadAfter(w.Context(), position, 1000)
		if err != nil {
			w.Fatal(err)
		}
		if len(page) == 0 {
			return list
		}
		list, position = append(list, page...), page[len(page)-1].Position
	}
}

// after are the places of the log behind a position.
func (w *world) after(position int64) (list []Place) {
	w.Helper()
	for _, e := range w.log() {
		if e.Position > position {
			list = append(list, Place{e.Epoch, e.Position, e.ID})
		}
	}
	return list
}

// row is what stands of a destination.
type row struct {
	Place
	failures          int
	published, halted int64
	err               string
	leased, waits     bool
	parked            []int64
}

func (w *world) row(id ids.ID) (r row, found bool) {
	w.Helper()
	var event *[16]byte
	rows, err := w.Pool.Query(w.Context(), `SELECT epoch, position, event, failures, published, coalesce(halted_at, 0), coalesce(last_error, ''),
		lease_owner IS NOT NULL AND lease_until > clock_timestamp(), retry_after IS NOT NULL,
		ARRAY(SELECT position FROM publish.parked p WHERE p.destination_id = d.destination_id ORDER BY 1)
		FROM publish.destination d WHERE destination_id = $1`, [16]byte(id))
	if err != nil {
		w.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(&r.Epoch, &r.Position, &event, &r.failures, &r.published, &r.halted, &r.err, &r.leased, &r.waits, &r.parked); err != nil {
			w.Fatal(err)
		}
		found = true
	}
	if event != nil {
		r.Event = *event
	}
	return r, found
}

// runner is one of a relay that works when it is told.
func (r *Relay) runner(id ids.ID) *runner {
	_, cancel := context.WithCancel(context.Background())
	return &runner{relay: r, id: id, owner: r.config.IDs.New(), wake: make(chan struct{}, 1), cancel: cancel}
}

// try has a runner work, as at the next look, and lets time pass before.
func (w *world) try(d *runner) {
	w.Helper()
	w.Exec("UPDATE publish.destination SET retry_after = NULL WHERE destination_id = $1", [16]byte(d.id))
	d.work(w.Context())
}

// requireAll holds that a broker holds the log behind a position, in its order,
// and nothing twice; and that the destination knows it.
func (w *world) requireAll(id ids.ID, b *broker, behind int64) {
	w.Helper()
	want := w.after(behind)
	if got := b.places(); !slices.Equal(got, want) {
		w.Errorf("the broker holds %s, want %s", text(got), text(want))
	}
	if r, _ := w.row(id); r.Place != want[len(want)-1] || r.failures != 0 {
		w.Errorf("the destination stands at %+v, want %+v", r, want[len(want)-1])
	}
}

// requireFirstSeen holds the same of what a consumer sees that dedupes by id.
func (w *world) requireFirstSeen(b *broker, behind int64) {
	w.Helper()
	var first []Place
	for _, p := range b.places() {
		if !slices.Contains(first, p) {
			first = append(first, p)
		}
	}
	if want := w.after(behind); !slices.Equal(first, want) {
		w.Errorf("consumers see %s first, want %s", text(first), text(want))
	}
}

func text(places []Place) string {
	var s strings.Builder
	for _, p := range places {
		fmt.Fprintf(&s, "%d ", p.Position)
	}
	return "[" + strings.TrimSpace(s.String()) + "]"
}
