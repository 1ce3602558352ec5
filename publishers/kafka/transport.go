package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/publishers"
)

// Options are what a transport needs beside its settings.
type Options struct {
	// ID is the transactional id: the same for every publisher of this
	// destination and for no other, as it is by what they fence each other.
	ID string
	// Source is the CloudEvents source of this log's events, by which
	// [Transport.Last] knows them; empty: every event.
	Source string
	// Secrets resolves the names of secrets in the settings.
	Secrets publishers.Secrets
	// Clock numbers batches across publishers; nil: the machine's.
	Clock clock.Clock
}

// Transport publishes to one topic. See the package comment for what it promises.
type Transport struct {
	settings Settings
	id       string
	source   string
	secrets  publishers.Secrets
	clock    clock.Clock
	number   int64 // of the last transaction; see headerBatch

	session *session // nil: not prepared, or after a failure
	limit   int      // that the last session found
	closed  bool
}

// New returns a transport that is not yet prepared.
func New(settings Settings, o Options) *Transport {
	t := &Transport{settings: settings, id: o.ID, source: o.Source, secrets: o.Secrets, clock: o.Clock}
	if t.clock == nil {
		t.clock = clock.System{}
	}
	return t
}

var (
	errClosed      = errors.New("kafka: the transport is closed")
	errNotPrepared = errors.New("kafka: the transport is not prepared")
)

// Prepare implements [publishers.Transport]. When it has returned nil, every
// transaction of earlier publishers of this destination is decided, and none of
// them can publish any more.
func (t *Transport) Prepare(ctx context.Context) error {
	if t.closed {
		return errClosed
	}
	t.drop()
	s := newSession()
	if err := s.do(ctx, "kafka", func() error { return s.connect(t) }); err != nil {
		s.cut()
		return fenced(err)
	}
	t.session, t.limit = s, s.limit
	return nil
}

// MaxMessageBytes implements [publishers.Limiter]: the key, the headers and the
// value of a message, with what surrounds them at most.
func (t *Transport) MaxMessageBytes() int { return max(t.limit-batchHeadWhole, 0) }

// Publish implements [message.Publisher]: one transaction, or, where a broker
// refuses a message of the batch for good, one for each part before it.
func (t *Transport) Publish(_ string, messages ...*message.Message) error {
	switch {
	case t.closed:
		return errClosed
	case len(messages) == 0:
		return nil
	case t.session == nil:
		return errNotPrepared
	}
	ctx := messages[0].Context()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("kafka: %w", context.Cause(ctx)) // nothing was sent: the session is whole
	}
	batch, refused := t.encode(messages)
	n, err := t.publish(ctx, batch)
	switch {
	case err == nil && refused == nil:
		return nil
	case err == nil:
		return refused
	case isPermanent(err):
		return &publishers.BatchError{Index: n, Permanent: true, Err: err}
	default:
		t.drop()
		if err = fenced(err); n == 0 || errors.Is(err, publishers.ErrFenced) {
			return err
		}
		return &publishers.BatchError{Index: n, Err: err}
	}
}

// encode returns the messages before the first that can be no message of this
// topic, and what is to be said of that one.
func (t *Transport) encode(messages []*message.Message) ([]*sarama.ProducerMessage, error) {
	partitioner := sarama.NewMurmur2Partitioner(t.settings.Topic) // as Kafka's own client does it
	batch := make([]*sarama.ProducerMessage, 0, len(messages))
	for i, m := range messages {
		p, err := encode(m, t.settings.Topic, t.session.partitions, partitioner)
		if err == nil && sizeOf(p) > t.session.limit {
			err = fmt.Errorf("takes %d bytes, and topic %s %d", sizeOf(p), t.settings.Topic, t.session.limit)
		}
		if err != nil {
			return batch, &publishers.BatchError{Index: i, Permanent: true, Err: fmt.Errorf("kafka: event %s %w", m.UUID, err)}
		}
		batch = append(batch, p)
	}
	return batch, nil
}

