package publishers

import (
	"errors"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/icecore-catalog/icecore/internal/clock"
)

// takenOf is how many messages of a call were taken, as far as is known.
func takenOf(messages []*message.Message, err error) int {
	var refused *BatchError
	switch {
	case err == nil:
		return len(messages)
	case errors.As(err, &refused):
		return min(max(refused.Index, 0), len(messages))
	}
	return 0
}

// decorated is a publisher with something around its calls.
type decorated struct {
	message.Publisher
	around func(messages []*message.Message, publish func() error) error
}

// Publish implements [message.Publisher].
func (d *decorated) Publish(topic string, messages ...*message.Message) error {
	return d.around(messages, func() error { return d.Publisher.Publish(topic, messages...) })
}

// Measured counts and times what a destination takes.
func Measured(d *Destination, now clock.Clock, published func(name, kind string, messages, taken int, took time.Duration)) message.PublisherDecorator {
	return func(inner message.Publisher) (message.Publisher, error) {
		return &decorated{inner, func(messages []*message.Message, publish func() error) error {
			began := now.Now()
			err := publish()
			published(d.Name, d.Kind, len(messages), takenOf(messages, err), now.Now().Sub(began))
			return err
		}}, nil
	}
}

// Traced makes a span of each batch.
func Traced(d *Destination, provider trace.TracerProvider) message.PublisherDecorator {
	tracer := provider.Tracer("github.com/icecore-catalog/icecore/publishers")
	return func(inner message.Publisher) (message.Publisher, error) {
		return &decorated{inner, func(messages []*message.Message, publish func() error) error {
			if len(messages) == 0 {
				return publish()
			}
			ctx, span := tracer.Start(messages[0].Context(), "publish "+d.Kind, trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(
				attribute.String("messaging.system", d.Kind), attribute.String("messaging.destination.name", d.Name),
				attribute.Int("messaging.batch.message_count", len(messages)),
			))
			defer span.End()
			messages[0].SetContext(ctx)
			err := publish()
			if err != nil { // its text may be the broker's, and stays here
				span.SetStatus(codes.Error, "not all was taken")
				span.SetAttributes(attribute.Int("icecore.batch.taken", takenOf(messages, err)))
			}
			return err
		}}, nil
	}
}
