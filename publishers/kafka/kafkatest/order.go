package kafkatest

import (
	"fmt"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/publishers/publishertest"
)

// CheckBatches checks what consumers were handed against the batches that were
// published, in their order and each as often as it was tried: every partition has
// to be a row of whole batches (of their part of that partition), each at least
// once, and none behind a later one. It returns how many messages came again.
func CheckBatches(received []publishertest.Received, batches [][]eventstore.Entry) (repeated int, err error) {
	partitionOf := map[string]string{} // by object
	byPartition := map[string][]string{}
	known := map[string]int{}
	for _, r := range received {
		key, _ := r.Event.Extensions()["partitionkey"].(string)
		if was, ok := partitionOf[key]; ok && was != r.Partition {
			return 0, fmt.Errorf("object %s stands in partitions %s and %s", key, was, r.Partition)
		}
		partitionOf[key] = r.Partition
		byPartition[r.Partition] = append(byPartition[r.Partition], r.Event.ID())
		known[r.Event.ID()]++
	}
	for _, batch := range batches {
		for _, e := range batch {
			n := known[e.ID.String()]
			if n == 0 {
				return 0, fmt.Errorf("position %d is missing", e.Position)
			}
			repeated += n - 1
			delete(known, e.ID.String())
		}
	}
	if len(known) > 0 {
		return 0, fmt.Errorf("%d events were never published", len(known))
	}
	for partition, row := range byPartition {
		at := 0
		for i, batch := range batches {
			var part []string
			for _, e := range batch {
				if partitionOf[e.Stream.String()] == partition {
					part = append(part, e.ID.String())
				}
			}
			for times := 0; len(part) > 0; times++ {
				if at+len(part) > len(row) || !equal(row[at:at+len(part)], part) {
					if times == 0 {
						return 0, fmt.Errorf("partition %s: batch %d does not stand whole at message %d", partition, i, at)
					}
					break
				}
				at += len(part)
			}
		}
		if at != len(row) {
			return 0, fmt.Errorf("partition %s: message %d is a repetition out of its turn, or of a part of a batch", partition, at)
		}
	}
	return repeated, nil
}

func equal(a, b []string) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
