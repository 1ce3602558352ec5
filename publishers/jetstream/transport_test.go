package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/nats/natstest"
	"github.com/icecore-catalog/icecore/publishers"
	"github.com/icecore-catalog/icecore/publishers/jetstream"
	"github.com/icecore-catalog/icecore/publishers/publishertest"
)

func publish(t *testing.T, p publishers.Transport, entries []eventstore.Entry, previous string) error {
	t.Helper()
	return p.Publish(publishertest.Topic, publishertest.Messages(t, t.Context(), entries, previous)...)
}

func mustPublish(t *testing.T, p publishers.Transport, entries []eventstore.Entry, previous string) {
	t.Helper()
	if err := publish(t, p, entries, previous); err != nil {
		t.Fatal(err)
	}
}

func last(entries []eventstore.Entry) string { return entries[len(entries)-1].ID.String() }

// wantPositions checks what the stream holds, in its order.
func wantPositions(t *testing.T, url string, want ...[]eventstore.Entry) {
	t.Helper()
	var got, wanted []string
	for _, r := range received(t, url, "icecore") {
		got = append(got, r.Event.ID())
	}
	for _, list := range want {
		for _, e := range list {
			wanted = append(wanted, e.ID.String())
		}
	}
	if strings.Join(got, "\n") != strings.Join(wanted, "\n") {
		t.Fatalf("the stream holds\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(wanted, "\n"))
	}
}

// What a stream is made of besides: the suite has to hold whatever the windows,
// limits and ways of storing.
func TestConformanceOfStreamsOfOtherKinds(t *testing.T) {
	t.Parallel()
	kinds := map[string]map[string]string{
		"few in flight, and an age": {"max-pending": "3", "max-age": "24h", "duplicate-window": "100ms"},
	}
	if os.Getenv("ICECORE_LONG") != "" {
		kinds["one at a time"] = map[string]string{"max-pending": "1"}
		kinds["in memory"] = map[string]string{"storage": "memory"}
		kinds["a full one refuses"] = map[string]string{"max-messages": "1000000", "discard": "new"}
	}
	for name, settings := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			publishertest.Run(t, func(t *testing.T) publishertest.Harness {
				server := natstest.Start(t, "")
				h := harness(t, server, server.Stop, settings)
				if settings["max-pending"] != "" {
					h.LoseAnswer = nil // a batch is never under way as a whole
				}
				if settings["storage"] == "memory" {
					h.Stop, h.Start = nil, nil // it comes back empty
				}
				return h
			})
		})
	}
}

// A stream may take less than the server; then the server refuses, not the client.
func TestConformanceWhereTheStreamRefuses(t *testing.T) {
	t.Parallel()
	publishertest.Run(t, func(t *testing.T) publishertest.Harness {
		server := natstest.Start(t, "")
		if _, err := connect(t, server.URL()).CreateStream(t.Context(), natsjs.StreamConfig{
			Name: "icecore", Subjects: []string{"icecore.>"}, MaxMsgSize: 20_000,
		}); err != nil {
			t.Fatal(err)
		}
		h := harness(t, server, server.Stop, nil)
		h.TooLarge = 20_000
		return h
	})
}

