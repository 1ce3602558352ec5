package publishertest

import (
	"context"
	"errors"
	"slices"
	"testing"

	cloudevents "github.com/cloudevents/sdk-go/v2/event"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/publishers"
)

// Topic is the name of the destination under test.
const Topic = "under-test"

// Received is one event as a consumer of the destination got it, decoded by the
// rules of the destination's wire format and not by the transport's own code.
type Received struct {
	Event cloudevents.Event
	// Partition is what the destination keeps order in; empty where it keeps one
	// order over all.
	Partition string
}

// Capabilities say what kind of destination it is.
type Capabilities struct {
	// Chained is whether a batch that does not follow what the destination
	// stands at is refused with ErrMismatch, and Last tells where it stands.
	Chained bool
	// Fences is whether a second publisher that is prepared shuts the first one
	// out, with ErrFenced.
	Fences bool
	// Partitioned is whether order holds within an object's events, not over all.
	Partitioned bool
	// TooLarge is the size of data that the destination refuses for good; 0 when
	// it takes any. Larger makes it so; see Harness.Refuse for other reasons.
	TooLarge int
}

// Harness is one destination to test, empty and used by nobody else.
type Harness struct {
	Capabilities

	// Open returns a transport to the destination, not yet prepared; each call
	// is another publisher. The suite closes them.
	Open func(t *testing.T) publishers.Transport
	// Read returns what the destination holds, or was handed, for its consumers,
	// from its beginning and in its order, with repetitions. A destination with
	// transactions shows what was committed.
	Read func(t *testing.T) []Received

	// Refuse makes the destination refuse the event with this id for good,
	// whatever is tried. nil for one that can't; TooLarge is tried beside it.
	Refuse func(t *testing.T, id string)
	// Stop takes the destination away (a process is killed), Start brings it back
	// with what it held and where it was. nil for one that can't be away.
	Stop, Start func(t *testing.T)
	// LoseAnswer calls publish, which is of so many events, in a way that the
	// destination takes all of them while the publisher is not told, and returns
	// publish's error. nil for a destination that can't be brought to it.
	LoseAnswer func(t *testing.T, events int, publish func() error) error
}

// Run runs the suite; each test gets a destination of its own.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	for _, test := range []struct {
		name string
		run  func(*testing.T, Harness)
	}{
		{"BatchesArriveInOrderAndWhole", inOrder},
		{"NothingIsABatch", empty},
		{"ALargeBatchArrives", largeBatch},
		{"TheFirstMayStandInTheMiddle", startsInTheMiddle},
		{"RefusalAtTheBeginning", refusedFirst},
		{"RefusalInTheMiddleKeepsOrder", refusedInTheMiddle},
		{"RefusalAtTheEnd", refusedLast},
		{"WhatIsTooLargeIsRefusedForGood", tooLarge},
		{"WhatTheLimitAllowsIsTaken", limit},
		{"TheSameBatchTwice", twice},
		{"TheSameBatchByASecondPublisher", twiceByAnother},
		{"AnOlderPublisherDoesNoHarm", zombie},
		{"WhatDoesNotFollowIsRefused", mismatch},
		{"AReplayArrivesAgain", replay},
		{"AReplayThatDiesGoesOn", replayInterrupted},
		{"ANewEpochFollows", newEpoch},
		{"NothingIsLostInAnOutage", outage},
		{"NothingIsLostWithAnAnswer", lostAnswer},
		{"OddAttributesAndData", oddValues},
		{"AnEndedContextEndsIt", ended},
		{"ClosedIsClosed", closed},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, open(t))
		})
	}
}

// prepared opens a publisher that is ready.
func (h Harness) prepared(t *testing.T) publishers.Transport {
	t.Helper()
	p := h.open(t)
	if err := p.Prepare(t.Context()); err != nil {
		t.Fatalf("Prepare: %v", err)
	}
	return p
}

func (h Harness) open(t *testing.T) publishers.Transport {
	t.Helper()
	p := h.Open(t)
	t.Cleanup(func() { _ = p.Close() }) // a second time, for tests that close it
	return p
}

func publish(t *testing.T, p publishers.Transport, entries []eventstore.Entry, previous string) {
	t.Helper()
	if err := p.Publish(Topic, Messages(t, t.Context(), entries, previous)...); err != nil {
		t.Fatalf("Publish: %v", err)
	}
}

// last is the id that the next batch follows.
func last(entries []eventstore.Entry) string { return entries[len(entries)-1].ID.String() }

// attempts bounds [Deliver].
const attempts = 20

