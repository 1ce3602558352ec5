package jetstream_test

import (
	"testing"

	"github.com/icecore-catalog/icecore/internal/nats/natstest"
	"github.com/icecore-catalog/icecore/publishers/jetstream"
	"github.com/icecore-catalog/icecore/publishers/publishertest"
)

// BenchmarkPublish publishes batches of 500, encoded and acknowledged, to a
// server in this process that keeps its stream in files.
func BenchmarkPublish(b *testing.B) {
	server := natstest.Start(b, "")
	s, err := jetstream.ParseSettings(map[string]string{"url": server.URL()})
	if err != nil {
		b.Fatal(err)
	}
	p := jetstream.New(jetstream.Options{Settings: s, Destination: "bench"})
	defer func() { _ = p.Close() }()
	if err := p.Prepare(b.Context()); err != nil {
		b.Fatal(err)
	}
	log, previous := publishertest.NewLog(b), ""
	b.ReportAllocs()
	for b.Loop() {
		batch := log.Append(500)
		if err := p.Publish("bench", publishertest.Messages(b, b.Context(), batch, previous)...); err != nil {
			b.Fatal(err)
		}
		previous = last(batch)
	}
	b.ReportMetric(float64(b.N*500)/b.Elapsed().Seconds(), "events/s")
}