func TestAStreamThatDoesNotFitIsRefusedInWords(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t, "")
	js := connect(t, server.URL())
	for i, c := range []struct {
		name     string
		stream   natsjs.StreamConfig
		settings map[string]string
		want     string // empty: it fits
	}{
		{"plain", natsjs.StreamConfig{}, nil, ""},
		{"limits that nobody asked about", natsjs.StreamConfig{MaxAge: time.Hour, MaxBytes: 1 << 30, Storage: natsjs.MemoryStorage, AllowDirect: true}, nil, ""},
		{"as set", natsjs.StreamConfig{MaxAge: time.Hour, MaxBytes: 1 << 30}, map[string]string{"max-age": "1h", "max-bytes": "1073741824"}, ""},
		{"other subjects", natsjs.StreamConfig{Subjects: []string{"%.table.>"}}, nil, "takes the subjects"},
		{"more subjects", natsjs.StreamConfig{Subjects: []string{"%.>", "%x.>"}}, nil, "takes the subjects"},
		{"one of a subject", natsjs.StreamConfig{MaxMsgsPerSubject: 1}, nil, "keeps no more than 1 messages of a subject"},
		{"silent", natsjs.StreamConfig{NoAck: true}, nil, "acknowledges nothing"},
		{"sources", natsjs.StreamConfig{Sources: []*natsjs.StreamSource{{Name: "other"}}}, nil, "is fed from other streams"},
		{"transform", natsjs.StreamConfig{SubjectTransform: &natsjs.SubjectTransformConfig{Source: "%.>", Destination: "%.x.>"}}, nil, "changes subjects"},
		{"age", natsjs.StreamConfig{MaxAge: time.Hour}, map[string]string{"max-age": "2h"}, "has max-age 1h0m0s, and the setting is 2h0m0s"},
		{"storage", natsjs.StreamConfig{Storage: natsjs.MemoryStorage}, map[string]string{"storage": "file"}, "has storage Memory, and the setting is File"},
		{"retention", natsjs.StreamConfig{Retention: natsjs.WorkQueuePolicy}, map[string]string{"retention": "limits"}, "has retention WorkQueue, and the setting is Limits"},
		{"discard", natsjs.StreamConfig{Discard: natsjs.DiscardNew}, map[string]string{"discard": "old"}, "has discard DiscardNew"},
		{"bytes", natsjs.StreamConfig{}, map[string]string{"max-bytes": "5"}, "has max-bytes -1"},
		{"messages", natsjs.StreamConfig{}, map[string]string{"max-messages": "5"}, "has max-messages -1"},
		{"window", natsjs.StreamConfig{}, map[string]string{"duplicate-window": "5s"}, "has duplicate-window 2m0s"},
		{"replicas", natsjs.StreamConfig{}, map[string]string{"replicas": "3"}, "has replicas 1, and the setting is 3"},
		{"of another", natsjs.StreamConfig{Metadata: map[string]string{"dev.icecore.destination": "someone"}}, nil, "belongs to another destination"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			name := fmt.Sprintf("s%d", i)
			c.stream.Name = name
			if c.stream.Subjects == nil {
				c.stream.Subjects = []string{"%.>"}
			}
			for i, s := range c.stream.Subjects {
				c.stream.Subjects[i] = strings.ReplaceAll(s, "%", name)
			}
			if tr := c.stream.SubjectTransform; tr != nil {
				tr.Source, tr.Destination = strings.ReplaceAll(tr.Source, "%", name), strings.ReplaceAll(tr.Destination, "%", name)
			}
			if _, err := js.CreateStream(t.Context(), c.stream); err != nil {
				t.Fatal(err)
			}
			settings := map[string]string{"stream": name, "subject-prefix": name}
			for key, value := range c.settings {
				settings[key] = value
			}
			err := open(t, server.URL(), settings).Prepare(t.Context())
			switch {
			case c.want == "" && err != nil:
				t.Errorf("%v, want it to fit", err)
			case c.want != "" && (!errors.Is(err, jetstream.ErrUnfit) || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want ErrUnfit: %s", err, c.want)
			}
		})
	}
}

func TestAStreamBelongsToOneDestination(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t, "")
	js := connect(t, server.URL())
	if _, err := js.CreateStream(t.Context(), natsjs.StreamConfig{
		Name: "icecore", Subjects: []string{"icecore.>"}, Metadata: map[string]string{"team": "lake"}, MaxAge: time.Hour,
	}); err != nil {
		t.Fatal(err)
	}
	prepared(t, server.URL(), nil)
	prepared(t, server.URL(), nil) // its own second publisher
	stream, err := js.Stream(t.Context(), "icecore")
	if err != nil {
		t.Fatal(err)
	}
	if c := stream.CachedInfo().Config; c.Metadata["team"] != "lake" || c.Metadata["dev.icecore.destination"] != owner || c.MaxAge != time.Hour {
		t.Errorf("the stream became %+v", c)
	}
	s, err := jetstream.ParseSettings(map[string]string{"url": server.URL()})
	if err != nil {
		t.Fatal(err)
	}
	other := jetstream.New(jetstream.Options{Settings: s, Destination: "other", Owner: "0195f8e4-2c00-7abc-8def-0000000000d2"})
	t.Cleanup(func() { _ = other.Close() })
	if err := other.Prepare(t.Context()); !errors.Is(err, jetstream.ErrUnfit) {
		t.Errorf("another destination: %v, want ErrUnfit", err)
	}
}

