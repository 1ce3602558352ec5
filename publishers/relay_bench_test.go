package publishers

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/pgtest"
)

// sink acknowledges what it encodes.
type sink struct{ encoded int64 }

func (s *sink) Prepare(context.Context) error             { return nil }
func (s *sink) Last(context.Context) (Place, bool, error) { return Place{}, false, nil }
func (s *sink) Close() error                              { return nil }
func (s *sink) Publish(_ string, messages ...*message.Message) error {
	for _, m := range messages {
		data, err := EventOf(m).MarshalJSON()
		if err != nil {
			return err
		}
		s.encoded += int64(len(data))
	}
	return nil
}

// BenchmarkCatchUp publishes a log from its beginning to a destination in this
// process: read from PostgreSQL, encoded in structured mode, acknowledged, the
// place moved batch by batch.
func BenchmarkCatchUp(b *testing.B) {
	const events = 20_000
	db := pgtest.New(b)
	source := ids.NewV7(clock.System{})
	store, err := eventstore.New(b.Context(), eventstore.Config{Pool: db.App, IDs: source})
	if err != nil {
		b.Fatal(err)
	}
	data := []byte(`{"text":"` + strings.Repeat("x", 1000) + `"}`)
	for range events / eventstore.MaxRecords {
		c := &eventstore.Commit{ID: source.New()}
		for range eventstore.MaxRecords {
			stream := source.New()
			c.Streams = append(c.Streams, eventstore.Stream{ID: stream, Type: "table", Mode: eventstore.Created})
			c.Records = append(c.Records, eventstore.Record{Stream: stream, StreamType: "table", Type: "dev.icecore.table.created",
				DataSchema: "urn:icecore:events:table.created:v1", Actor: stream, RequestID: stream, Warehouse: stream, Project: stream, Data: data})
		}
		if _, err := store.Append(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
	q := store.Sequencer()
	defer q.Close()
	for worked := true; worked; {
		if worked, err = q.RunOnce(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	id := source.New()
	for _, sql := range []string{
		`INSERT INTO rm.destination VALUES ($1, 'bench', 'bench', 'log', '{}', '{}', 'halt', false, 0, 0, 1, 1)`,
		`INSERT INTO publish.destination (destination_id, epoch, position) VALUES ($1, 0, 0)`,
	} {
		if _, err := db.App.Exec(b.Context(), sql, [16]byte(id)); err != nil {
			b.Fatal(err)
		}
	}
	relay := NewRelay(Config{Pool: db.App, Log: store, Connect: func(context.Context, *Destination) (Transport, error) { return &sink{}, nil },
		Source: func(context.Context) (string, error) { return "urn:icecore:bench", nil }})
	d := relay.runner(id)
	b.ReportAllocs()
	b.ResetTimer()
	began := time.Now()
	for range b.N {
		if _, err := db.App.Exec(b.Context(), "UPDATE publish.destination SET position = 0, epoch = 0, event = NULL"); err != nil {
			b.Fatal(err)
		}
		d.work(b.Context())
	}
	b.ReportMetric(float64(b.N)*events/time.Since(began).Seconds(), "events/s")
	var published int64
	if err := db.App.QueryRow(b.Context(), "SELECT published FROM publish.destination").Scan(&published); err != nil || published != int64(b.N)*events {
		b.Fatal(fmt.Errorf("%d published: %w", published, err))
	}
}