// publish commits the batch, and returns how many messages of it are committed
// when it fails. A broker refuses a whole batch of records and does not say for
// which of them: so a refused batch is halved until the refused message stands
// alone. All before it are committed then, each half in its turn.
func (t *Transport) publish(ctx context.Context, batch []*sarama.ProducerMessage) (int, error) {
	return publishers.Halve(batch, func(part []*sarama.ProducerMessage) error { return t.transaction(ctx, part) }, isPermanent)
}

// transaction publishes the messages in one transaction of their own.
func (t *Transport) transaction(ctx context.Context, batch []*sarama.ProducerMessage) error {
	if t.session == nil { // an abort went wrong
		if err := t.Prepare(ctx); err != nil {
			return err
		}
	}
	s, committing := t.session, false
	for _, m := range batch {
		m.Offset = unknownOffset
	}
	t.number = max(t.number+1, t.clock.Now().UnixMilli())
	number(batch, t.number)
	err := s.do(ctx, "kafka: publish", func() error {
		if err := s.producer.BeginTxn(); err != nil {
			return err
		}
		if err := send(s.producer, batch); err != nil {
			return err
		}
		if err := inOrder(batch); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		committing = true
		return s.producer.CommitTxn()
	})
	if err == nil {
		return nil
	}
	// Where a broker answered, f has ended and committing may be read. Whether a
	// commit happened whose answer was lost is for the next InitProducerID.
	if !isAnswer(err) || ctx.Err() != nil || committing || t.abort(ctx) != nil {
		t.drop()
	}
	return err
}

// isAnswer says that the failure is what a broker said, or its consequence.
func isAnswer(err error) bool {
	var code sarama.KError
	return errors.As(err, &code) || errors.Is(err, errOrder)
}

// abort ends the transaction, so that consumers need not wait for its time-out.
func (t *Transport) abort(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, abortTimeout)
	defer cancel()
	s := t.session
	return s.do(ctx, "kafka: abort", func() error {
		if err := s.producer.AbortTxn(); err != nil {
			return err
		}
		if status := s.producer.TxnStatus(); status&sarama.ProducerTxnFlagReady == 0 {
			return fmt.Errorf("the producer is not ready: %s", status)
		}
		return nil
	})
}

// abortTimeout bounds an attempt to abort; InitProducerID aborts, too.
const abortTimeout = 5 * time.Second

// Close implements [message.Publisher].
func (t *Transport) Close() error {
	t.closed = true
	s := t.session
	t.drop()
	if s != nil {
		<-s.ended // its connections are closed: it ends by itself, and soon
	}
	return nil
}

// drop ends the session.
func (t *Transport) drop() {
	if t.session != nil {
		t.session.cut()
		t.session = nil
	}
}

// send hands the messages over, and returns the error that tells most.
func send(producer sarama.SyncProducer, batch []*sarama.ProducerMessage) error {
	err := producer.SendMessages(batch)
	var all sarama.ProducerErrors
	if !errors.As(err, &all) {
		return err
	}
	first := all[0].Err
	for _, tells := range []func(error) bool{isFenced, isPermanent} {
		for _, e := range all {
			if tells(e.Err) {
				return fmt.Errorf("%d of %d messages: %w", len(all), len(batch), e.Err)
			}
		}
	}
	return fmt.Errorf("%d of %d messages: %w", len(all), len(batch), first)
}

func isAny(err error, codes ...sarama.KError) bool {
	for _, code := range codes {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}

// isPermanent says that a broker refuses some message of a batch whatever is
// tried. A missing right is none of these: it is given for a topic, not for a
// message, and an operator mends it.
func isPermanent(err error) bool {
	return isAny(err, sarama.ErrMessageSizeTooLarge, sarama.ErrMessageSetSizeTooLarge, sarama.ErrInvalidRecord, sarama.ErrInvalidTimestamp)
}

// isFenced says that the producer's epoch is over: somebody initialised the
// transactional id anew, or the coordinator ended the transaction by its time-out
// or forgot the id after days. In each case whoever holds the lease begins again.
func isFenced(err error) bool {
	return isAny(err, sarama.ErrProducerFenced, sarama.ErrInvalidProducerEpoch, sarama.ErrInvalidProducerIDMapping)
}

// fenced wraps such an error in the relay's.
func fenced(err error) error {
	if isFenced(err) {
		return fmt.Errorf("%w: %w", publishers.ErrFenced, err)
	}
	return err
}
