package publishertest

import (
	"errors"
	"slices"
	"testing"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/publishers"
)

func inOrder(t *testing.T, h Harness) {
	p, log := h.prepared(t), NewLog(t)
	if place, ok, err := p.Last(t.Context()); ok || err != nil {
		t.Fatalf("Last of an empty destination = %+v, %v, %v", place, ok, err)
	}
	previous := ""
	var all []eventstore.Entry
	for _, n := range []int{1, 7, 40, 1} {
		batch := log.Append(n)
		publish(t, p, batch, previous)
		previous, all = last(batch), append(all, batch...)
		h.wantLast(t, p, batch[n-1])
	}
	h.wantOnce(t, all)
}

func empty(t *testing.T, h Harness) {
	p := h.prepared(t)
	if err := p.Publish(Topic); err != nil {
		t.Fatalf("Publish of nothing: %v", err)
	}
	h.wantOnce(t, nil)
}

func largeBatch(t *testing.T, h Harness) {
	p, log := h.prepared(t), NewLog(t)
	first, second := log.Append(500), log.Append(500)
	publish(t, p, first, "")
	publish(t, p, second, last(first))
	h.wantOnce(t, append(first, second...))
}

func startsInTheMiddle(t *testing.T, h Harness) {
	p, log := h.prepared(t), NewLog(t)
	log.StartAt(1 << 40)
	batch := log.Append(5)
	publish(t, p, batch, "")
	h.wantLast(t, p, batch[4])
	next := log.Append(5)
	publish(t, h.prepared(t), next, last(batch)) // by one that knows no more than the destination
	h.wantOnce(t, append(batch, next...))
}

func refusedFirst(t *testing.T, h Harness)       { refused(t, h, 0) }
func refusedInTheMiddle(t *testing.T, h Harness) { refused(t, h, 4) }
func refusedLast(t *testing.T, h Harness)        { refused(t, h, 9) }

// refused has one message of ten refused for good. Before it all is taken, of
// what is behind it nothing, so that what was not taken can follow in its order.
func refused(t *testing.T, h Harness, at int) {
	p, log := h.prepared(t), NewLog(t)
	before := log.Append(3)
	publish(t, p, before, "")
	batch := log.Append(at)
	switch {
	case h.Refuse != nil:
		batch = append(batch, log.Append(1)...)
		h.Refuse(t, batch[at].ID.String())
	case h.TooLarge > 0:
		batch = append(batch, log.AppendLarge(h.TooLarge))
	default:
		batch = append(batch, log.Append(1)...) // it refuses nothing, and then takes all
	}
	batch = append(batch, log.Append(9-at)...)
	err := p.Publish(Topic, Messages(t, t.Context(), batch, last(before))...)
	if h.Refuse == nil && h.TooLarge == 0 {
		if err != nil {
			t.Fatalf("Publish: %v", err)
		}
		h.wantOnce(t, append(before, batch...))
		return
	}
	wantRefused(t, err, at)
	taken := append(before, batch[:at]...)
	h.wantOnce(t, taken)

	// The rest, first in vain with what is refused before it, then without.
	wantRefused(t, retry(t, p, batch[at:], last(taken)), 0)
	h.wantOnce(t, taken)
	if rest := batch[at+1:]; len(rest) > 0 {
		if err := retry(t, p, rest, last(taken)); err != nil {
			t.Fatalf("Publish of the rest: %v", err)
		}
		taken = append(taken, rest...)
	}
	h.wantOnce(t, taken)
	h.wantLast(t, p, taken[len(taken)-1])
}

// retry publishes after a failure.
func retry(t *testing.T, p publishers.Transport, entries []eventstore.Entry, previous string) error {
	t.Helper()
	if err := p.Prepare(t.Context()); err != nil {
		t.Fatalf("Prepare after a failure: %v", err)
	}
	return p.Publish(Topic, Messages(t, t.Context(), entries, previous)...)
}

func wantRefused(t *testing.T, err error, at int) {
	t.Helper()
	var batch *publishers.BatchError
	if !errors.As(err, &batch) || batch.Index != at || !batch.Permanent || batch.Err == nil {
		t.Fatalf("Publish: %v, want message %d refused for good", err, at)
	}
}

func tooLarge(t *testing.T, h Harness) {
	p, log := h.prepared(t), NewLog(t)
	if h.TooLarge == 0 {
		batch := []eventstore.Entry{log.AppendLarge(2 << 20)}
		publish(t, p, batch, "")
		h.wantOnce(t, batch)
		return
	}
	wantRefused(t, p.Publish(Topic, Messages(t, t.Context(), []eventstore.Entry{log.AppendLarge(h.TooLarge)}, "")...), 0)
	h.wantOnce(t, nil)
	batch := log.Append(3) // it harmed nobody
	if err := retry(t, p, batch, ""); err != nil {
		t.Fatalf("Publish after one that was too large: %v", err)
	}
	h.wantOnce(t, batch)
}

// limit has the destination take what it says that it takes.
func limit(t *testing.T, h Harness) {
	p, log := h.prepared(t), NewLog(t)
	limiter, ok := p.(publishers.Limiter)
	if !ok || limiter.MaxMessageBytes() == 0 {
		if h.TooLarge > 0 {
			t.Fatalf("the destination refuses %d bytes and says nothing of a limit", h.TooLarge)
		}
		return
	}
	if n := limiter.MaxMessageBytes(); h.TooLarge == 0 || n > h.TooLarge {
		t.Fatalf("MaxMessageBytes = %d, but %d bytes are refused", n, h.TooLarge)
	}
	const around = 4096 // attributes in any wire format
	batch := append(log.Append(1), log.AppendLarge(limiter.MaxMessageBytes()-around))
	batch = append(batch, log.Append(1)...)
	publish(t, p, batch, "")
	h.wantOnce(t, batch)
}

