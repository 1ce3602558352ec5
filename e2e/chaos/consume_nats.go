package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// consumeNATS follows a stream until ctx ends, from behind what the record holds:
// an ordered consumer, made anew after each trouble.
func consumeNATS(ctx context.Context, addr, stream string, r *record) error {
	nc, err := natsgo.Connect("nats://"+addr, natsgo.MaxReconnects(-1), natsgo.ReconnectWait(100*time.Millisecond),
		natsgo.RetryOnFailedConnect(true), natsgo.PingInterval(2*time.Second), natsgo.MaxPingsOutstanding(2))
	if err != nil {
		return fmt.Errorf("connect a consumer: %w", err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	var next uint64 = 1
	for ctx.Err() == nil {
		if err := followStream(ctx, js, stream, &next, r); err != nil {
			pause(ctx, 200*time.Millisecond) // it is killed or frozen, or there is no stream yet
		}
	}
	return nil
}

func followStream(ctx context.Context, js jetstream.JetStream, stream string, next *uint64, r *record) error {
	wait, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	consumer, err := js.OrderedConsumer(wait, stream, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: *next,
	})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, messages.Stop)()
	defer messages.Stop()
	for {
		m, err := messages.Next()
		if err != nil {
			return err
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		if meta.Sequence.Stream < *next {
			continue
		}
		if meta.Sequence.Stream > *next {
			return errors.New("a number of the stream was left out")
		}
		header := m.Headers()
		r.take(func(name string) string {
			text, _ := url.PathUnescape(header.Get("ce-" + name))
			return text
		}, m.Data())
		*next++
	}
}
