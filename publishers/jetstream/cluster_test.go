package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/nats/natstest"
	"github.com/icecore-catalog/icecore/publishers"
	"github.com/icecore-catalog/icecore/publishers/publishertest"
)

// cluster starts three servers that know each other.
func cluster(t *testing.T) []*natstest.Process {
	t.Helper()
	if os.Getenv("ICECORE_LONG") == "" {
		t.Skip("a cluster takes its time: ICECORE_LONG=1")
	}
	var routes []string
	for range 3 {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		routes = append(routes, l.Addr().String())
		_ = l.Close()
	}
	servers := make([]*natstest.Process, 3)
	var all sync.WaitGroup
	for i := range servers {
		all.Go(func() {
			servers[i] = natstest.StartProcess(t, fmt.Sprintf("server_name: n%d\ncluster { name: c, listen: %q, routes: [\"nats://%s\"] }\n",
				i, routes[i], strings.Join(routes, `", "nats://`)))
		})
	}
	all.Wait()
	return servers
}

func urls(servers []*natstest.Process) string {
	var list []string
	for _, s := range servers {
		list = append(list, s.URL())
	}
	return strings.Join(list, ",")
}

// ready waits until the cluster makes streams of three replicas.
func ready(t *testing.T, js natsjs.JetStream) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		try, stop := context.WithTimeout(ctx, 2*time.Second)
		_, err := js.CreateOrUpdateStream(try, natsjs.StreamConfig{Name: "ready", Subjects: []string{"ready"}, Replicas: 3})
		stop()
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

func TestConformanceOfAReplicatedStream(t *testing.T) {
	t.Parallel()
	servers := cluster(t)
	ready(t, connect(t, urls(servers)))
	var count atomic.Int32
	publishertest.Run(t, func(t *testing.T) publishertest.Harness {
		name := fmt.Sprintf("s%d", count.Add(1))
		return publishertest.Harness{
			Capabilities: publishertest.Capabilities{Chained: true, TooLarge: 1 << 20},
			Open: func(t *testing.T) publishers.Transport {
				return open(t, urls(servers), map[string]string{"stream": name, "subject-prefix": name, "replicas": "3"})
			},
			Read: func(t *testing.T) []publishertest.Received { return received(t, urls(servers), name) },
		}
	})
}

// The header that would leave a replicated stream stuck is not on its messages.
func TestAReplicatedStreamIsChainedBySequences(t *testing.T) {
	t.Parallel()
	servers := cluster(t)
	ready(t, connect(t, urls(servers)))
	p := prepared(t, urls(servers), map[string]string{"replicas": "3"})
	mustPublish(t, p, publishertest.NewLog(t).Append(3), "")
	for i, m := range messages(t, urls(servers), "icecore") {
		if m.Headers().Get(natsjs.ExpectedLastMsgIDHeader) != "" || m.Headers().Get(natsjs.ExpectedLastSeqHeader) != fmt.Sprint(i) {
			t.Errorf("message %d: %v", i, m.Headers())
		}
	}
}

// Leaders step down and servers are killed in the middle of batches, some of
// which hold what is refused.
func TestAClusterThatLosesItsLeaders(t *testing.T) {
	t.Parallel()
	servers := cluster(t)
	var proxies []*natstest.Proxy
	var list []string
	for _, s := range servers {
		proxies = append(proxies, natstest.NewProxy(t, s.Addr()))
		list = append(list, "nats://"+proxies[len(proxies)-1].Addr())
	}
	ready(t, connect(t, urls(servers)))
	if _, err := connect(t, urls(servers)).CreateStream(t.Context(), natsjs.StreamConfig{
		Name: "icecore", Subjects: []string{"icecore.>"}, Replicas: 3, MaxMsgSize: 20_000,
	}); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(5, 6))
	log := publishertest.NewLog(t)
	var all []eventstore.Entry
	previous := ""
	p := open(t, strings.Join(list, ","), map[string]string{"ack-timeout": "1s"})
	for round := range 20 {
		batch := log.Append(100 + random.IntN(200))
		refused := -1
		if random.IntN(3) == 0 {
			refused = len(batch)
			batch = append(batch, log.AppendLarge(20_000))
			batch = append(batch, log.Append(100)...)
		}
		result := make(chan error, 1)
		go func() {
			result <- p.Publish(publishertest.Topic, publishertest.Messages(t, t.Context(), batch, previous)...)
		}()
		if at := random.IntN(3); round%5 == 4 {
			servers[at].Kill(t)
			proxies[at].Lead("")
			servers[at].Start(t)
			proxies[at].Lead(servers[at].Addr())
		} else {
			stepDown(t, urls(servers))
		}
		err := <-result
		ready(t, connect(t, urls(servers)))
		if parked := deliver(t, p, batch, previous, err); refused >= 0 {
			if len(parked) != 1 || parked[0] != batch[refused].ID.String() {
				t.Fatalf("round %d: parked %v", round, parked)
			}
			batch = append(batch[:refused:refused], batch[refused+1:]...)
		} else if len(parked) > 0 {
			t.Fatalf("round %d: parked %v", round, parked)
		}
		previous, all = last(batch), append(all, batch...)
	}
	wantPositions(t, urls(servers), all)
}

// deliver goes on after a first attempt, and waits for leaders as the relay does:
// by trying again.
func deliver(t *testing.T, p publishers.Transport, entries []eventstore.Entry, previous string, err error) (parked []string) {
	t.Helper()
	limit, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		var batch *publishers.BatchError
		switch {
		case err == nil:
			return parked
		case errors.As(err, &batch):
			if batch.Index > 0 {
				previous = entries[batch.Index-1].ID.String()
			}
			entries = entries[batch.Index:]
			if batch.Permanent {
				parked, entries = append(parked, entries[0].ID.String()), entries[1:]
			}
		case errors.Is(err, publishers.ErrMismatch):
			if place, ok, failed := p.Last(t.Context()); failed == nil && ok {
				if at := slices.IndexFunc(entries, func(e eventstore.Entry) bool { return e.ID == place.Event }); at >= 0 {
					previous, entries = place.Event.String(), entries[at+1:]
				}
			}
		}
		if limit.Err() != nil {
			t.Fatalf("%d events were not delivered: %v", len(entries), err)
		}
		try, stop := context.WithTimeout(limit, 5*time.Second)
		err = p.Publish(publishertest.Topic, publishertest.Messages(t, try, entries, previous)...)
		stop()
	}
}

func stepDown(t *testing.T, url string) {
	t.Helper()
	nc, err := natsgo.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_, _ = nc.Request("$JS.API.STREAM.LEADER.STEPDOWN.icecore", nil, 2*time.Second) // there may be none just now
}
