package kafka_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/faultproxy/kafkaproxy"
	"github.com/icecore-catalog/icecore/publishers"
	"github.com/icecore-catalog/icecore/publishers/kafka/kafkatest"
	"github.com/icecore-catalog/icecore/publishers/publishertest"
)

// publish delivers one batch, as often as it takes.
func publish(t *testing.T, p publishers.Transport, batch []eventstore.Entry) {
	t.Helper()
	if parked := publishertest.Deliver(t, p, batch, ""); len(parked) > 0 {
		t.Fatalf("%d events were refused", len(parked))
	}
}

func prepare(t *testing.T, p publishers.Transport) {
	t.Helper()
	if err := p.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// unheard is the fault that the answer to a commit is lost and so is all that the
// library does to learn it.
const unheard = -2

// A client library that retries has turned messages round: see what it does to
// connections that end before or after a request, of each kind, again and again.
func TestNoFaultReordersLosesOrSplitsABatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		key  int16
		fate kafkaproxy.Fate
	}{
		{"produce is lost", kafkaproxy.Produce, kafkaproxy.CutBefore},
		{"the answer to produce is lost", kafkaproxy.Produce, kafkaproxy.CutAfter},
		{"the answer to a commit is lost", kafkaproxy.EndTxn, kafkaproxy.CutAfter},
		{"a commit is lost", kafkaproxy.EndTxn, kafkaproxy.CutBefore},
		{"the answer to a new partition is lost", kafkaproxy.AddPartitionsToTxn, kafkaproxy.CutAfter},
		{"the answer to an initialisation is lost", kafkaproxy.InitProducerID, kafkaproxy.CutAfter},
		{"metadata are lost", kafkaproxy.Metadata, kafkaproxy.CutBefore},
		{"anything", -1, kafkaproxy.Pass},
		{"a commit is never heard of", unheard, kafkaproxy.CutAfter},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cluster := newCluster(t)
			p, log := cluster.open(t, nil), publishertest.NewLog(t)
			prepare(t, p)
			random := rand.New(rand.NewPCG(46, 2619))
			var mu sync.Mutex
			deaf := false // until the publisher begins anew
			cluster.proxy.SetPlan(func(r kafkaproxy.Request) kafkaproxy.Fate {
				mu.Lock()
				defer mu.Unlock()
				switch {
				case deaf:
					return kafkaproxy.CutBefore
				case c.key == unheard && r.Key == kafkaproxy.EndTxn && random.IntN(3) == 0:
					deaf = true
					return c.fate
				case c.key == -1 && random.IntN(12) == 0:
					return []kafkaproxy.Fate{kafkaproxy.CutBefore, kafkaproxy.CutAfter}[random.IntN(2)]
				case r.Key == c.key && random.IntN(3) == 0:
					return c.fate
				}
				return kafkaproxy.Pass
			})
			anew := beginner{p, func() {
				mu.Lock()
				defer mu.Unlock()
				deaf = false
			}}
			var batches [][]eventstore.Entry
			for range 8 {
				batch := log.Append(1 + random.IntN(40))
				publish(t, anew, batch)
				batches = append(batches, batch)
				if random.IntN(4) == 0 {
					prepare(t, cluster.open(t, nil)) // another instance; this one is fenced
					_ = p.Prepare(t.Context())       // and takes it back, if it can
				}
			}
			cluster.proxy.SetPlan(nil)
			repeated, err := kafkatest.CheckBatches(kafkatest.Read(t, cluster.addr, topic), batches)
			if err != nil {
				t.Fatal(err)
			}
			if c.key == unheard && repeated == 0 {
				t.Error("no batch came again: the fault was none")
			}
			t.Logf("%d messages came again", repeated)
		})
	}
}

// beginner tells when it is prepared.
type beginner struct {
	publishers.Transport

	tell func()
}

func (b beginner) Prepare(ctx context.Context) error {
	b.tell()
	return b.Transport.Prepare(ctx)
}

// A publisher that is held up in the middle of its transaction, and goes on when
// another one has taken over, publishes nothing.
func TestZombieWakesUpInTheMiddleOfItsTransaction(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]int16{
		"before its commit": kafkaproxy.EndTxn, "before its messages": kafkaproxy.Produce, "before its partitions": kafkaproxy.AddPartitionsToTxn,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := newCluster(t)
			old, young, log := cluster.open(t, nil), cluster.open(t, nil), publishertest.NewLog(t)
			prepare(t, old)
			first := log.Append(10)
			publish(t, old, first)

			var once sync.Once
			cluster.proxy.SetPlan(func(r kafkaproxy.Request) kafkaproxy.Fate {
				fate := kafkaproxy.Pass
				if r.Key == key {
					once.Do(func() { fate = kafkaproxy.HoldRequest })
				}
				return fate
			})
			second := log.Append(10)
			result := make(chan error, 1)
			messages := publishertest.Messages(t, t.Context(), second, "")
			go func() { result <- old.Publish(topic, messages...) }()
			<-cluster.proxy.Hits()

			prepare(t, young)
			publish(t, young, second)
			third := log.Append(10)
			publish(t, young, third)
			cluster.proxy.Release()
			if err := <-result; err == nil {
				t.Error("the zombie's batch was acknowledged")
			}
			fourth := log.Append(10)
			publish(t, young, fourth)

			repeated, err := kafkatest.CheckBatches(kafkatest.Read(t, cluster.addr, topic), [][]eventstore.Entry{first, second, third, fourth})
			if err != nil || repeated > 0 {
				t.Errorf("%v, %d messages came again", err, repeated)
			}
		})
	}
}

