package main

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/IBM/sarama"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// arrivals is when a consumer got which event.
type arrivals struct {
	mu    sync.Mutex
	count int
	last  string               // sequence of the newest
	at    map[string]time.Time // by request id
	took  map[string]time.Duration
}

func newArrivals() *arrivals {
	return &arrivals{at: map[string]time.Time{}, took: map[string]time.Duration{}}
}

func (a *arrivals) take(attribute func(string) string) {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count++
	a.last = attribute("sequence")
	request := attribute("requestid")
	a.at[request] = now
	if made, err := time.Parse(time.RFC3339Nano, attribute("time")); err == nil {
		a.took[request] = now.Sub(made)
	}
}

func (a *arrivals) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at, a.took = map[string]time.Time{}, map[string]time.Duration{}
}

// await waits until an event of a position or a later one has come.
func (a *arrivals) await(ctx context.Context, position int64) error {
	want := fmt.Sprintf("%020d", position)
	for end := time.Now().Add(5 * time.Minute); ctx.Err() == nil; time.Sleep(2 * time.Millisecond) {
		a.mu.Lock()
		last := a.last
		a.mu.Unlock()
		if last >= want {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("the consumer stands at %s, not at %s", last, want)
		}
	}
	return context.Cause(ctx)
}

const (
	streamName = "bench"
	topicName  = "bench"
)

// followNATS is a consumer of the stream.
func (s *stand) followNATS(ctx context.Context, stream string) (*arrivals, func(), error) {
	nc, err := natsgo.Connect("nats://" + s.nats.Addr())
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, nil, err
	}
	consumer, err := js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{})
	if err != nil {
		nc.Close()
		return nil, nil, err
	}
	a := newArrivals()
	running, err := consumer.Consume(func(m jetstream.Msg) {
		header := m.Headers()
		a.take(func(name string) string {
			text, _ := url.PathUnescape(header.Get("ce-" + name))
			return text
		})
	})
	if err != nil {
		nc.Close()
		return nil, nil, err
	}
	return a, func() { running.Stop(); nc.Close() }, nil
}

// followKafka is a consumer of the topic, which has one partition, and reads what
// is committed.
func (s *stand) followKafka(topic string) (*arrivals, func(), error) {
	config := sarama.NewConfig()
	config.Version = sarama.V2_8_0_0
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	consumer, err := sarama.NewConsumer([]string{s.kafka.Addr()}, config)
	if err != nil {
		return nil, nil, err
	}
	partition, err := consumer.ConsumePartition(topic, 0, sarama.OffsetOldest)
	if err != nil {
		_ = consumer.Close()
		return nil, nil, err
	}
	a := newArrivals()
	go func() {
		for m := range partition.Messages() {
			a.take(func(name string) string {
				for _, h := range m.Headers {
					if string(h.Key) == "ce_"+name {
						return string(h.Value)
					}
				}
				return ""
			})
		}
	}()
	return a, func() { _ = partition.Close(); _ = consumer.Close() }, nil
}
