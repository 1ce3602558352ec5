package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/IBM/sarama"

	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/publishers"
)

const (
	// firstWindow is how many offsets before the end are read first. The end of a
	// partition is one committed batch and its marker, as a rule.
	firstWindow = 64
	// fetchBytes is how much is read at a time. A broker sends at least one batch
	// of records, however large.
	fetchBytes = 1 << 20
)

// standing is a committed event, and what says when it was published.
type standing struct {
	place    publishers.Place
	producer int64
	epoch    int16  // of the producer
	batch    string // see headerBatch
}

// later reports whether a was published after b. A producer's epoch rises with each
// publisher that takes over, and batches are numbered within; of one batch, the
// last event is the one that stands last in the log. Only where the cluster gave
// out another producer id meanwhile, which it does for an id that nobody used for
// days, it is clocks that decide.
func (a *standing) later(b *standing) bool {
	switch {
	case a.producer == b.producer && a.epoch != b.epoch:
		return a.epoch > b.epoch
	case a.batch != b.batch:
		return a.batch > b.batch
	case a.place.Epoch != b.place.Epoch:
		return a.place.Epoch > b.place.Epoch
	}
	return a.place.Position > b.place.Position
}

// Last implements [publishers.Transport]: of the newest committed event of each
// partition, the one that was published last. That need not be the one that stands
// last in the log: an operator may have had events published again. A topic that
// holds events of other logs as well is searched for those of this one.
func (t *Transport) Last(ctx context.Context) (publishers.Place, bool, error) {
	switch {
	case t.closed:
		return publishers.Place{}, false, errClosed
	case t.session == nil:
		return publishers.Place{}, false, errNotPrepared
	}
	s := t.session
	var newest *standing
	err := s.do(ctx, "kafka: find the last event", func() error {
		for partition := range s.partitions {
			last, err := t.lastOf(s, partition)
			if err != nil {
				return fmt.Errorf("partition %d of topic %s: %w", partition, t.settings.Topic, err)
			}
			if last != nil && (newest == nil || last.later(newest)) {
				newest = last
			}
		}
		return nil
	})
	switch {
	case err != nil && s.dialer.isCut():
		t.drop()
		return publishers.Place{}, false, err
	case err != nil: // one may publish without the right to read
		return publishers.Place{}, false, err
	case newest == nil:
		return publishers.Place{}, false, nil
	}
	return newest.place, true, nil
}

// lastOf looks back from the end of what is decided, ever farther. At the end may
// stand markers, which are no messages, and messages of aborted transactions.
func (t *Transport) lastOf(s *session, partition int32) (*standing, error) {
	oldest, err := s.offset(t.settings.Topic, partition, sarama.OffsetOldest, sarama.ReadCommitted)
	if err != nil {
		return nil, err
	}
	end, err := s.decidedEnd(t.settings.Topic, partition)
	if err != nil {
		return nil, err
	}
	for window, upper := int64(firstWindow), end; upper > oldest; window *= 4 {
		from := max(end-window, oldest)
		last, err := t.newestIn(s, partition, from, upper)
		if last != nil || err != nil {
			return last, err
		}
		upper = from
	}
	return nil, nil //nolint:nilnil // there is none
}

// decidedEnd returns the end of a partition when no transaction is open in it. A
// commit is acknowledged when it is decided, and its markers are written a moment
// later, before which its messages are behind what consumers may read.
func (s *session) decidedEnd(topic string, partition int32) (int64, error) {
	var stable int64
	err := s.patiently(func() (bool, error) {
		newest, err := s.offset(topic, partition, sarama.OffsetNewest, sarama.ReadUncommitted)
		if err != nil {
			return false, err
		}
		stable, err = s.offset(topic, partition, sarama.OffsetNewest, sarama.ReadCommitted)
		return stable >= newest, err
	})
	if errors.Is(err, errStill) {
		err = errors.New("somebody's transaction stays open")
	}
	return stable, err
}

// offset asks for the oldest or the newest offset. The newest under read_committed
// is the last stable one, where the first open transaction begins.
func (s *session) offset(topic string, partition int32, which int64, isolation sarama.IsolationLevel) (int64, error) {
	leader, err := s.client.Leader(topic, partition)
	if err != nil {
		return 0, err
	}
	request := sarama.NewOffsetRequest(s.client.Config().Version)
	request.IsolationLevel = isolation
	request.AddBlock(topic, partition, which, 1)
	answer, err := leader.GetAvailableOffsets(request)
	if err != nil {
		return 0, err
	}
	block := answer.GetBlock(topic, partition)
	switch {
	case block == nil:
		return 0, sarama.ErrIncompleteResponse
	case !errors.Is(block.Err, sarama.ErrNoError):
		return 0, block.Err
	}
	return block.Offset, nil
}

