package jetstream_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/nats/natstest"
	"github.com/icecore-catalog/icecore/publishers"
	"github.com/icecore-catalog/icecore/publishers/publishertest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func sample() eventstore.Entry {
	at := func(n byte) ids.ID {
		id := ids.MustParse("0195f8e4-2c00-7abc-8def-000000000000")
		id[15] = n
		return id
	}
	return eventstore.Entry{
		Record: eventstore.Record{
			ID: at(1), Stream: at(2), StreamType: "table", Version: 42, Type: "dev.icecore.table.committed",
			DataSchema: "urn:icecore:events:table.committed:v1",
			Time:       time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC), Actor: at(4), RequestID: at(5), Causation: at(6),
			CommitID: at(3), CommitIndex: 1, CommitSize: 3, Warehouse: at(7), Project: at(8),
			TraceParent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
			Data:        []byte(`{ "snapshot-id":3051729675574597004, "comment":"<&>" }`),
		},
		Position: 1234567, Epoch: 2, LogTime: time.Date(2026, 3, 1, 12, 0, 0, 130000000, time.UTC),
	}
}

// written is a message as text.
func written(m natsjs.Msg) string {
	var lines []string
	for name, values := range m.Headers() {
		lines = append(lines, fmt.Sprintf("%s: %s", name, strings.Join(values, " | ")))
	}
	slices.Sort(lines)
	return m.Subject() + "\n" + strings.Join(lines, "\n") + "\n\n" + string(m.Data()) + "\n"
}

func TestMessagesGolden(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t, "")
	p := prepared(t, server.URL(), map[string]string{"subject-prefix": "acme.lake"})
	plain, above, odd := sample(), sample(), sample()
	above.ID[15], above.Position, above.Warehouse, above.Project = 11, 1234568, ids.Nil, ids.Nil
	above.StreamType, above.Type = "generic-table", "dev.icecore.generic-table.purge-started"
	odd.ID[15], odd.Position = 12, 1234569
	oddEvent, err := eventstore.ToCloudEvent(odd, publishertest.Source)
	if err != nil {
		t.Fatal(err)
	}
	oddEvent.SetExtension("dataref", "s3://b/ä b/\"q\"/100%/\r\nce-id: forged/😀")
	oddEvent.SetSubject("my table/a.b *>\n")
	oddEvent.SetType("some.where.Else To")
	batch := publishertest.Messages(t, t.Context(), []eventstore.Entry{plain, above}, "")
	batch = append(batch, publishers.FromEvent(t.Context(), &oddEvent, above.ID.String()))
	if err := p.Publish(publishertest.Topic, batch...); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, m := range messages(t, server.URL(), "icecore") {
		got.WriteString(written(m) + "\n")
	}
	golden := filepath.Join("testdata", "messages.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("messages:\n%s\nwant:\n%s", got.String(), want)
	}
}

// A subject is made of ids and words, so that no name can end a line of the
// protocol, add a part, or be a wildcard.
func TestASubjectHasFivePartsWhateverTheEventSays(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t, "")
	p := prepared(t, server.URL(), nil)
	names := []string{
		"plain", "two words", "dots.in.it", "star*", "greater>", "line\nbreak", "tab\there", " lead", "trail ", "ünïcode", "a/b", "$SYS", ".", "..",
		"cr\rlf\n", "", "PUB x 5\r\nhello\r\n", "\x00", strings.Repeat("long", 100),
	}
	previous := ""
	log := publishertest.NewLog(t)
	var sent []string
	for _, name := range names {
		e := log.Append(1)[0]
		event, err := eventstore.ToCloudEvent(e, publishertest.Source)
		if err != nil {
			t.Fatal(err)
		}
		event.SetExtension("warehouseid", name) // never a name; if it ever were one
		if name != "" {
			event.SetSubject(name + "/" + name)
			event.SetType("x." + name)
		}
		if err := p.Publish(publishertest.Topic, publishers.FromEvent(t.Context(), &event, previous)); err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		previous = e.ID.String()
		sent = append(sent, previous)
	}
	var arrived []string
	for _, m := range messages(t, server.URL(), "icecore") {
		arrived = append(arrived, m.Headers().Get("ce-id"))
		if parts := strings.Split(m.Subject(), "."); len(parts) != 5 || slices.Contains(parts, "") || strings.ContainsAny(m.Subject(), " \t\r\n*>\x00") {
			t.Errorf("subject %q", m.Subject())
		}
	}
	if !slices.Equal(arrived, sent) {
		t.Errorf("%d events arrived, want %d in order", len(arrived), len(sent))
	}
}
