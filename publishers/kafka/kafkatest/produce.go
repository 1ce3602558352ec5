package kafkatest

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Produce writes n messages with these headers (name, value, …), outside of any
// transaction, spread over the partitions.
func Produce(t *testing.T, addr, topic string, n int, headers ...string) {
	t.Helper()
	client := newClient(t, kgo.SeedBrokers(addr))
	if err := client.ProduceSync(t.Context(), records(topic, n, headers)...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// Abort writes n messages in a transaction of this id, and aborts it.
func Abort(t *testing.T, addr, topic, id string, n int) {
	t.Helper()
	client := newClient(t, kgo.SeedBrokers(addr), kgo.TransactionalID(id))
	if err := client.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	headers := []string{
		"ce_id", "0195f8e4-2c00-7abc-8def-0000000000aa", "ce_sequence", "00000000000000009999", "ce_epoch", "9",
		"ce_source", "urn:icecore:0195f8e4-2c00-7abc-8def-0000000000ff",
	}
	if err := client.ProduceSync(t.Context(), records(topic, n, headers)...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := client.EndTransaction(context.WithoutCancel(t.Context()), kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
}

func records(topic string, n int, headers []string) []*kgo.Record {
	all := make([]*kgo.Record, n)
	for i := range all {
		r := &kgo.Record{Topic: topic, Key: []byte{byte(i)}, Value: []byte("{}")}
		for h := 0; h+1 < len(headers); h += 2 {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: headers[h], Value: []byte(headers[h+1])})
		}
		all[i] = r
	}
	return all
}

func newClient(t *testing.T, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}
