package kafka_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	broker "github.com/icecore-catalog/icecore/e2e/kafka"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/faultproxy/kafkaproxy"
	"github.com/icecore-catalog/icecore/publishers"
	"github.com/icecore-catalog/icecore/publishers/kafka"
	"github.com/icecore-catalog/icecore/publishers/kafka/kafkatest"
	"github.com/icecore-catalog/icecore/publishers/publishertest"
)

// limit of a message, of the topics that are made here.
const limit = 200_000

// rig is a broker behind a proxy. Its tests run one after another: they kill it.
type rig struct {
	broker *broker.Broker
	proxy  *kafkaproxy.Proxy
	topics atomic.Int64
}

func newRig(t *testing.T) *rig {
	t.Helper()
	engine(t)
	proxy, err := kafkaproxy.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	r := &rig{proxy: proxy}
	r.broker = start(t, broker.Options{Proxy: proxy.Addr(), Properties: []string{"transaction.state.log.segment.bytes=1048576"}})
	proxy.SetUpstream(r.broker.Upstream())
	return r
}

// topic names one that is not there yet.
func (r *rig) topic() string { return fmt.Sprintf("events-%d", r.topics.Add(1)) }

func (r *rig) open(t *testing.T, topic string, extra map[string]string) *kafka.Transport {
	t.Helper()
	settings := map[string]string{
		"brokers": r.proxy.Addr(), "topic": topic, "partitions": "3", "max-message-bytes": strconv.Itoa(limit),
	}
	for key, value := range extra {
		settings[key] = value
	}
	s, err := kafka.ParseSettings(settings)
	if err != nil {
		t.Fatal(err)
	}
	p := kafka.New(s, kafka.Options{ID: "icecore-" + topic, Source: publishertest.Source})
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func (r *rig) read(t *testing.T, topic string) []publishertest.Received {
	t.Helper()
	return kafkatest.Read(t, r.broker.Addr(), topic)
}

// loseAnswer lets the coordinator commit and the publisher not hear of it.
func (r *rig) loseAnswer(_ *testing.T, _ int, publish func() error) error {
	var cut atomic.Bool
	r.proxy.SetPlan(func(q kafkaproxy.Request) kafkaproxy.Fate {
		switch {
		case cut.Load():
			return kafkaproxy.CutBefore
		case q.Key == kafkaproxy.EndTxn:
			cut.Store(true)
			return kafkaproxy.CutAfter
		}
		return kafkaproxy.Pass
	})
	defer r.proxy.SetPlan(nil)
	return publish()
}

func TestRealBrokerIsADestination(t *testing.T) {
	r := newRig(t)
	publishertest.Run(t, func(*testing.T) publishertest.Harness {
		topic := r.topic()
		return publishertest.Harness{
			Capabilities: publishertest.Capabilities{Fences: true, Partitioned: true, TooLarge: limit},
			Open:         func(t *testing.T) publishers.Transport { return r.open(t, topic, nil) },
			Read:         func(t *testing.T) []publishertest.Received { return r.read(t, topic) },
			Stop: func(t *testing.T) {
				if err := r.broker.Kill(); err != nil {
					t.Fatal(err)
				}
			},
			Start: func(t *testing.T) {
				if err := r.broker.Restart(t.Context()); err != nil {
					t.Fatal(err)
				}
			},
			LoseAnswer: r.loseAnswer,
		}
	})
}

func TestRealBrokerUnderFaults(t *testing.T) {
	r := newRig(t)
	open := func(*testing.T) kafkatest.Rig {
		topic := r.topic()
		return kafkatest.Rig{
			Proxy: r.proxy,
			Open:  func(t *testing.T) publishers.Transport { return r.open(t, topic, nil) },
			Read:  func(t *testing.T) []publishertest.Received { return r.read(t, topic) },
		}
	}
	t.Run("faults", func(t *testing.T) { kafkatest.Faults(t, open) })
	t.Run("zombies", func(t *testing.T) { kafkatest.Zombies(t, open) })
	t.Run("a bound that was lowered", r.boundLowered)
	t.Run("frozen", r.frozen)
	for _, version := range []string{"2.7.0", "3.6.0", "4.0.0"} {
		t.Run("protocol "+version, func(t *testing.T) {
			topic := r.topic()
			p, log := r.open(t, topic, map[string]string{"version": version, "compression": "zstd"}), publishertest.NewLog(t)
			prepare(t, p)
			batch := log.Append(500)
			deliver(t, p, batch)
			if repeated, err := kafkatest.CheckBatches(r.read(t, topic), [][]eventstore.Entry{batch}); err != nil || repeated > 0 {
				t.Error(err, repeated)
			}
			if place, ok, err := p.Last(t.Context()); err != nil || !ok || place.Event != batch[499].ID {
				t.Errorf("Last = %+v, %v, %v", place, ok, err)
			}
		})
	}
}

// prepare tries for a while: a coordinator that has just come up is loading.
func prepare(t *testing.T, p publishers.Transport) {
	t.Helper()
	var err error
	for range 10 {
		if err = p.Prepare(t.Context()); err == nil {
			return
		}
	}
	t.Fatal(err)
}

func deliver(t *testing.T, p publishers.Transport, batch []eventstore.Entry) (parked []string) {
	t.Helper()
	return publishertest.Deliver(t, p, batch, "")
}

// boundLowered has the broker refuse a message that the publisher thinks will fit:
// it tells of the batch, and the message has to be found.
func (r *rig) boundLowered(t *testing.T) {
	topic := r.topic()
	p, log := r.open(t, topic, nil), publishertest.NewLog(t)
	prepare(t, p)
	client, err := kgo.NewClient(kgo.SeedBrokers(r.broker.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	request := kmsg.NewPtrIncrementalAlterConfigsRequest()
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	config, bound := kmsg.NewIncrementalAlterConfigsRequestResourceConfig(), "100000"
	config.Name, config.Value = "max.message.bytes", &bound
	resource.Configs = append(resource.Configs, config)
	request.Resources = append(request.Resources, resource)
	if answer, err := request.RequestWith(t.Context(), client); err != nil || answer.Resources[0].ErrorCode != 0 {
		t.Fatal(err, answer)
	}
	before := log.Append(20)
	large := log.AppendLarge(150_000)
	after := log.Append(20)
	all := append(append(append([]eventstore.Entry(nil), before...), large), after...)
	parked := deliver(t, p, all)
	if len(parked) != 1 || parked[0] != large.ID.String() {
		t.Fatalf("refused %v, want %s", parked, large.ID)
	}
	var seen []string
	for _, m := range r.read(t, topic) {
		seen = append(seen, m.Event.ID())
	}
	if len(seen) != 40 {
		t.Errorf("%d messages, want 40 and none twice", len(seen))
	}
}

// frozen: a broker whose process stands still keeps connections open.
func (r *rig) frozen(t *testing.T) {
	topic := r.topic()
	p, log := r.open(t, topic, nil), publishertest.NewLog(t)
	prepare(t, p)
	batch := log.Append(10)
	if err := r.broker.Freeze(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := timeout(t, 2*time.Second)
	defer cancel()
	if err := p.Publish(publishertest.Topic, publishertest.Messages(t, ctx, batch, "")...); err == nil {
		t.Error("a frozen broker acknowledged a batch")
	}
	if err := r.broker.Thaw(); err != nil {
		t.Fatal(err)
	}
	prepare(t, p)
	deliver(t, p, batch)
	if _, err := kafkatest.CheckBatches(r.read(t, topic), [][]eventstore.Entry{batch}); err != nil {
		t.Error(err)
	}
}

// The replay of what was reported of the client library (IBM/sarama#2619, #2860,
// #3354, #1430): many messages of few keys, while every so-many-th answer to a
// produce request is lost with its connection, metadata come late, and the broker
// is killed. Versions rise by key in the order of the partition, repetitions are
// whole, nothing is missing.
func TestManyMessagesUnderLostAnswersLateMetadataAndKills(t *testing.T) {
	const events, kills = 20_000, 3
	r := newRig(t)
	topic := r.topic()
	p, log := r.open(t, topic, nil), publishertest.NewLog(t)
	prepare(t, p)
	random := rand.New(rand.NewPCG(2619, 1430))
	var mu sync.Mutex
	produced, asked := 0, 0
	r.proxy.SetPlan(func(q kafkaproxy.Request) kafkaproxy.Fate {
		mu.Lock()
		defer mu.Unlock()
		switch q.Key {
		case kafkaproxy.Produce:
			if produced++; produced%40 == 0 {
				return kafkaproxy.CutAfter
			}
		case kafkaproxy.Metadata:
			if asked++; asked%10 == 0 {
				time.AfterFunc(2*time.Second, r.proxy.Release)
				return kafkaproxy.HoldAnswer
			}
		}
		return kafkaproxy.Pass
	})
	var batches [][]eventstore.Entry
	published, killed := 0, 0
	var killer sync.WaitGroup
	defer killer.Wait()
	for published < events {
		if at := (killed + 1) * events / (kills + 1); killed < kills && published >= at {
			killed++
			killer.Wait()
			killer.Go(func() { // while the next batches are under way
				if err := r.broker.Kill(); err != nil {
					t.Error(err)
				}
				if err := r.broker.Restart(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		batch := log.Append(1 + random.IntN(200))
		r.insist(t, p, batch)
		batches = append(batches, batch)
		published += len(batch)
	}
	killer.Wait()
	r.proxy.SetPlan(nil)
	repeated, err := kafkatest.CheckBatches(r.read(t, topic), batches)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d events in %d batches, %d produce requests, %d kills: %d messages came again", published, len(batches), produced, killed, repeated)
}

// insist publishes until it is done: a broker takes its time to come back.
func (r *rig) insist(t *testing.T, p publishers.Transport, batch []eventstore.Entry) {
	t.Helper()
	ctx, cancel := timeout(t, 2*time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		attempt, end := timeout(t, 10*time.Second)
		err := p.Publish(publishertest.Topic, publishertest.Messages(t, attempt, batch, "")...)
		if err != nil {
			for ctx.Err() == nil && p.Prepare(ctx) != nil {
				select {
				case <-ctx.Done():
				case <-time.After(100 * time.Millisecond):
				}
			}
		}
		end()
		if err == nil {
			return
		}
	}
	t.Fatal("the broker does not come back")
}
