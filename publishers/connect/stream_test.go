package connect

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/pgtest"
	kit "github.com/icecore-catalog/icecore/internal/servicetest"
	"github.com/icecore-catalog/icecore/publishers"
	"github.com/icecore-catalog/icecore/publishers/kafka/kafkatest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const patience = time.Minute

// hook is an endpoint that remembers the ids of what it acknowledged.
type hook struct {
	mu   sync.Mutex
	news *sync.Cond
	ids  []string
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var events []struct{ ID string }
	body, err := io.ReadAll(r.Body)
	if err := errors.Join(err, json.Unmarshal(body, &events)); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range events {
		h.ids = append(h.ids, e.ID)
	}
	h.news.Broadcast()
}

// wait returns the ids when there are n of them.
func (h *hook) wait(t *testing.T, n int) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.news.Broadcast()
	})()
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.ids) < n && ctx.Err() == nil {
		h.news.Wait()
	}
	return slices.Clone(h.ids)
}

// From the command that makes a destination to what its consumers read: the whole
// log, in its order, once.
func TestTheLogArrivesAtKafkaAndAtAWebhook(t *testing.T) {
	t.Parallel()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	h := &hook{}
	h.news = sync.NewCond(&h.mu)
	endpoint := httptest.NewTLSServer(h)
	t.Cleanup(endpoint.Close)
	secrets := map[string][]byte{
		"key": []byte("a key of more than twenty-four bytes"),
		"ca":  pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: endpoint.Certificate().Raw}),
	}

	k := kit.New(t, kit.Setup{DestinationKinds: Kinds()})
	relay := publishers.NewRelay(publishers.Config{
		Pool: k.Pool, Log: k.Store, Source: func(context.Context) (string, error) { return "urn:icecore:" + k.Store.LogID().String(), nil },
		Connect: New(Options{
			Secrets: func(name string) ([]byte, error) { return secrets[name], nil }, Clock: clock.System{}, AllowPrivate: true,
		}),
		Reference: func(event ids.ID) string { return "/events/" + event.String() },
		Pace:      time.Millisecond,
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- relay.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	var made []ids.ID
	for _, in := range []commands.CreateDestination{
		{Name: "to-kafka", Kind: "kafka", OnRefusal: "halt", Settings: map[string]string{"brokers": cluster.ListenAddrs()[0], "topic": "the-log"}},
		{Name: "to-hook", Kind: "webhook", OnRefusal: "halt", Settings: map[string]string{"url": endpoint.URL, "signing-secret": "key", "tls-ca-secret": "ca"}},
	} {
		d, err := k.Commands.CreateDestination(k.Context(), k.Call(), in)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, d.ID)
	}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		k.Namespace(name)
	}
	k.Sequence()
	for _, id := range made {
		relay.Kick(id)
	}
	entries, err := k.Store.ReadAfter(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, e := range entries {
		want = append(want, e.ID.String())
	}
	if got := h.wait(t, len(want)); !slices.Equal(got, want) {
		t.Errorf("the webhook received %v, want %v", got, want)
	}
	var got []string
	for deadline := time.Now().Add(patience); len(got) < len(want) && time.Now().Before(deadline); { // a topic has no signal to give
		got = nil
		for _, r := range kafkatest.Read(t, cluster.ListenAddrs()[0], "the-log") {
			got = append(got, r.Event.ID())
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the topic holds %v, want %v", got, want)
	}
}