func TestAStreamThatIsManagedElsewhere(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t, "")
	settings := map[string]string{"manage-stream": "false"}
	if err := open(t, server.URL(), settings).Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Fatalf("Prepare without a stream: %v", err)
	}
	js := connect(t, server.URL())
	stream, err := js.CreateStream(t.Context(), natsjs.StreamConfig{Name: "icecore", Subjects: []string{"icecore.>"}})
	if err != nil {
		t.Fatal(err)
	}
	log := publishertest.NewLog(t)
	entries := log.Append(3)
	mustPublish(t, prepared(t, server.URL(), settings), entries, "")
	wantPositions(t, server.URL(), entries)
	if info, err := stream.Info(t.Context()); err != nil || info.Config.Metadata["dev.icecore.destination"] != "" {
		t.Errorf("it was marked: %+v, %v", info.Config.Metadata, err)
	}
}

// emptied: what was published has gone by the limits of the stream, or by hand.
func TestAnEmptiedStreamGoesOn(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart=%v", restart), func(t *testing.T) {
			t.Parallel()
			server := natstest.Start(t, "")
			proxy := natstest.NewProxy(t, server.Addr())
			p := prepared(t, "nats://"+proxy.Addr(), map[string]string{"max-age": "24h"})
			log := publishertest.NewLog(t)
			first, second, third := log.Append(5), log.Append(5), log.Append(5)
			mustPublish(t, p, first, "")
			purge(t, server.URL())
			if restart { // the server then knows no last message id
				proxy.Lead("")
				server.Stop(t)
				server.Start(t)
				proxy.Lead(server.Addr())
			}
			publishertest.Deliver(t, p, second, last(first))
			wantPositions(t, server.URL(), second)
			purge(t, server.URL())
			if _, ok, err := p.Last(t.Context()); ok || err != nil {
				t.Fatalf("Last of an emptied stream: %v, %v", ok, err)
			}
			// Again what the server may remember: it is not dropped as known.
			mustPublish(t, p, second, "")
			mustPublish(t, p, third, last(second))
			wantPositions(t, server.URL(), second, third)
		})
	}
}

// Consumers of a queue take messages out, and without consumers nothing of
// interest is kept; either way what follows is taken.
func TestAQueueIsEmptiedByItsConsumer(t *testing.T) {
	t.Parallel()
	for _, retention := range []string{"workqueue", "interest"} {
		t.Run(retention, func(t *testing.T) {
			t.Parallel()
			server := natstest.Start(t, "")
			proxy := natstest.NewProxy(t, server.Addr())
			p := prepared(t, "nats://"+proxy.Addr(), map[string]string{"retention": retention})
			log := publishertest.NewLog(t)
			before := log.Append(2)
			mustPublish(t, p, before, "") // interest: nobody asks for it
			js := connect(t, server.URL())
			consumer, err := js.CreateConsumer(t.Context(), "icecore", natsjs.ConsumerConfig{Durable: "c", AckPolicy: natsjs.AckExplicitPolicy})
			if err != nil {
				t.Fatal(err)
			}
			if retention == "workqueue" {
				take(t, consumer, before)
			}
			previous := last(before)
			for i := range 6 {
				batch := log.Append(3)
				if i%2 == 1 {
					proxy.Lead(server.Addr()) // by another connection, which knows less
				}
				publishertest.Deliver(t, p, batch, previous)
				take(t, consumer, batch)
				previous = last(batch)
			}
		})
	}
}

