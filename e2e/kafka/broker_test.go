package kafka_test

import (
	"context"
	"net"
	"os"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/e2e/kafka"
)

// engine skips what needs the real broker, unless the engine suite runs.
func engine(t *testing.T) {
	t.Helper()
	if os.Getenv("ICECORE_KAFKA") == "" {
		t.Skip("needs a JDK and Maven: ./task e2e:kafka")
	}
}

func start(t *testing.T, o kafka.Options) *kafka.Broker {
	t.Helper()
	engine(t)
	o.Dir = t.TempDir()
	b, err := kafka.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the broker's output ends:\n%s", b.Output())
		}
		if err := b.Kill(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func TestBrokerIsKilledAndStartedAgainOnItsPorts(t *testing.T) {
	b := start(t, kafka.Options{})
	addr := b.Addr()
	if err := b.Restart(t.Context()); err == nil {
		t.Error("started twice")
	}
	if err := b.Kill(); err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp", addr); err == nil {
		_ = conn.Close()
		t.Error("a killed broker takes connections")
	}
	if err := b.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if b.Addr() != addr {
		t.Errorf("another port: %s, was %s", b.Addr(), addr)
	}
}

// timeout is a context for what may not wait for ever.
func timeout(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(t.Context(), d)
}