// Deliver publishes entries as the relay does, which never leaves out and never
// reorders: it goes on after what was taken, tries again what was not, asks for
// the last event after a mismatch, and leaves out what is refused for good, whose
// ids it returns. It fails the test after twenty attempts.
func Deliver(t *testing.T, p publishers.Transport, entries []eventstore.Entry, previous string) (parked []string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	for range attempts {
		if len(entries) == 0 {
			return parked
		}
		err := p.Publish(Topic, Messages(t, ctx, entries, previous)...)
		if err == nil {
			return parked
		}
		var batch *publishers.BatchError
		switch {
		case errors.As(err, &batch):
			if batch.Index > 0 {
				previous = entries[batch.Index-1].ID.String()
			}
			entries = entries[batch.Index:]
			if batch.Permanent {
				parked, entries = append(parked, entries[0].ID.String()), entries[1:]
			}
		case errors.Is(err, publishers.ErrFenced):
			t.Fatalf("Publish: %v", err)
		}
		if err := p.Prepare(ctx); err != nil {
			continue
		}
		if errors.Is(err, publishers.ErrMismatch) {
			place, ok, err := p.Last(ctx)
			if err != nil {
				continue
			}
			if at := slices.IndexFunc(entries, func(e eventstore.Entry) bool { return e.ID == place.Event }); ok && at >= 0 {
				previous, entries = entries[at].ID.String(), entries[at+1:]
			}
		}
	}
	t.Fatalf("%d events were not delivered in %d attempts", len(entries), attempts)
	return parked
}

// wantEntries checks that what a consumer sees first is these entries, in their
// order and whole, and that what it sees again is nothing else.
func (h Harness) wantEntries(t *testing.T, entries []eventstore.Entry) {
	t.Helper()
	h.wantFirstSeen(t, entries, true)
}

// wantOnce is wantEntries of a destination that got none of them twice.
func (h Harness) wantOnce(t *testing.T, entries []eventstore.Entry) {
	t.Helper()
	h.wantFirstSeen(t, entries, false)
}

func (h Harness) wantFirstSeen(t *testing.T, entries []eventstore.Entry, again bool) {
	t.Helper()
	want := map[string][]eventstore.Entry{}
	for _, e := range entries {
		want[h.orderOf(e)] = append(want[h.orderOf(e)], e)
	}
	seen := map[string]eventstore.Entry{}
	taken := map[string]int{} // by order
	partitions := map[string]string{}
	for i, r := range h.Read(t) {
		got, err := eventstore.FromCloudEvent(r.Event)
		if err != nil {
			t.Fatalf("event %d: %v\n%s", i, err, r.Event)
		}
		if was, ok := partitions[got.Stream.String()]; ok && was != r.Partition {
			t.Fatalf("events of object %s stand in partitions %q and %q", got.Stream, was, r.Partition)
		}
		partitions[got.Stream.String()] = r.Partition
		if before, ok := seen[r.Event.ID()]; ok {
			if !again {
				t.Fatalf("event %d at position %d was published twice", i, got.Position)
			}
			if before.Leaf != got.Leaf || before.Position != got.Position {
				t.Fatalf("event %s came again as another one", r.Event.ID())
			}
			continue
		}
		seen[r.Event.ID()] = got
		order := h.orderOf(got)
		n := taken[order]
		if n >= len(want[order]) {
			t.Fatalf("event %d at position %d is one too many", i, got.Position)
		}
		if w := want[order][n]; w.ID != got.ID || w.Position != got.Position || w.Epoch != got.Epoch || w.Leaf != got.Leaf {
			t.Fatalf("event %d is position %d of epoch %d (%s), want position %d of epoch %d (%s)",
				i, got.Position, got.Epoch, got.ID, w.Position, w.Epoch, w.ID)
		}
		taken[order]++
	}
	if len(seen) != len(entries) {
		t.Fatalf("%d of %d events arrived", len(seen), len(entries))
	}
}

// orderOf names the order that the entry stands in.
func (h Harness) orderOf(e eventstore.Entry) string {
	if h.Partitioned {
		return e.Stream.String()
	}
	return ""
}

// wantLast checks where the destination says that it stands.
func (h Harness) wantLast(t *testing.T, p publishers.Transport, e eventstore.Entry) {
	t.Helper()
	place, ok, err := p.Last(t.Context())
	if err != nil {
		t.Fatalf("Last: %v", err)
	}
	if !ok && !h.Chained {
		return // of a kind that is not asked
	}
	if want := (publishers.Place{Epoch: e.Epoch, Position: e.Position, Event: e.ID}); !ok || place != want {
		t.Fatalf("Last = %+v, %v; want %+v", place, ok, want)
	}
}
