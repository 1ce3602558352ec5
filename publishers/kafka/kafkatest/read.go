package kafkatest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2/event"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/icecore-catalog/icecore/publishers/publishertest"
)

// patience is far more than reading a test's topic takes.
const patience = time.Minute

// Records returns what a consumer that reads what is committed gets of the topic,
// from its beginning to its end of this moment, partition after partition. A topic
// that is not there is empty. Messages that a transaction holds back for longer
// than a minute fail the test.
func Records(t *testing.T, addr, topic string, options ...kgo.Opt) []*kgo.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(addr), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.FetchMaxWait(100 * time.Millisecond),
	}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ends := ends(ctx, t, client, topic)
	start := map[int32]kgo.Offset{}
	for partition := range ends {
		start[partition] = kgo.NewOffset().AtStart()
	}
	client.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: start})

	byPartition := make([][]*kgo.Record, len(ends))
	for left := ends; unread(left); {
		fetches := client.PollFetches(ctx)
		if errs := fetches.Errors(); len(errs) > 0 {
			t.Fatalf("read topic %s: %v", topic, errs[0].Err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset+1 >= left[r.Partition] {
				left[r.Partition] = 0
			}
			if !r.Attrs.IsControl() {
				byPartition[r.Partition] = append(byPartition[r.Partition], r)
			}
		})
	}
	var records []*kgo.Record
	for _, part := range byPartition {
		records = append(records, part...)
	}
	return records
}

func unread(ends map[int32]int64) bool {
	for _, end := range ends {
		if end > 0 {
			return true
		}
	}
	return false
}

// ends returns the end of each partition, when no transaction is open in it any
// more; 0 for one that is empty.
func ends(ctx context.Context, t *testing.T, client *kgo.Client, topic string) map[int32]int64 {
	t.Helper()
	metadata := kmsg.NewPtrMetadataRequest()
	wanted := kmsg.NewMetadataRequestTopic()
	wanted.Topic = &topic
	metadata.Topics = append(metadata.Topics, wanted)
	described, err := metadata.RequestWith(ctx, client)
	if err != nil {
		t.Fatalf("metadata of topic %s: %v", topic, err)
	}
	if kerr.ErrorForCode(described.Topics[0].ErrorCode) != nil {
		return nil
	}
	list := func(isolation int8) map[int32]int64 {
		request := kmsg.NewPtrListOffsetsRequest()
		request.ReplicaID, request.IsolationLevel = -1, isolation
		of := kmsg.NewListOffsetsRequestTopic()
		of.Topic = topic
		for _, p := range described.Topics[0].Partitions {
			partition := kmsg.NewListOffsetsRequestTopicPartition()
			partition.Partition, partition.Timestamp = p.Partition, -1
			of.Partitions = append(of.Partitions, partition)
		}
		request.Topics = append(request.Topics, of)
		offsets := map[int32]int64{}
		for _, shard := range client.RequestSharded(ctx, request) {
			if shard.Err != nil {
				t.Fatalf("offsets of topic %s: %v", topic, shard.Err)
			}
			for _, p := range shard.Resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					t.Fatalf("offsets of topic %s: %v", topic, err)
				}
				offsets[p.Partition] = p.Offset
			}
		}
		return offsets
	}
	for {
		all, stable := list(0), list(1)
		if fmt.Sprint(all) == fmt.Sprint(stable) {
			return stable
		}
		select {
		case <-ctx.Done():
			t.Fatalf("a transaction on topic %s stays open: stable %v, all %v", topic, stable, all)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Read is Records, decoded by the rules of CloudEvents' Kafka binding for binary
// mode: attributes as headers, their names after "ce_", data as the value.
func Read(t *testing.T, addr, topic string, options ...kgo.Opt) []publishertest.Received {
	t.Helper()
	var received []publishertest.Received
	for _, r := range Records(t, addr, topic, options...) {
		e := Decode(t, r)
		if key := string(r.Key); key != e.Extensions()["partitionkey"] {
			t.Fatalf("event %s has the key %q", e.ID(), key)
		}
		received = append(received, publishertest.Received{Event: e, Partition: strconv.Itoa(int(r.Partition))})
	}
	return received
}

// Decode returns the record's event.
func Decode(t *testing.T, r *kgo.Record) cloudevents.Event {
	t.Helper()
	e := cloudevents.New(cloudevents.CloudEventsVersionV1)
	for _, h := range r.Headers {
		name, value := h.Key, string(h.Value)
		attribute, isAttribute := strings.CutPrefix(name, "ce_")
		switch {
		case name == "icecore_batch": // the publisher's own, no attribute
		case name == "content-type":
			e.SetDataContentType(value)
		case !isAttribute:
			t.Fatalf("header %q is none of an event", name)
		case attribute == "specversion":
			if value != "1.0" {
				t.Fatalf("specversion %q", value)
			}
		case attribute == "id":
			e.SetID(value)
		case attribute == "source":
			e.SetSource(value)
		case attribute == "type":
			e.SetType(value)
		case attribute == "subject":
			e.SetSubject(value)
		case attribute == "dataschema":
			e.SetDataSchema(value)
		case attribute == "time":
			at, err := time.Parse(time.RFC3339Nano, value)
			if err != nil {
				t.Fatalf("time %q: %v", value, err)
			}
			e.SetTime(at)
		default:
			e.SetExtension(attribute, value)
		}
	}
	e.DataEncoded = r.Value
	return e
}
