package publishertest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/publishers"
)

// outage takes the destination away between batches, and brings it back.
func outage(t *testing.T, h Harness) {
	if h.Stop == nil {
		return
	}
	p, log := h.prepared(t), NewLog(t)
	all := log.Append(5)
	publish(t, p, all, "")
	for range 2 {
		batch := log.Append(20)
		h.Stop(t)
		err := p.Publish(Topic, Messages(t, t.Context(), batch, last(all))...)
		wantTransient(t, "Publish", err)
		if err := p.Prepare(t.Context()); err == nil {
			t.Fatal("Prepare of what is away succeeded")
		}
		h.Start(t)
		if parked := Deliver(t, p, batch, last(all)); len(parked) > 0 {
			t.Fatalf("%d events were parked", len(parked))
		}
		all = append(all, batch...)
		h.wantEntries(t, all)
		h.wantLast(t, p, all[len(all)-1])
	}
}

func wantTransient(t *testing.T, what string, err error) {
	t.Helper()
	var batch *publishers.BatchError
	if err == nil || errors.Is(err, publishers.ErrFenced) || errors.Is(err, publishers.ErrMismatch) || errors.As(err, &batch) && batch.Permanent {
		t.Fatalf("%s while the destination was away: %v, want a failure that passes", what, err)
	}
}

func lostAnswer(t *testing.T, h Harness) {
	if h.LoseAnswer == nil {
		return
	}
	p, log := h.prepared(t), NewLog(t)
	all := log.Append(5)
	publish(t, p, all, "")
	for _, another := range []bool{false, true} {
		batch := log.Append(10)
		previous := last(all)
		err := h.LoseAnswer(t, len(batch), func() error {
			return p.Publish(Topic, Messages(t, t.Context(), batch, previous)...)
		})
		wantTransient(t, "Publish", err)
		all = append(all, batch...)
		h.wantEntries(t, all)

		if another {
			p = h.open(t)
		}
		if err := p.Prepare(t.Context()); err != nil {
			t.Fatalf("Prepare: %v", err)
		}
		next := log.Append(5)
		if parked := Deliver(t, p, append(slices.Clone(batch), next...), previous); len(parked) > 0 {
			t.Fatalf("%d events were parked", len(parked))
		}
		all = append(all, next...)
		h.wantEntries(t, all)
		h.wantLast(t, p, all[len(all)-1])
	}
}

// oddValues: whatever stands in attributes and data arrives as it is, and what
// cannot is refused for good; nothing gets stuck, and nobody's headers are broken.
func oddValues(t *testing.T, h Harness) {
	p, log := h.prepared(t), NewLog(t)
	values := []string{
		"two words", "quoted \"text\"", `back\slash`, "per%20cent", "100%", "ünïcode", "日本語", "😀", "a:b;c=d,e", " lead", "trail ",
		"$SYS", ">", "*", "a.b.c", strings.Repeat("long ", 400),
		"line\nbreak", "cr\r\nce-id: forged", "nul\x00", "tab\there",
	}
	var entries []eventstore.Entry
	var messages []*message.Message
	previous := ""
	for _, value := range values {
		e := log.AppendData([]byte(`{"name":` + quoted(value) + `}`))
		entry, err := eventstore.ToCloudEvent(e, Source)
		if err != nil {
			t.Fatal(err)
		}
		event := entry.Clone()
		event.SetExtension("dataref", value)
		messages = append(messages, publishers.FromEvent(t.Context(), &event, previous))
		entries, previous = append(entries, e), e.ID.String()
	}
	refused := map[string]bool{}
	previous = ""
	for i, m := range messages {
		err := retryMessage(t, p, publishers.FromEvent(t.Context(), publishers.EventOf(m), previous))
		var batch *publishers.BatchError
		switch {
		case errors.As(err, &batch) && batch.Permanent && batch.Index == 0 && strings.ContainsAny(values[i], "\r\n\x00\t"):
			refused[entries[i].ID.String()] = true // CloudEvents forbids control characters in attributes
		case err != nil:
			t.Fatalf("%q: %v", values[i], err)
		default:
			previous = entries[i].ID.String()
		}
	}
	got := h.Read(t)
	for i, e := range entries {
		if refused[e.ID.String()] {
			continue
		}
		at := slices.IndexFunc(got, func(r Received) bool { return r.Event.ID() == e.ID.String() })
		if at < 0 {
			t.Fatalf("%q did not arrive", values[i])
		}
		if ref := got[at].Event.Extensions()["dataref"]; ref != values[i] {
			t.Errorf("attribute %q arrived as %q", values[i], ref)
		}
	}
	kept := slices.DeleteFunc(slices.Clone(entries), func(e eventstore.Entry) bool { return refused[e.ID.String()] })

	// Data of any form: none, blanks, bytes that are no text.
	for _, data := range [][]byte{nil, []byte("{}"), []byte(" { \"a\" :\n1 } "), []byte("\x00\x01\xff\r\n\r\n"), []byte("3051729675574597004")} {
		kept = append(kept, log.AppendData(data))
	}
	odd := kept[len(kept)-5:]
	odd[0].Erased, odd[0].Leaf = true, [32]byte{}
	publish(t, p, odd, previous)
	h.wantOnce(t, kept)
	for _, r := range h.Read(t) {
		for _, e := range odd {
			if r.Event.ID() == e.ID.String() && string(r.Event.Data()) != string(e.Data) {
				t.Errorf("data %q arrived as %q", e.Data, r.Event.Data())
			}
		}
	}
}

func retryMessage(t *testing.T, p publishers.Transport, m *message.Message) error {
	t.Helper()
	if err := p.Prepare(t.Context()); err != nil {
		t.Fatalf("Prepare: %v", err)
	}
	return p.Publish(Topic, m)
}

// quoted is a JSON string of ASCII only where it must be.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "\x00", `\u0000`).Replace(s) + `"`
}

func ended(t *testing.T, h Harness) {
	p, log := h.prepared(t), NewLog(t)
	first := log.Append(3)
	publish(t, p, first, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	second := log.Append(3)
	if err := p.Publish(Topic, Messages(t, ctx, second, last(first))...); err == nil {
		t.Fatal("Publish with an ended context succeeded")
	}
	_ = h.open(t).Prepare(ctx) // there may be nothing to ask; it returns
	if parked := Deliver(t, p, second, last(first)); len(parked) > 0 {
		t.Fatalf("%d events were parked", len(parked))
	}
	h.wantEntries(t, append(first, second...))
}

func closed(t *testing.T, h Harness) {
	p, log := h.prepared(t), NewLog(t)
	batch := log.Append(3)
	publish(t, p, batch, "")
	for range 2 {
		if err := p.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
	}
	if err := p.Publish(Topic, Messages(t, t.Context(), log.Append(1), last(batch))...); err == nil {
		t.Fatal("Publish of a closed transport succeeded")
	}
	h.wantOnce(t, batch)
	if err := h.open(t).Close(); err != nil {
		t.Fatalf("Close of one that was never prepared: %v", err)
	}
}
