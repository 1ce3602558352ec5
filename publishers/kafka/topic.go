package kafka

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/IBM/sarama"
)

// defaultLimit is what brokers take unless they are told otherwise.
const defaultLimit = 1_000_000

// topic makes the topic or checks the one that is there, and reads its bounds.
func (s *session) topic(o Settings) error {
	partitions, err := s.client.Partitions(o.Topic)
	if errors.Is(err, sarama.ErrUnknownTopicOrPartition) {
		if !o.Create {
			return errors.New("is not there, and create-topic is false")
		}
		if err := s.create(o); err != nil {
			return err
		}
		partitions, err = s.led(o.Topic)
	}
	switch {
	case err != nil:
		return err
	case len(partitions) == 0 || len(partitions) > math.MaxInt32:
		return fmt.Errorf("has %d partitions", len(partitions))
	case o.Partitions > 0 && int(o.Partitions) != len(partitions):
		return fmt.Errorf("has %d partitions and not %d as the setting partitions says; an object's events would change their partition", len(partitions), o.Partitions)
	}
	s.partitions = int32(len(partitions))
	return s.check(o)
}

func (s *session) create(o Settings) error {
	admin, err := sarama.NewClusterAdminFromClient(s.client) // not closed: that would close the client
	if err != nil {
		return err
	}
	cleanup := "delete"
	detail := &sarama.TopicDetail{
		NumPartitions: max(o.Partitions, 1), ReplicationFactor: o.Replication,
		ConfigEntries: map[string]*string{"cleanup.policy": &cleanup},
	}
	if o.MaxMessageBytes > 0 {
		limit := fmt.Sprint(o.MaxMessageBytes)
		detail.ConfigEntries["max.message.bytes"] = &limit
	}
	if err := admin.CreateTopic(o.Topic, detail, false); err != nil && !errors.Is(err, sarama.ErrTopicAlreadyExists) {
		return fmt.Errorf("make it: %w", err)
	}
	return nil
}

// led waits until every partition of a topic that was just made has a leader that
// knows that it is one, and returns them.
func (s *session) led(topic string) (partitions []int32, err error) {
	err = s.patiently(func() (bool, error) {
		if err := s.client.RefreshMetadata(topic); err != nil && !isYoung(err) {
			return false, err
		}
		if partitions, err = s.client.Partitions(topic); err != nil {
			return false, nil //nolint:nilerr // not there yet
		}
		for _, partition := range partitions {
			if _, err := s.offset(topic, partition, sarama.OffsetNewest, sarama.ReadUncommitted); err != nil {
				if isYoung(err) {
					err = nil
				}
				return false, err
			}
		}
		return true, nil
	})
	if errors.Is(err, errStill) {
		err = errors.New("is made, but its partitions have no leaders yet")
	}
	return partitions, err
}

// isYoung says that a topic is not everywhere yet.
func isYoung(err error) bool {
	return isAny(err, sarama.ErrUnknownTopicOrPartition, sarama.ErrLeaderNotAvailable, sarama.ErrNotLeaderForPartition,
		sarama.ErrReplicaNotAvailable, sarama.ErrOffsetNotAvailable, sarama.ErrUnknownLeaderEpoch, sarama.ErrFencedLeaderEpoch)
}

// check reads the topic's bound of a message, and refuses one that would forget
// events. A cluster may keep a topic's configuration from us; then nothing is
// checked and the brokers' default is the bound.
func (s *session) check(o Settings) error {
	s.limit = defaultLimit
	admin, err := sarama.NewClusterAdminFromClient(s.client)
	if err != nil {
		return err
	}
	results, err := admin.DescribeConfigs([]*sarama.ConfigResource{{
		Type: sarama.TopicResource, Name: o.Topic, ConfigNames: []string{"cleanup.policy", "max.message.bytes"},
	}}, sarama.DescribeConfigsOptions{})
	if err != nil {
		return fmt.Errorf("read its configuration: %w", err)
	}
	for _, result := range results {
		for _, e := range result.Configs { // none where we may not read them
			if err := s.take(e.Name, e.Value); err != nil {
				return err
			}
		}
	}
	if o.MaxMessageBytes > s.limit {
		return fmt.Errorf("takes messages of %d bytes (max.message.bytes), fewer than the setting max-message-bytes says", s.limit)
	}
	if o.MaxMessageBytes > 0 {
		s.limit = o.MaxMessageBytes
	}
	return nil
}

// take takes note of one configuration of the topic.
func (s *session) take(name, value string) error {
	switch name {
	case "cleanup.policy":
		if strings.Contains(value, "compact") {
			return errors.New("is compacted (cleanup.policy), so that it keeps the last event of each object alone")
		}
	case "max.message.bytes":
		if _, err := fmt.Sscan(value, &s.limit); err != nil || s.limit < minLimit {
			return fmt.Errorf("has max.message.bytes %q, too few for any event", value)
		}
	}
	return nil
}
