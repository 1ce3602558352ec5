package kafka

import (
	"errors"
	"testing"

	"github.com/IBM/sarama"
)

func TestMessagesThatStandTurnedRoundAreNotCommitted(t *testing.T) {
	t.Parallel()
	at := func(places ...int64) (messages []*sarama.ProducerMessage) { // partition, offset, …
		for i := 0; i < len(places); i += 2 {
			messages = append(messages, &sarama.ProducerMessage{Partition: int32(places[i]), Offset: places[i+1]})
		}
		return messages
	}
	for name, c := range map[string]struct {
		messages []*sarama.ProducerMessage
		ok       bool
	}{
		"none":                         {nil, true},
		"in order":                     {at(0, 0, 0, 1, 0, 7), true},
		"each partition for itself":    {at(0, 5, 1, 2, 0, 6, 1, 3), true},
		"turned round":                 {at(0, 5, 0, 4), false},
		"the same place":               {at(0, 5, 0, 5), false},
		"turned round in one of them":  {at(0, 5, 1, 9, 0, 6, 1, 8), false},
		"not told where":               {at(0, 5, 0, unknownOffset), false},
		"the first of all is not told": {at(0, unknownOffset, 0, 5), false},
	} {
		if err := inOrder(c.messages); (err == nil) != c.ok || err != nil && !errors.Is(err, errOrder) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