// take acknowledges exactly these.
func take(t *testing.T, consumer natsjs.Consumer, want []eventstore.Entry) {
	t.Helper()
	for _, e := range want {
		m, err := consumer.Next(natsjs.FetchMaxWait(20 * time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if id := m.Headers().Get("ce-id"); id != e.ID.String() {
			t.Fatalf("got event %s, want %s", id, e.ID)
		}
		if err := m.DoubleAck(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func purge(t *testing.T, url string) {
	t.Helper()
	stream, err := connect(t, url).Stream(t.Context(), "icecore")
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestALastMessageThatWasTakenOut(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t, "")
	p := prepared(t, server.URL(), nil)
	log := publishertest.NewLog(t)
	first, second := log.Append(5), log.Append(5)
	mustPublish(t, p, first, "")
	stream, err := connect(t, server.URL()).Stream(t.Context(), "icecore")
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.DeleteMsg(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	place, ok, err := p.Last(t.Context())
	if err != nil || !ok || place.Event != first[3].ID {
		t.Fatalf("Last = %+v, %v, %v; want the newest that is there", place, ok, err)
	}
	if err := publish(t, p, second, last(first)); !errors.Is(err, publishers.ErrMismatch) {
		t.Fatalf("Publish behind what was taken out: %v, want ErrMismatch", err)
	}
	mustPublish(t, p, append(first[4:5:5], second...), first[3].ID.String())
	wantPositions(t, server.URL(), first, second)
}

func TestAStreamThatIsAnotherOneIsAMismatch(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t, "")
	p := prepared(t, server.URL(), nil)
	log := publishertest.NewLog(t)
	first, second := log.Append(5), log.Append(5)
	mustPublish(t, p, first, "")
	js := connect(t, server.URL())
	if err := js.DeleteStream(t.Context(), "icecore"); err != nil {
		t.Fatal(err)
	}
	if err := publish(t, p, second, last(first)); err == nil {
		t.Fatal("Publish to a stream that is gone succeeded")
	}
	if err := p.Prepare(t.Context()); err != nil { // it makes a new one
		t.Fatal(err)
	}
	if err := publish(t, p, second, last(first)); !errors.Is(err, publishers.ErrMismatch) {
		t.Fatalf("Publish to a stream that never had what came before: %v, want ErrMismatch", err)
	}
	if _, ok, err := p.Last(t.Context()); ok || err != nil {
		t.Fatalf("Last: %v, %v", ok, err)
	}
	mustPublish(t, p, second, "") // the relay's decision
	wantPositions(t, server.URL(), second)
}

func TestAForeignMessageInTheStreamIsFoundOut(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t, "")
	p := prepared(t, server.URL(), nil)
	log := publishertest.NewLog(t)
	first, second := log.Append(5), log.Append(5)
	mustPublish(t, p, first, "")
	if _, err := connect(t, server.URL()).Publish(t.Context(), "icecore.x", []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := publish(t, p, second, last(first)); !errors.Is(err, publishers.ErrMismatch) {
		t.Fatalf("Publish behind it: %v, want ErrMismatch", err)
	}
	if err := p.Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "no event of a log") {
		t.Fatalf("Prepare: %v", err)
	}
}

func TestAFullStreamHoldsUpAndLosesNothing(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t, "")
	p := prepared(t, server.URL(), map[string]string{"max-messages": "7", "discard": "new"})
	log := publishertest.NewLog(t)
	first, second := log.Append(5), log.Append(5)
	mustPublish(t, p, first, "")
	err := publish(t, p, second, last(first))
	var batch *publishers.BatchError
	if !errors.As(err, &batch) || batch.Permanent || batch.Index != 2 {
		t.Fatalf("Publish to a full stream: %v, want message 2 refused for now", err)
	}
	wantPositions(t, server.URL(), first, second[:2])
	purge(t, server.URL())
	publishertest.Deliver(t, p, second[2:], second[1].ID.String())
	wantPositions(t, server.URL(), second[2:])
}

// The experiment behind the chain: which messages behind a refused one can have
// landed? Without it, all of them, before the one that comes again; with it none,
// wherever the refusals are and however many messages are in flight.
func TestNothingLandsBehindARefusal(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t, "")
	js := connect(t, server.URL())
	if _, err := js.CreateStream(t.Context(), natsjs.StreamConfig{Name: "plain", Subjects: []string{"plain"}, MaxMsgSize: 1000}); err != nil {
		t.Fatal(err)
	}
	var futures []natsjs.PubAckFuture
	for i := range 10 {
		m := &natsgo.Msg{Subject: "plain", Data: make([]byte, 10)}
		if i == 2 {
			m.Data = make([]byte, 2000)
		}
		f, err := js.PublishMsgAsync(m, natsjs.WithMsgID(fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		futures = append(futures, f)
	}
	landed := 0
	for _, f := range futures {
		select {
		case <-f.Ok():
			landed++
		case <-f.Err():
		}
	}
	if landed != 9 {
		t.Errorf("without a chain %d of 10 landed, the experiment saw 9", landed)
	}

	if _, err := js.CreateStream(t.Context(), natsjs.StreamConfig{Name: "icecore", Subjects: []string{"icecore.>"}, MaxMsgSize: 4000}); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	p := prepared(t, server.URL(), nil)
	log := publishertest.NewLog(t)
	var taken []eventstore.Entry
	previous := ""
	for range 60 {
		var batch []eventstore.Entry
		refused := map[int]bool{}
		for i := range 1 + random.IntN(40) {
			if random.IntN(15) == 0 {
				batch = append(batch, log.AppendLarge(4000))
				refused[i] = true
			} else {
				batch = append(batch, log.Append(1)...)
			}
		}
		parked := publishertest.Deliver(t, p, batch, previous)
		if len(parked) != len(refused) {
			t.Fatalf("%d events were refused, want %d", len(parked), len(refused))
		}
		for i, e := range batch {
			if !refused[i] {
				taken = append(taken, e)
				previous = e.ID.String()
			}
		}
	}
	wantPositions(t, server.URL(), taken)
}

// A connection may end anywhere, in the middle of a message, too.
func TestAConnectionMayBreakAnywhere(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t, "")
	proxy := natstest.NewProxy(t, server.Addr())
	p := prepared(t, "nats://"+proxy.Addr(), nil)
	random := rand.New(rand.NewPCG(3, 4))
	log := publishertest.NewLog(t)
	var all []eventstore.Entry
	previous, broken := "", 0
	for range 80 {
		batch := log.Append(1 + random.IntN(30))
		proxy.CutAfter(random.Int64N(30_000))
		err := publish(t, p, batch, previous)
		proxy.CutAfter(-1)
		if err != nil {
			broken++
			publishertest.Deliver(t, p, batch, previous)
		}
		previous, all = last(batch), append(all, batch...)
	}
	if broken < 10 {
		t.Errorf("%d batches of 80 were broken, too few to prove anything", broken)
	}
	wantPositions(t, server.URL(), all)
}

// A server that was restarted while nothing was to do costs no failure.
func TestAnIdleConnectionIsMadeAnew(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t, "")
	proxy := natstest.NewProxy(t, server.Addr())
	p := prepared(t, "nats://"+proxy.Addr(), nil)
	log := publishertest.NewLog(t)
	first, second := log.Append(5), log.Append(5)
	mustPublish(t, p, first, "")
	proxy.Lead(server.Addr()) // ends the connection
	err := publish(t, p, second, last(first))
	if err != nil { // it had not yet heard of the end
		publishertest.Deliver(t, p, second, last(first))
	}
	wantPositions(t, server.URL(), first, second)
}

// Another instance publishes in turn with this one; neither meets a failure.
func TestInstancesTakeTurns(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t, "")
	instances := []publishers.Transport{prepared(t, server.URL(), nil), prepared(t, server.URL(), nil)}
	log := publishertest.NewLog(t)
	var all []eventstore.Entry
	previous := ""
	for i := range 6 {
		batch := log.Append(3)
		mustPublish(t, instances[i%2], batch, previous)
		previous, all = last(batch), append(all, batch...)
	}
	wantPositions(t, server.URL(), all)
}

func TestAnEndOfTimeEndsEverything(t *testing.T) {
	t.Parallel()
	server := natstest.StartProcess(t, "")
	p := prepared(t, server.URL(), nil)
	log := publishertest.NewLog(t)
	first, second := log.Append(5), log.Append(500)
	mustPublish(t, p, first, "")
	server.Freeze(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := p.Publish(publishertest.Topic, publishertest.Messages(t, ctx, second, last(first))...); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Publish to what is frozen: %v, want the context's end", err)
	}
	if err := p.Prepare(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Prepare: %v, want the context's end", err)
	}
	if _, _, err := p.Last(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Last: %v, want the context's end", err)
	}
	server.Thaw(t)
	publishertest.Deliver(t, p, second, last(first))
	wantPositions(t, server.URL(), first, second)
}

func TestAServerMayBeKilled(t *testing.T) {
	t.Parallel()
	server := natstest.StartProcess(t, "")
	proxy := natstest.NewProxy(t, server.Addr())
	p := prepared(t, "nats://"+proxy.Addr(), nil)
	log := publishertest.NewLog(t)
	all := log.Append(1)
	mustPublish(t, p, all, "")
	for range 4 {
		batch := log.Append(500)
		previous := last(all)
		result := make(chan error, 1)
		go func() {
			result <- p.Publish(publishertest.Topic, publishertest.Messages(t, t.Context(), batch, previous)...)
		}()
		server.Kill(t) // before, while or after it takes the batch
		err := <-result
		proxy.Lead("")
		server.Start(t)
		proxy.Lead(server.Addr())
		if err != nil {
			publishertest.Deliver(t, p, batch, previous)
		}
		all = append(all, batch...)
	}
	wantPositions(t, server.URL(), all)
}
