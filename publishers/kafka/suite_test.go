package kafka_test

import (
	"bytes"
	"net"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/faultproxy/kafkaproxy"
	"github.com/icecore-catalog/icecore/publishers"
	"github.com/icecore-catalog/icecore/publishers/kafka"
	"github.com/icecore-catalog/icecore/publishers/kafka/kafkatest"
	"github.com/icecore-catalog/icecore/publishers/publishertest"
)

const topic = "icecore-events"

// limit is what the topic takes; less than by default, so that tests are quick.
const limit = 200_000

// cluster is an in-process Kafka behind a proxy.
type cluster struct {
	fake  *kfake.Cluster
	proxy *kafkaproxy.Proxy
	addr  string // straight to it
}

// elsewhere is a listener that says that it is at another address: that of the
// proxy before it.
type elsewhere struct {
	net.Listener

	addr net.Addr
}

func (l elsewhere) Addr() net.Addr { return l.addr }

func newCluster(t *testing.T, options ...kfake.Opt) *cluster {
	t.Helper()
	proxy, err := kafkaproxy.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	c := &cluster{proxy: proxy}
	outside, err := net.ResolveTCPAddr("tcp", proxy.Addr())
	if err != nil {
		t.Fatal(err)
	}
	listen := func(network, address string) (net.Listener, error) {
		l, err := net.Listen(network, address)
		if err != nil {
			return nil, err
		}
		proxy.SetUpstream(l.Addr().String())
		return elsewhere{l, outside}, nil
	}
	c.fake, err = kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1), kfake.ListenFn(listen)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.fake.Close)
	c.addr = proxy.Addr()
	return c
}

func (c *cluster) open(t *testing.T, settings map[string]string) *kafka.Transport {
	t.Helper()
	return c.openAt(t, settings, clock.System{})
}

func (c *cluster) openAt(t *testing.T, settings map[string]string, now clock.Clock) *kafka.Transport {
	t.Helper()
	all := map[string]string{"brokers": c.proxy.Addr(), "topic": topic, "partitions": "3", "max-message-bytes": strconv.Itoa(limit)}
	for key, value := range settings {
		all[key] = value
	}
	s, err := kafka.ParseSettings(all)
	if err != nil {
		t.Fatal(err)
	}
	p := kafka.New(s, kafka.Options{ID: "icecore-test", Source: publishertest.Source, Clock: now})
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// refuse answers a produce request whose bytes hold the id as a broker does that
// finds one of its messages too large.
func (c *cluster) refuse(id string) {
	c.fake.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.fake.KeepControl()
		request := r.(*kmsg.ProduceRequest)
		found := false
		for _, t := range request.Topics {
			for _, p := range t.Partitions {
				found = found || bytes.Contains(p.Records, []byte(id))
			}
		}
		if !found {
			return nil, nil, false
		}
		response := request.ResponseKind().(*kmsg.ProduceResponse)
		for _, t := range request.Topics {
			topic := kmsg.NewProduceResponseTopic()
			topic.Topic = t.Topic
			for _, p := range t.Partitions {
				partition := kmsg.NewProduceResponseTopicPartition()
				partition.Partition, partition.BaseOffset = p.Partition, -1
				partition.ErrorCode = kerr.InvalidTxnState.Code
				if bytes.Contains(p.Records, []byte(id)) {
					partition.ErrorCode = kerr.MessageTooLarge.Code
				}
				topic.Partitions = append(topic.Partitions, partition)
			}
			response.Topics = append(response.Topics, topic)
		}
		return response, nil, true
	})
}

func TestKafkaIsADestination(t *testing.T) {
	t.Parallel()
	publishertest.Run(t, func(t *testing.T) publishertest.Harness {
		c := newCluster(t)
		return publishertest.Harness{
			Capabilities: publishertest.Capabilities{Fences: true, Partitioned: true, TooLarge: limit},
			Open:         func(t *testing.T) publishers.Transport { return c.open(t, nil) },
			Read:         func(t *testing.T) []publishertest.Received { return kafkatest.Read(t, c.addr, topic) },
			Refuse:       func(_ *testing.T, id string) { c.refuse(id) },
			Stop:         func(*testing.T) { c.proxy.SetDown(true) },
			Start:        func(*testing.T) { c.proxy.SetDown(false) },
			LoseAnswer:   c.loseAnswer,
		}
	})
}

// loseAnswer lets the coordinator commit and the publisher not hear of it, not even
// when it asks again.
func (c *cluster) loseAnswer(_ *testing.T, _ int, publish func() error) error {
	var cut atomic.Bool
	c.proxy.SetPlan(func(r kafkaproxy.Request) kafkaproxy.Fate {
		switch {
		case cut.Load():
			return kafkaproxy.CutBefore
		case r.Key == kafkaproxy.EndTxn:
			cut.Store(true)
			return kafkaproxy.CutAfter
		}
		return kafkaproxy.Pass
	})
	defer c.proxy.SetPlan(nil)
	return publish()
}
