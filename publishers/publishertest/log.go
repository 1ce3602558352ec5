package publishertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/publishers"
)

// Source is the CloudEvents source of the events of a [Log].
const Source = "urn:icecore:0195f8e4-2c00-7abc-8def-0000000000ff"

// streams is over how many objects the events of a [Log] are spread; it is more
// than one, for order over all and order by object are two things.
const streams = 3

// Log makes entries as the sequencer would leave them: gapless positions, rising
// versions by stream, and remembers them.
type Log struct {
	t        testing.TB
	ids      ids.Source
	clock    *clock.Fake
	objects  [streams]ids.ID
	versions [streams]int64
	entries  []eventstore.Entry
	epoch    int64
	next     int64
}

// NewLog returns a log whose first event stands at position 1 of epoch 1.
func NewLog(t testing.TB) *Log {
	l := &Log{t: t, clock: clock.NewFake(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)), epoch: 1, next: 1}
	l.ids = ids.NewV7(l.clock)
	for i := range l.objects {
		l.objects[i] = l.ids.New()
	}
	return l
}

// StartAt lets the next event stand at a later position.
func (l *Log) StartAt(position int64) { l.next = position }

// NewEpoch lets the next event open an epoch, at the given position.
func (l *Log) NewEpoch(position int64) { l.epoch, l.next = l.epoch+1, position }

// Append adds n events with small data and returns them.
func (l *Log) Append(n int) []eventstore.Entry {
	from := len(l.entries)
	for range n {
		l.AppendData(fmt.Appendf(nil, `{"position": %d, "comment": "<&>"}`, l.next))
	}
	return l.entries[from:len(l.entries):len(l.entries)]
}

// AppendData adds one event with these data.
func (l *Log) AppendData(data []byte) eventstore.Entry {
	l.clock.Advance(time.Millisecond)
	i := int(l.next) % streams
	l.versions[i]++
	e := eventstore.Entry{
		Record: eventstore.Record{
			ID: l.ids.New(), Stream: l.objects[i], StreamType: "table", Version: l.versions[i],
			Type: "dev.icecore.table.committed", DataSchema: "urn:icecore:events:table.committed:v1", Time: l.clock.Now(),
			Actor: l.ids.New(), RequestID: l.ids.New(), CommitID: l.ids.New(), CommitSize: 1,
			Warehouse: l.objects[0], Project: l.objects[1], Data: data,
		},
		Position: l.next, Epoch: l.epoch, LogTime: l.clock.Now(),
	}
	if i == 0 {
		e.Warehouse = ids.Nil // some events stand above a warehouse
	}
	e.Leaf = eventstore.Leaf(&e.Record)
	l.entries = append(l.entries, e)
	l.next++
	return e
}

// AppendLarge adds one event whose data are size bytes that do not compress.
func (l *Log) AppendLarge(size int) eventstore.Entry {
	const around = len(`{"text":""}`)
	var b strings.Builder
	b.WriteString(`{"text":"`)
	random := rand.New(rand.NewPCG(uint64(size), 7)) //nolint:gosec // filling, the same each time
	for range max(size-around, 0) {
		b.WriteByte('a' + byte(random.IntN(26)))
	}
	b.WriteString(`"}`)
	return l.AppendData([]byte(b.String()))
}

// Messages makes a batch of entries, of which previous was published last before
// them; empty for none.
func Messages(t testing.TB, ctx context.Context, entries []eventstore.Entry, previous string) []*message.Message { //nolint:revive // a test comes first
	t.Helper()
	messages := make([]*message.Message, len(entries))
	for i, e := range entries {
		m, err := publishers.NewMessage(ctx, e, Source, previous)
		if err != nil {
			t.Fatal(err)
		}
		messages[i], previous = m, e.ID.String()
	}
	return messages
}
