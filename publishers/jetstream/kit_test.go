package jetstream_test

import (
	"context"
	"maps"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2/event"
	natsgo "github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/icecore-catalog/icecore/internal/nats/natstest"
	"github.com/icecore-catalog/icecore/publishers"
	"github.com/icecore-catalog/icecore/publishers/jetstream"
	"github.com/icecore-catalog/icecore/publishers/publishertest"
)

func TestMain(m *testing.M) {
	natstest.Child()
	os.Exit(m.Run())
}

const owner = "0195f8e4-2c00-7abc-8def-0000000000d1"

// open makes a transport from settings, over url.
func open(t *testing.T, url string, settings map[string]string) *jetstream.Transport {
	t.Helper()
	all := map[string]string{"url": url}
	maps.Copy(all, settings)
	s, err := jetstream.ParseSettings(all)
	if err != nil {
		t.Fatal(err)
	}
	p := jetstream.New(jetstream.Options{Settings: s, Destination: publishertest.Topic, Owner: owner})
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func prepared(t *testing.T, url string, settings map[string]string) *jetstream.Transport {
	t.Helper()
	p := open(t, url, settings)
	if err := p.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

// connect is a consumer's connection.
func connect(t *testing.T, url string) natsjs.JetStream {
	t.Helper()
	nc, err := natsgo.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// messages are all that the stream holds, as a consumer gets them.
func messages(t *testing.T, url, stream string) []natsjs.Msg {
	t.Helper()
	js := connect(t, url)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	consumer, err := js.CreateConsumer(ctx, stream, natsjs.ConsumerConfig{AckPolicy: natsjs.AckNonePolicy})
	if err != nil {
		t.Fatal(err)
	}
	info, err := consumer.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var all []natsjs.Msg
	for pending := info.NumPending; uint64(len(all)) < pending; {
		batch, err := consumer.Fetch(int(pending)-len(all), natsjs.FetchMaxWait(20*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		got := len(all)
		for m := range batch.Messages() {
			all = append(all, m)
		}
		if batch.Error() != nil || len(all) == got {
			t.Fatalf("%d of %d messages: %v", len(all), pending, batch.Error())
		}
	}
	return all
}

// received are the same, decoded by the NATS binding of CloudEvents.
func received(t *testing.T, url, stream string) []publishertest.Received {
	t.Helper()
	var all []publishertest.Received
	for _, m := range messages(t, url, stream) {
		all = append(all, publishertest.Received{Event: decode(t, m)})
	}
	return all
}

func decode(t *testing.T, m natsjs.Msg) cloudevents.Event {
	t.Helper()
	event := cloudevents.New()
	for name, values := range m.Headers() {
		attribute, ok := strings.CutPrefix(name, "ce-")
		if !ok {
			continue
		}
		value, err := url.PathUnescape(values[0])
		if err != nil || len(values) != 1 {
			t.Fatalf("header %s: %q: %v", name, values, err)
		}
		switch attribute {
		case "specversion":
		case "id":
			event.SetID(value)
		case "source":
			event.SetSource(value)
		case "type":
			event.SetType(value)
		case "subject":
			event.SetSubject(value)
		case "dataschema":
			event.SetDataSchema(value)
		case "datacontenttype":
			event.SetDataContentType(value)
		case "time":
			at, err := time.Parse(time.RFC3339Nano, value)
			if err != nil {
				t.Fatal(err)
			}
			event.SetTime(at)
		default:
			event.SetExtension(attribute, value)
		}
	}
	if len(m.Data()) > 0 {
		event.DataEncoded = m.Data()
	}
	return event
}

// loseAnswer has a transport behind the proxy hear nothing of what the server,
// at url, does, until it has taken all.
func loseAnswer(t *testing.T, proxy *natstest.Proxy, server func() (addr, url string), events int, publish func() error) error {
	t.Helper()
	addr, url := server()
	stream, err := connect(t, url).Stream(t.Context(), "icecore")
	if err != nil {
		t.Fatal(err)
	}
	before := stream.CachedInfo().State.LastSeq
	proxy.Mute()
	result := make(chan error, 1)
	go func() { result <- publish() }()
	for ctx, cancel := context.WithTimeout(t.Context(), time.Minute); ; {
		info, err := stream.Info(ctx)
		if err != nil {
			cancel()
			t.Fatal(err)
		}
		if info.State.LastSeq >= before+uint64(events) {
			cancel()
			break
		}
	}
	proxy.Lead(addr)
	return <-result
}

var _ publishers.Transport = (*jetstream.Transport)(nil)