// twice: what comes again comes with its id, and changes no order.
func twice(t *testing.T, h Harness) {
	p, log := h.prepared(t), NewLog(t)
	again(t, h, log, p, p)
}

func twiceByAnother(t *testing.T, h Harness) {
	log := NewLog(t)
	again(t, h, log, h.prepared(t), h.open(t))
}

func again(t *testing.T, h Harness, log *Log, first, second publishers.Transport) {
	t.Helper()
	before, batch, after := log.Append(2), log.Append(10), log.Append(3)
	publish(t, first, before, "")
	publish(t, first, batch, last(before))
	if err := second.Prepare(t.Context()); err != nil {
		t.Fatalf("Prepare: %v", err)
	}
	if parked := Deliver(t, second, append(slices.Clone(batch), after...), last(before)); len(parked) > 0 {
		t.Fatalf("%d events were parked", len(parked))
	}
	all := append(append(before, batch...), after...)
	h.wantEntries(t, all)
	h.wantLast(t, second, all[len(all)-1])
}

// zombie is a publisher that lost its lease, does not know it, and goes on.
func zombie(t *testing.T, h Harness) {
	log := NewLog(t)
	old := h.prepared(t)
	first, second, third := log.Append(5), log.Append(5), log.Append(5)
	publish(t, old, first, "")
	young := h.prepared(t)
	publish(t, young, second, last(first))

	err := old.Publish(Topic, Messages(t, t.Context(), second[:3], last(first))...)
	switch {
	case h.Fences && !errors.Is(err, publishers.ErrFenced):
		t.Fatalf("Publish of the older: %v, want ErrFenced", err)
	case err != nil && !errors.Is(err, publishers.ErrFenced) && !errors.Is(err, publishers.ErrMismatch):
		t.Fatalf("Publish of the older: %v, want ErrFenced or ErrMismatch", err)
	}
	h.wantEntries(t, append(first, second...))

	if err := young.Publish(Topic, Messages(t, t.Context(), third, last(second))...); err != nil {
		t.Fatalf("Publish of the younger, after the older: %v", err)
	}
	h.wantEntries(t, slices.Concat(first, second, third))
	h.wantLast(t, young, third[4])
}

// mismatch: a cursor that is lost, or of another history.
func mismatch(t *testing.T, h Harness) {
	if !h.Chained {
		return // takes what it is given, and consumers see the gap
	}
	p, log := h.prepared(t), NewLog(t)
	first, missing, second := log.Append(5), log.Append(2), log.Append(5)
	publish(t, p, first, "")
	for name, wrong := range map[string]string{"ahead": last(missing), "behind": first[2].ID.String(), "none": ""} {
		err := retry(t, p, second, wrong)
		if !errors.Is(err, publishers.ErrMismatch) {
			t.Fatalf("%s: Publish: %v, want ErrMismatch", name, err)
		}
		h.wantOnce(t, first)
		h.wantLast(t, p, first[4])
	}
	all := append(missing, second...)
	if err := retry(t, p, all, last(first)); err != nil {
		t.Fatalf("Publish of what follows: %v", err)
	}
	h.wantOnce(t, append(first, all...))
}

// replay is asked for by an operator: the place moves back, while the last event
// that was published stays what it is.
func replay(t *testing.T, h Harness) {
	log := NewLog(t)
	p := h.prepared(t)
	all := log.Append(10)
	publish(t, p, all, "")
	for range 2 { // one behind the other, and by another publisher each
		p = h.prepared(t)
		publish(t, p, all[:4], last(all))
		publish(t, p, all[4:], all[3].ID.String())
		h.wantLast(t, p, all[9])
	}
	next := log.Append(3)
	publish(t, p, next, last(all))
	h.wantTimes(t, all, 3)
	h.wantTimes(t, next, 1)
	h.wantEntries(t, append(all, next...))
}

// replayInterrupted ends a replay between two batches, without its place.
func replayInterrupted(t *testing.T, h Harness) {
	log := NewLog(t)
	p := h.prepared(t)
	all := log.Append(12)
	publish(t, p, all, "")
	publish(t, p, all[:4], last(all)) // the place is not moved
	p = h.prepared(t)
	if parked := Deliver(t, p, all, last(all)); len(parked) > 0 {
		t.Fatalf("%d events were parked", len(parked))
	}
	next := log.Append(2)
	publish(t, p, next, last(all))
	h.wantTimes(t, all[4:], 2)
	h.wantTimes(t, next, 1)
	h.wantEntries(t, append(all, next...))
}

// wantTimes checks how often consumers were handed each of these.
func (h Harness) wantTimes(t *testing.T, entries []eventstore.Entry, times int) {
	t.Helper()
	counts := map[string]int{}
	for _, r := range h.Read(t) {
		counts[r.Event.ID()]++
	}
	for _, e := range entries {
		if n := counts[e.ID.String()]; n != times {
			t.Fatalf("position %d was published %d times, want %d", e.Position, n, times)
		}
	}
}

// newEpoch: after a fail-over that lost events, positions go back.
func newEpoch(t *testing.T, h Harness) {
	p, log := h.prepared(t), NewLog(t)
	old := log.Append(10)
	publish(t, p, old, "")
	log.NewEpoch(6)
	young := log.Append(5)
	publish(t, p, young, last(old))
	h.wantLast(t, p, young[4])
	h.wantOnce(t, append(old, young...))
}