// newestIn returns the last committed event of ours with an offset in [from, upper).
func (t *Transport) newestIn(s *session, partition int32, from, upper int64) (found *standing, err error) {
	aborted := abortedTransactions{open: map[int64]bool{}}
	for at := from; at < upper; {
		block, err := s.fetch(t.settings.Topic, partition, at)
		if err != nil {
			return nil, err
		}
		aborted.add(block.AbortedTransactions)
		next := at
		for _, records := range block.RecordsSet {
			batch := records.RecordBatch
			if batch == nil {
				return nil, errors.New("holds messages in a form of before Kafka 0.11")
			}
			if batch.PartialTrailingRecord {
				break // read again from its beginning
			}
			next = max(next, batch.LastOffset()+1)
			if aborted.skips(batch) {
				continue
			}
			for _, r := range batch.Records {
				if offset := batch.FirstOffset + r.OffsetDelta; offset < from || offset >= upper {
					continue
				}
				if own := t.standingOf(r.Headers); own != nil {
					own.producer, own.epoch = batch.ProducerID, batch.ProducerEpoch
					found = own
				}
			}
		}
		if next == at {
			return found, nil // nothing is there any more: retention, or a compaction
		}
		at = next
	}
	return found, nil
}

func (s *session) fetch(topic string, partition int32, at int64) (*sarama.FetchResponseBlock, error) {
	leader, err := s.client.Leader(topic, partition)
	if err != nil {
		return nil, err
	}
	request := &sarama.FetchRequest{
		Version: 11, MinBytes: 1, MaxWaitTime: 100, MaxBytes: fetchBytes, Isolation: sarama.ReadCommitted, SessionEpoch: -1,
	}
	request.AddBlock(topic, partition, at, fetchBytes, -1)
	answer, err := leader.Fetch(request)
	if err != nil {
		return nil, err
	}
	block := answer.GetBlock(topic, partition)
	switch {
	case block == nil:
		return nil, sarama.ErrIncompleteResponse
	case !errors.Is(block.Err, sarama.ErrNoError):
		return nil, block.Err
	}
	return block, nil
}

// standingOf reads a record's attributes, as far as they say where it stands; nil
// for what is none of our events.
func (t *Transport) standingOf(headers []*sarama.RecordHeader) *standing {
	header := func(name string) string {
		i := slices.IndexFunc(headers, func(h *sarama.RecordHeader) bool { return string(h.Key) == name })
		if i < 0 {
			return ""
		}
		return string(headers[i].Value)
	}
	if t.source != "" && header("ce_source") != t.source {
		return nil
	}
	id, idErr := ids.Parse(header("ce_id"))
	position, positionErr := strconv.ParseInt(header("ce_sequence"), 10, 64)
	epoch, epochErr := strconv.ParseInt(header("ce_epoch"), 10, 32)
	if errors.Join(idErr, positionErr, epochErr) != nil {
		return nil
	}
	return &standing{place: publishers.Place{Epoch: epoch, Position: position, Event: id}, batch: header(headerBatch)}
}

// abortedTransactions tells which batches belong to a transaction that was aborted,
// as a walk in the order of offsets meets them.
type abortedTransactions struct {
	coming []sarama.AbortedTransaction // by first offset
	open   map[int64]bool              // by producer: its marker was not met yet
}

// add takes the aborted transactions that an answer tells of; the next answer may
// repeat one.
func (a *abortedTransactions) add(told []*sarama.AbortedTransaction) {
	a.coming = a.coming[:0]
	for _, one := range told {
		a.coming = append(a.coming, *one)
	}
	slices.SortFunc(a.coming, func(x, y sarama.AbortedTransaction) int { return int(x.FirstOffset - y.FirstOffset) })
}

// skips reports whether the batch holds no messages that were committed: it is a
// transaction's marker, or belongs to one that was aborted.
func (a *abortedTransactions) skips(batch *sarama.RecordBatch) bool {
	for len(a.coming) > 0 && a.coming[0].FirstOffset <= batch.LastOffset() {
		a.open[a.coming[0].ProducerID] = true
		a.coming = a.coming[1:]
	}
	if batch.Control {
		delete(a.open, batch.ProducerID) // of whichever kind: its producer begins anew behind it
		return true
	}
	return batch.IsTransactional && a.open[batch.ProducerID]
}
