package publishers

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	cloudevents "github.com/cloudevents/sdk-go/v2/event"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/icecore-catalog/icecore/internal/clock"
)

// answers is a publisher that answers what it is told.
type answers struct {
	err error
	got []context.Context
}

func (a *answers) Publish(_ string, messages ...*message.Message) error {
	for _, m := range messages {
		if EventOf(m) == nil {
			return errors.New("a message without its event")
		}
		a.got = append(a.got, m.Context())
	}
	return a.err
}

func (*answers) Close() error { return nil }

type spans struct {
	embedded.TracerProvider
	names []string
}

func (s *spans) Tracer(string, ...trace.TracerOption) trace.Tracer { return s.tracer() }

func (s *spans) tracer() trace.Tracer { return &tracer{spans: s} }

type tracer struct {
	embedded.Tracer
	spans *spans
}

type spanKey struct{}

func (t *tracer) Start(ctx context.Context, name string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	t.spans.names = append(t.spans.names, name)
	return context.WithValue(ctx, spanKey{}, name), noop.Span{}
}

// Decorators see messages, not calls, and what was taken of them; and what they
// are around gets what they got.
func TestDecoratorsCountMessages(t *testing.T) {
	t.Parallel()
	d := &Destination{Name: "d", Kind: "nats"}
	now := clock.NewFake(time.UnixMilli(0))
	inner, traces := &answers{}, &spans{}
	var counted [][2]int
	measured, err := Measured(d, now, func(name, kind string, messages, taken int, _ time.Duration) {
		if name != "d" || kind != "nats" {
			t.Errorf("counted for %s of kind %s", name, kind)
		}
		counted = append(counted, [2]int{messages, taken})
	})(inner)
	if err != nil {
		t.Fatal(err)
	}
	traced, err := Traced(d, traces)(measured)
	if err != nil {
		t.Fatal(err)
	}
	event := cloudevents.New()
	event.SetID("x")
	for _, answer := range []error{nil, &BatchError{Index: 2, Err: errors.New("no")}, errors.New("no")} {
		inner.err = answer
		var list []*message.Message
		for range 3 {
			list = append(list, FromEvent(t.Context(), &event, ""))
		}
		if err := traced.Publish("d", list...); !errors.Is(err, answer) {
			t.Errorf("%v became %v", answer, err)
		}
	}
	if want := [][2]int{{3, 3}, {3, 2}, {3, 0}}; !slices.Equal(counted, want) {
		t.Errorf("counted %v, want %v", counted, want)
	}
	if !slices.Equal(traces.names, []string{"publish nats", "publish nats", "publish nats"}) || inner.got[0].Value(spanKey{}) == nil {
		t.Errorf("spans %v", traces.names)
	}
}
