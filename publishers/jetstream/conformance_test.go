package jetstream_test

import (
	"testing"

	"github.com/icecore-catalog/icecore/internal/nats/natstest"
	"github.com/icecore-catalog/icecore/publishers"
	"github.com/icecore-catalog/icecore/publishers/publishertest"
)

// natsServer is one in this process, or a process.
type natsServer interface {
	Addr() string
	URL() string
	Start(t testing.TB)
}

func harness(t *testing.T, server natsServer, stop func(testing.TB), settings map[string]string) publishertest.Harness {
	proxy := natstest.NewProxy(t, server.Addr())
	read := server
	return publishertest.Harness{
		Capabilities: publishertest.Capabilities{Chained: true, TooLarge: 1 << 20},
		Open: func(t *testing.T) publishers.Transport {
			return open(t, "nats://"+proxy.Addr(), settings)
		},
		Read: func(t *testing.T) []publishertest.Received { return received(t, read.URL(), "icecore") },
		Stop: func(t *testing.T) {
			proxy.Lead("")
			stop(t)
		},
		Start: func(t *testing.T) {
			server.Start(t)
			proxy.Lead(server.Addr())
		},
		LoseAnswer: func(t *testing.T, events int, publish func() error) error {
			return loseAnswer(t, proxy, func() (string, string) { return server.Addr(), server.URL() }, events, publish)
		},
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	publishertest.Run(t, func(t *testing.T) publishertest.Harness {
		server := natstest.Start(t, "")
		return harness(t, server, server.Stop, nil)
	})
}