func TestContextEndsWhatWaitsForABroker(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]int16{"messages": kafkaproxy.Produce, "commit": kafkaproxy.EndTxn} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := newCluster(t)
			p, log := cluster.open(t, nil), publishertest.NewLog(t)
			prepare(t, p)
			cluster.proxy.SetPlan(func(r kafkaproxy.Request) kafkaproxy.Fate {
				if r.Key == key {
					return kafkaproxy.HoldAnswer
				}
				return kafkaproxy.Pass
			})
			ctx, cancel := context.WithCancel(t.Context())
			batch := log.Append(10)
			messages := publishertest.Messages(t, ctx, batch, "")
			result := make(chan error, 1)
			go func() { result <- p.Publish(topic, messages...) }()
			<-cluster.proxy.Hits()
			cancel()
			if err := <-result; !errors.Is(err, context.Canceled) {
				t.Errorf("Publish: %v", err)
			}
			cluster.proxy.SetPlan(nil)
			prepare(t, p)
			publish(t, p, batch)
			cluster.proxy.Release()
			if _, err := kafkatest.CheckBatches(kafkatest.Read(t, cluster.addr, topic), [][]eventstore.Entry{batch}); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("prepare", func(t *testing.T) {
		t.Parallel()
		cluster := newCluster(t)
		cluster.proxy.SetPlan(func(kafkaproxy.Request) kafkaproxy.Fate { return kafkaproxy.HoldAnswer })
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error, 1)
		p := cluster.open(t, nil)
		go func() { result <- p.Prepare(ctx) }()
		<-cluster.proxy.Hits()
		cancel()
		if err := <-result; !errors.Is(err, context.Canceled) {
			t.Errorf("Prepare: %v", err)
		}
	})
}

func TestPlacesOfOthersAndOfAbortedTransactionsAreNotTheLast(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	p, log := cluster.open(t, map[string]string{"partitions": "2"}), publishertest.NewLog(t)
	prepare(t, p)
	if _, ok, err := p.Last(t.Context()); ok || err != nil {
		t.Fatalf("an empty topic has a last event: %v, %v", ok, err)
	}
	batch := log.Append(30)
	publish(t, p, batch)
	want := publishers.Place{Epoch: 1, Position: 30, Event: batch[29].ID}
	wantLast := func(when string) {
		t.Helper()
		if got, ok, err := p.Last(t.Context()); err != nil || !ok || got != want {
			t.Fatalf("%s: Last = %+v, %v, %v; want %+v", when, got, ok, err, want)
		}
	}
	wantLast("after a batch")

	// Longer than any first look back: aborted, and of somebody else.
	for range 4 {
		kafkatest.Abort(t, cluster.addr, topic, "icecore-other", 150)
		wantLast("before aborted messages")
	}
	kafkatest.Produce(t, cluster.addr, topic, 200, "ce_id", "0195f8e4-2c00-7abc-8def-000000000001", "ce_sequence", "00000000000000000099",
		"ce_epoch", "7", "ce_source", "urn:icecore:another")
	kafkatest.Produce(t, cluster.addr, topic, 200, "ce_id", "no id", "ce_sequence", "1", "ce_epoch", "9", "ce_source", publishertest.Source)
	wantLast("before foreign messages")

	// The same producer aborted before, and commits now.
	prepare(t, p)
	next := log.Append(1)
	publish(t, p, next)
	want = publishers.Place{Epoch: 1, Position: 31, Event: next[0].ID}
	wantLast("after one more")
	kafkatest.Abort(t, cluster.addr, topic, "icecore-test", 5) // fences p's producer, and reads need none
	wantLast("after an abort by the same id")
}

func TestRefusalsAreNoSecretsAndTellWhat(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	p, log := cluster.open(t, nil), publishertest.NewLog(t)
	prepare(t, p)
	e := log.AppendLarge(limit)
	err := p.Publish(topic, publishertest.Messages(t, t.Context(), []eventstore.Entry{e}, "")...)
	for _, part := range []string{e.ID.String(), "takes", topic} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
}
