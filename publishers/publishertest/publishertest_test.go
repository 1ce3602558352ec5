package publishertest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/publishers"
	"github.com/icecore-catalog/icecore/publishers/publishertest"
)

// memory is the least that is a destination: it shows what the suite asks of
// those that are real.
type memory struct {
	chained bool
	limit   int

	mu     sync.Mutex
	away   bool
	silent bool
	refuse string
	held   []publishertest.Received
}

type memoryTransport struct {
	*memory
	closed bool
}

var errAway = errors.New("away")

func (m *memoryTransport) Prepare(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away {
		return errAway
	}
	return ctx.Err()
}

func (m *memoryTransport) last() string {
	if len(m.held) == 0 {
		return ""
	}
	return m.held[len(m.held)-1].Event.ID()
}

func (m *memoryTransport) Publish(_ string, messages ...*message.Message) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, msg := range messages {
		event := publishers.EventOf(msg)
		switch {
		case m.closed || m.away:
			return errAway
		case msg.Context().Err() != nil:
			return msg.Context().Err()
		case m.chained && m.last() != publishers.PreviousOf(msg):
			return fmt.Errorf("%w: at %s", publishers.ErrMismatch, m.last())
		case m.limit > 0 && len(event.Data()) >= m.limit || event.ID() == m.refuse:
			return &publishers.BatchError{Index: i, Permanent: true, Err: errors.New("refused")}
		}
		m.held = append(m.held, publishertest.Received{Event: event.Clone()})
	}
	if m.silent {
		return errAway
	}
	return nil
}

func (m *memoryTransport) Last(context.Context) (publishers.Place, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.chained || len(m.held) == 0 {
		return publishers.Place{}, false, nil
	}
	e, err := eventstore.FromCloudEvent(m.held[len(m.held)-1].Event)
	return publishers.Place{Epoch: e.Epoch, Position: e.Position, Event: e.ID}, true, err
}

func (m *memoryTransport) MaxMessageBytes() int { return m.limit }

func (m *memoryTransport) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

func (m *memory) set(do func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	do()
}

func (m *memory) harness() publishertest.Harness {
	return publishertest.Harness{
		Capabilities: publishertest.Capabilities{Chained: m.chained, TooLarge: m.limit},
		Open:         func(*testing.T) publishers.Transport { return &memoryTransport{memory: m} },
		Read: func(*testing.T) (all []publishertest.Received) {
			m.set(func() { all = append(all, m.held...) })
			return all
		},
		Refuse: func(_ *testing.T, id string) { m.set(func() { m.refuse = id }) },
		Stop:   func(*testing.T) { m.set(func() { m.away = true }) },
		Start:  func(*testing.T) { m.set(func() { m.away = false }) },
		LoseAnswer: func(_ *testing.T, _ int, publish func() error) error {
			m.set(func() { m.silent = true })
			defer m.set(func() { m.silent = false })
			return publish()
		},
	}
}

func TestADestinationInMemoryPasses(t *testing.T) {
	t.Parallel()
	for name, chained := range map[string]bool{"chained": true, "plain": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			publishertest.Run(t, func(*testing.T) publishertest.Harness {
				return (&memory{chained: chained, limit: 64 << 10}).harness()
			})
		})
	}
	t.Run("without trouble", func(t *testing.T) {
		t.Parallel()
		publishertest.Run(t, func(*testing.T) publishertest.Harness {
			h := (&memory{}).harness()
			h.Refuse, h.Stop, h.Start, h.LoseAnswer = nil, nil, nil, nil
			return h
		})
	})
}
