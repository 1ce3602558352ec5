package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill/message"
	cekafka "github.com/cloudevents/sdk-go/protocol/kafka_sarama/v2"
	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/nats"
	"github.com/icecore-catalog/icecore/publishers"
	"github.com/icecore-catalog/icecore/publishers/jetstream"
)

// catchUp measures destinations that begin at the first event of a long log: the
// relay in this process, to a transport that encodes and acknowledges, and to a
// NATS in this process; then as it runs, to NATS and Kafka as processes.
func (s *stand) catchUp(ctx context.Context) ([]string, error) {
	size, err := s.grow(ctx)
	if err != nil {
		return nil, err
	}
	lines := []string{"| to | events | time | events/s | target |", "| --- | ---: | ---: | ---: | --- |"}
	add := func(what string, took time.Duration, target string) {
		lines = append(lines, fmt.Sprintf("| %s | %d | %.1f s | **%.0f** | %s |", what, size, took.Seconds(), float64(size)/took.Seconds(), target))
	}
	// The server's own relay stays out of the way.
	s.stopServer()
	roles := "ICECORE_ROLES=api"
	env := s.env
	s.env = append(append([]string{}, env...), roles)
	if err := s.serve(ctx); err != nil {
		return nil, err
	}
	took, err := s.relay(ctx, "encoded", "log", map[string]string{"target": "stdout"}, size, func(*publishers.Destination) (publishers.Transport, error) { return new(encoder), nil })
	if err != nil {
		return nil, err
	}
	add("a transport in the relay's process that encodes each event (CloudEvents, binary mode) and acknowledges it", took, "≥ 20,000")

	inside, err := nats.Start(ctx, nats.Options{Dir: filepath.Join(s.folder, "nats-inside")})
	if err != nil {
		return nil, err
	}
	took, err = s.relay(ctx, "inside", "nats", map[string]string{"url": inside.URL(), "stream": "inside", "subject-prefix": "inside"}, size, func(d *publishers.Destination) (publishers.Transport, error) {
		settings, err := jetstream.ParseSettings(d.Settings)
		if err != nil {
			return nil, err
		}
		return jetstream.New(jetstream.Options{Settings: settings, Destination: d.Name, Owner: d.ID.String()}), nil
	})
	inside.Stop()
	if err != nil {
		return nil, err
	}
	add("NATS JetStream in the relay's process, on files", took, "")

	s.stopServer()
	s.env = env
	if err := s.serve(ctx); err != nil {
		return nil, err
	}
	start := time.Now()
	if err := s.destination(ctx, "catch-nats", "nats", s.natsSettings("catch")); err != nil {
		return nil, err
	}
	add("NATS JetStream, a process", time.Since(start), "")
	if s.kafka != nil {
		start = time.Now()
		if err := s.destination(ctx, "catch-kafka", "kafka", s.kafkaSettings("catch")); err != nil {
			return nil, err
		}
		add("Kafka, a process", time.Since(start), "")
	}
	return lines, nil
}

// relay drains a new destination with a relay in this process, and returns how
// long that took.
func (s *stand) relay(ctx context.Context, name, kind string, settings map[string]string, size int64, open func(*publishers.Destination) (publishers.Transport, error)) (time.Duration, error) {
	pool, err := pgxpool.New(ctx, s.database.URL(s.database.Roles().App, s.database.Roles().Database))
	if err != nil {
		return 0, err
	}
	defer pool.Close()
	log, err := eventstore.New(ctx, eventstore.Config{Pool: pool, IDs: ids.NewV7(clock.System{})})
	if err != nil {
		return 0, err
	}
	// Those of other sections are none of this relay's business.
	relay := publishers.NewRelay(publishers.Config{
		Pool: pool, Log: log, Source: func(context.Context) (string, error) { return "urn:icecore:bench", nil },
		Connect: func(_ context.Context, d *publishers.Destination) (publishers.Transport, error) {
			if d.Name != name {
				return nil, fmt.Errorf("%s is not measured", d.Name)
			}
			return open(d)
		},
	})
	if err := s.call(ctx, http.MethodPost, "/management/v1/destinations", map[string]any{"name": name, "kind": kind, "settings": settings}, nil); err != nil {
		return 0, err
	}
	running, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	start := time.Now()
	group.Go(func() { _ = relay.Run(running) })
	defer group.Wait()
	defer stop()
	for ctx.Err() == nil {
		var position int64
		if err := pool.QueryRow(ctx, "SELECT coalesce(max(p.position), 0) FROM publish.destination p JOIN rm.destination d USING (destination_id) WHERE d.name = $1", name).Scan(&position); err != nil {
			return 0, err
		}
		if position >= size {
			return time.Since(start), s.call(ctx, http.MethodPost, "/management/v1/destinations/"+name+"/pause", nil, nil)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return 0, context.Cause(ctx)
}

// encoder encodes as for Kafka and takes everything.
type encoder struct{ bytes atomic.Int64 }

func (e *encoder) Prepare(context.Context) error { return nil }
func (e *encoder) Close() error                  { return nil }

// Last says that it cannot be asked.
func (e *encoder) Last(context.Context) (publishers.Place, bool, error) {
	return publishers.Place{}, false, nil
}

// Publish implements message.Publisher.
func (e *encoder) Publish(_ string, messages ...*message.Message) error {
	for _, m := range messages {
		p := &sarama.ProducerMessage{}
		if err := cekafka.WriteProducerMessage(m.Context(), binding.ToMessage(publishers.EventOf(m)), p); err != nil {
			return err
		}
		e.bytes.Add(int64(p.ByteSize(2)))
	}
	return nil
}
