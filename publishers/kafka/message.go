package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/IBM/sarama"
	cekafka "github.com/cloudevents/sdk-go/protocol/kafka_sarama/v2"
	"github.com/cloudevents/sdk-go/v2/binding"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/icecore-catalog/icecore/publishers"
)

const (
	// batchHead is how many bytes of a batch come before its records, which
	// count against the topic's bound: 61, of which sarama counts 49.
	batchHead = 12
	// batchHeadWhole is all of them.
	batchHeadWhole = 61
	// minLimit is less than any event takes.
	minLimit = 1024
)

// encode returns the message in CloudEvents' binary mode: attributes as headers
// "ce_<name>", data as the value, the object's id as the key. The record's time
// stamp is that of publishing, for a topic forgets by it; the event's own is in
// ce_time.
func encode(m *message.Message, topic string, partitions int32, partitioner sarama.Partitioner) (*sarama.ProducerMessage, error) {
	event := publishers.EventOf(m)
	if event == nil {
		return nil, errors.New("is no event")
	}
	p := &sarama.ProducerMessage{Topic: topic}
	if err := cekafka.WriteProducerMessage(context.Background(), binding.ToMessage(event), p); err != nil { //nolint:contextcheck // nothing waits
		return nil, fmt.Errorf("as a Kafka message: %w", err)
	}
	if p.Key == nil || p.Key.Length() == 0 {
		return nil, errors.New("has no partitionkey")
	}
	var err error
	if p.Partition, err = partitioner.Partition(p, partitions); err != nil {
		return nil, fmt.Errorf("partition: %w", err)
	}
	p.Headers = append(p.Headers, sarama.RecordHeader{Key: []byte(headerBatch), Value: []byte(batchNumber(0))})
	p.Offset = unknownOffset
	return p, nil
}

// headerBatch numbers the transactions of a publisher, so that it can be told
// which of two events in different partitions was published last ([Transport.Last]).
// It is no attribute of the event.
const headerBatch = "icecore_batch"

// batchNumber is such a number as text, which sorts as the numbers do.
func batchNumber(n int64) string { return fmt.Sprintf("%020d", n) }

// number gives the messages the number of their transaction.
func number(batch []*sarama.ProducerMessage, n int64) {
	value := []byte(batchNumber(n))
	for _, m := range batch {
		m.Headers = slices.Clone(m.Headers) // the last attempt's may still be looked at
		m.Headers[len(m.Headers)-1].Value = value
	}
}

// unknownOffset is what a message has until a broker told where it stands.
const unknownOffset = -1

// sizeOf is the most that the message takes in a batch of its own.
func sizeOf(p *sarama.ProducerMessage) int { return p.ByteSize(2) + batchHeadWhole }

// inOrder checks, before they are committed, that the messages of each partition
// stand in it in their order: a client library that retries may turn them round.
func inOrder(messages []*sarama.ProducerMessage) error {
	last := map[int32]int64{}
	for i, m := range messages {
		before, ok := last[m.Partition]
		if m.Offset < 0 || ok && m.Offset <= before {
			return fmt.Errorf("message %d of the batch stands at offset %d of partition %d, behind it %d: %w", i, m.Offset, m.Partition, before, errOrder)
		}
		last[m.Partition] = m.Offset
	}
	return nil
}

var errOrder = errors.New("the messages do not stand in their order")
