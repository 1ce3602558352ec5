package kafka_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/clock"
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

func newRig(t *testing.T) kafkatest.Rig {
	t.Helper()
	c := newCluster(t)
	return kafkatest.Rig{
		Proxy: c.proxy,
		Open:  func(t *testing.T) publishers.Transport { return c.open(t, nil) },
		Read:  func(t *testing.T) []publishertest.Received { return kafkatest.Read(t, c.addr, topic) },
	}
}

func TestNoFaultReordersLosesOrSplitsABatch(t *testing.T) {
	t.Parallel()
	kafkatest.Faults(t, newRig)
}

func TestZombieWakesUpInTheMiddleOfItsTransaction(t *testing.T) {
	t.Parallel()
	kafkatest.Zombies(t, newRig)
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

// What was published last is not what stands last in the log while an operator has
// events published again.
func TestLastIsWhatWasPublishedLast(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	log := publishertest.NewLog(t)
	all := log.Append(60)
	now := clock.NewFake(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	check := func(p publishers.Transport, batch []eventstore.Entry) {
		t.Helper()
		publish(t, p, batch)
		want := batch[len(batch)-1]
		got, ok, err := p.Last(t.Context())
		if err != nil || !ok || got != (publishers.Place{Epoch: 1, Position: want.Position, Event: want.ID}) {
			t.Fatalf("Last = %+v, %v, %v; want position %d", got, ok, err, want.Position)
		}
	}
	first := cluster.openAt(t, nil, now)
	prepare(t, first)
	check(first, all[:30])
	check(first, all[30:])
	for i := range all[:6] { // one by one: the other partitions hold later ones
		check(first, all[i:i+1])
	}
	// Another instance, whose clock is behind.
	second := cluster.openAt(t, nil, clock.NewFake(time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC)))
	prepare(t, second)
	for i := range all[:6] {
		check(second, all[i:i+1])
	}
	check(second, all[6:])
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
