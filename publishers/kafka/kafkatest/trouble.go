package kafkatest

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/faultproxy/kafkaproxy"
	"github.com/icecore-catalog/icecore/publishers"
	"github.com/icecore-catalog/icecore/publishers/publishertest"
)

// Rig is a topic that is empty, behind a proxy that nobody else uses.
type Rig struct {
	Proxy *kafkaproxy.Proxy
	Open  func(t *testing.T) publishers.Transport // another publisher of the same destination
	Read  func(t *testing.T) []publishertest.Received
}

// batchesOfFaults is how many batches each fault is tried on.
const batchesOfFaults = 8

// publish delivers one batch, as often as it takes.
func publish(t *testing.T, p publishers.Transport, batch []eventstore.Entry) {
	t.Helper()
	if parked := publishertest.Deliver(t, p, batch, ""); len(parked) > 0 {
		t.Fatalf("%d events were refused", len(parked))
	}
}

// prepare prepares a transport, again when a fault was in the way, as the relay
// does.
func prepare(t *testing.T, p publishers.Transport) {
	t.Helper()
	var err error
	for range 20 {
		if err = p.Prepare(t.Context()); err == nil {
			return
		}
	}
	t.Fatal(err)
}

// unheard is the fault that the answer to a commit is lost and so is all that the
// library does to learn it.
const unheard = -2

// Faults loses requests and answers of each kind, again and again, while batches
// are published, and checks that none is lost, split or turned round: a client
// library that retries has done that.
func Faults(t *testing.T, open func(*testing.T) Rig) {
	t.Helper()
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
			rig := open(t)
			p, log := rig.Open(t), publishertest.NewLog(t)
			prepare(t, p)
			random := rand.New(rand.NewPCG(46, 2619)) //nolint:gosec // the same faults each time
			var mu sync.Mutex
			deaf := false // until the publisher begins anew
			rig.Proxy.SetPlan(func(r kafkaproxy.Request) kafkaproxy.Fate {
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
			for range batchesOfFaults {
				batch := log.Append(1 + random.IntN(40))
				publish(t, anew, batch)
				batches = append(batches, batch)
				if random.IntN(4) == 0 {
					prepare(t, rig.Open(t))    // another instance; this one is fenced
					_ = p.Prepare(t.Context()) // and takes it back, if it can
				}
			}
			rig.Proxy.SetPlan(nil)
			repeated, err := CheckBatches(rig.Read(t), batches)
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

// Zombies holds a publisher up in the middle of its transaction and lets it go on
// when another one has taken over: it publishes nothing.
func Zombies(t *testing.T, open func(*testing.T) Rig) {
	t.Helper()
	for name, key := range map[string]int16{
		"before its commit": kafkaproxy.EndTxn, "before its messages": kafkaproxy.Produce, "before its partitions": kafkaproxy.AddPartitionsToTxn,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rig := open(t)
			old, young, log := rig.Open(t), rig.Open(t), publishertest.NewLog(t)
			prepare(t, old)
			first := log.Append(10)
			publish(t, old, first)

			var once sync.Once
			rig.Proxy.SetPlan(func(r kafkaproxy.Request) kafkaproxy.Fate {
				fate := kafkaproxy.Pass
				if r.Key == key {
					once.Do(func() { fate = kafkaproxy.HoldRequest })
				}
				return fate
			})
			second := log.Append(10)
			result := make(chan error, 1)
			messages := publishertest.Messages(t, t.Context(), second, "")
			go func() { result <- old.Publish(publishertest.Topic, messages...) }()
			<-rig.Proxy.Hits()

			prepare(t, young)
			publish(t, young, second)
			third := log.Append(10)
			publish(t, young, third)
			rig.Proxy.Release()
			if err := <-result; err == nil {
				t.Error("the zombie's batch was acknowledged")
			}
			fourth := log.Append(10)
			publish(t, young, fourth)

			repeated, err := CheckBatches(rig.Read(t), [][]eventstore.Entry{first, second, third, fourth})
			if err != nil || repeated > 0 {
				t.Errorf("%v, %d messages came again", err, repeated)
			}
		})
	}
}
