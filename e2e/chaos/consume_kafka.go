package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

// consumeKafka follows all partitions of a topic until ctx ends, and reads what
// is committed only.
func consumeKafka(ctx context.Context, addr, topic string, partitions int, r *record) error {
	config := sarama.NewConfig()
	config.Version = sarama.V2_8_0_0
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	config.Consumer.Return.Errors = true
	config.Consumer.Retry.Backoff = 200 * time.Millisecond
	config.Net.DialTimeout, config.Net.ReadTimeout = 5*time.Second, 5*time.Second
	config.Consumer.MaxWaitTime = 250 * time.Millisecond
	var group sync.WaitGroup
	for p := range partitions {
		group.Go(func() {
			next := sarama.OffsetOldest
			for ctx.Err() == nil {
				if err := followPartition(ctx, addr, topic, int32(p), config, &next, r); err != nil {
					pause(ctx, 300*time.Millisecond) // it is killed or frozen, or there is no topic yet
				}
			}
		})
	}
	group.Wait()
	return nil
}

func followPartition(ctx context.Context, addr, topic string, partition int32, config *sarama.Config, next *int64, r *record) error {
	consumer, err := sarama.NewConsumer([]string{addr}, config)
	if err != nil {
		return err
	}
	defer consumer.Close()
	one, err := consumer.ConsumePartition(topic, partition, *next)
	if err != nil {
		return err
	}
	defer one.Close()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case m, ok := <-one.Messages():
			if !ok {
				return fmt.Errorf("partition %d ended", partition)
			}
			r.take(func(name string) string {
				for _, h := range m.Headers {
					if string(h.Key) == "ce_"+name {
						return string(h.Value)
					}
				}
				return ""
			}, m.Value)
			*next = m.Offset + 1
		case err := <-one.Errors():
			if err != nil {
				return err.Err
			}
		}
	}
}
