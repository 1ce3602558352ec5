package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	natsgo "github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
)

// natsURL is what dev wrote for whoever wants to connect.
func natsURL(t *testing.T, data string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(data, "nats.url"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// wantEvents reads dev's stream from its beginning, as a consumer would, until
// an event whose data hold text. Up to there it has to be the whole log, each
// event once.
func wantEvents(t *testing.T, data, text string) {
	t.Helper()
	nc, err := natsgo.Connect(natsURL(t, data))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	var consumer natsjs.Consumer
	until(t, func() bool { // the stream is made with the first event
		consumer, err = js.OrderedConsumer(t.Context(), "icecore", natsjs.OrderedConsumerConfig{})
		return err == nil
	})
	for position := 1; ; position++ {
		m, err := consumer.Next(natsjs.FetchMaxWait(deadline))
		if err != nil {
			t.Fatalf("event %d: %v", position, err)
		}
		if got, want := m.Headers().Get("ce-sequence"), fmt.Sprintf("%020d", position); got != want {
			t.Fatalf("position %s came where %s belongs", got, want)
		}
		if strings.Contains(string(m.Data()), text) {
			return
		}
	}
}

// destinations lists names and settings.
func destinations(t *testing.T, data string) map[string]map[string]string {
	t.Helper()
	r := icecore(t, nil, "destination", "list", "--json", "--data", data)
	var list []struct {
		Name     string
		Settings map[string]string
	}
	if err := json.Unmarshal([]byte(r.stdout), &list); r.code != 0 || err != nil {
		t.Fatalf("destination list: %d %v %s%s", r.code, err, r.stdout, r.stderr)
	}
	found := map[string]map[string]string{}
	for _, d := range list {
		found[d.Name] = d.Settings
	}
	return found
}

// A port that somebody else took since the last start costs a new one, and the
// destination follows.
func TestDevMovesItsNATSWhereItHasTo(t *testing.T) {
	t.Parallel()
	data := folder(t)
	r := dev(t, data)
	first := natsURL(t, data)
	until(t, func() bool { return strings.Contains(r.output(), first) }) // it is printed
	createNamespace(t, r, "one")
	wantEvents(t, data, `"one"`)
	r.stop(t, syscall.SIGINT)

	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", strings.TrimPrefix(first, "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	r = dev(t, data)
	moved := natsURL(t, data)
	if moved == first {
		t.Fatal("NATS says that it is where somebody else listens")
	}
	createNamespace(t, r, "two")
	wantEvents(t, data, `"two"`)
	if d := destinations(t, data); len(d) != 1 || d["nats"]["url"] != moved {
		t.Errorf("destinations: %v, want one at %s", d, moved)
	}

	// It is the operator's to remove.
	if r := icecore(t, nil, "destination", "remove", "nats", "--data", data); r.code != 0 {
		t.Fatalf("remove: %d %s%s", r.code, r.stdout, r.stderr)
	}
	r.stop(t, syscall.SIGINT)
	dev(t, data)
	if d := destinations(t, data); len(d) != 0 {
		t.Errorf("a destination that was removed is there again: %v", d)
	}
}
