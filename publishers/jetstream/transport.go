package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	natsgo "github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/icecore-catalog/icecore/publishers"
)

// Options are what a transport is made of.
type Options struct {
	Settings Settings
	// Destination is the name that it goes by, shown to operators of NATS.
	Destination string
	// Owner is what never changes of the destination, its id; the stream is
	// marked with it. Empty: streams are not marked.
	Owner string
	// Secrets are asked at each connection; nil when settings name none.
	Secrets publishers.Secrets
}

// Transport publishes to one stream. Its zero value is of no use; see [New].
type Transport struct {
	settings    Settings
	destination string
	owner       string
	secrets     publishers.Secrets

	mu     sync.Mutex
	conn   *connection
	closed bool
	limit  int

	standing standing // of use while conn is
}

var (
	_ publishers.Transport = (*Transport)(nil)
	_ publishers.Limiter   = (*Transport)(nil)
)

// New returns a transport that has yet to be prepared.
func New(o Options) *Transport {
	t := &Transport{settings: o.Settings, destination: o.Destination, owner: o.Owner, secrets: o.Secrets}
	if t.secrets == nil {
		t.secrets = publishers.FolderSecrets("")
	}
	return t
}

// ErrClosed is returned after Close.
var ErrClosed = errors.New("the transport to NATS is closed")

// Prepare implements [publishers.Transport]: it connects, makes or checks the
// stream, and reads where it stands.
func (t *Transport) Prepare(ctx context.Context) error {
	c, err := t.connected(ctx)
	if err == nil {
		err = t.look(ctx, c)
	}
	if err != nil {
		t.drop()
		return err
	}
	return nil
}

// connected returns the connection, or a new one.
func (t *Transport) connected(ctx context.Context) (*connection, error) {
	t.mu.Lock()
	c, closed := t.conn, t.closed
	t.mu.Unlock()
	switch {
	case closed:
		return nil, ErrClosed
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case c.usable():
		return c, nil
	}
	t.drop()
	c, err := t.connect(ctx)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		c.close()
		return nil, ErrClosed
	}
	t.conn = c
	return c, nil
}

// drop ends the connection: what failed on it is not to be heard of again.
func (t *Transport) drop() {
	t.mu.Lock()
	c := t.conn
	t.conn = nil
	t.mu.Unlock()
	c.close()
}

// look reads the stream.
func (t *Transport) look(ctx context.Context, c *connection) error {
	ctx, done := c.guard(ctx)
	defer done()
	info, err := t.stream(ctx, c)
	if err != nil {
		return err
	}
	if t.standing, err = t.stand(ctx, c, info); err != nil {
		return err
	}
	limit := int(c.nats.MaxPayload())
	if m := int(info.Config.MaxMsgSize); m > 0 && m < limit {
		limit = m
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.limit = limit
	return nil
}

// MaxMessageBytes implements [publishers.Limiter]: the least of what the server
// and the stream take, headers and payload together.
func (t *Transport) MaxMessageBytes() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.limit
}

// Last implements [publishers.Transport].
func (t *Transport) Last(ctx context.Context) (publishers.Place, bool, error) {
	if err := t.Prepare(ctx); err != nil {
		return publishers.Place{}, false, err
	}
	return t.standing.place, !t.standing.place.Event.IsNil(), nil
}

// Close implements [message.Publisher].
func (t *Transport) Close() error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.drop()
	return nil
}

// A stream that elects a leader, or was just made, has nobody who answers for a
// moment; that is waited for here, so that it is no failure of the destination.
const (
	electionTries = 4
	electionWait  = 250 * time.Millisecond
)

// Publish implements [publishers.Transport].
func (t *Transport) Publish(_ string, messages ...*message.Message) error {
	if len(messages) == 0 {
		return nil
	}
	ctx := messages[0].Context()
	for try := 1; ; try++ {
		err := t.publish(ctx, messages)
		if try == electionTries || !errors.Is(err, natsjs.ErrNoStreamResponse) {
			return err
		}
		wait := time.NewTimer(electionWait)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return err
		}
	}
}

// publish is one attempt, from where the stream stands as it is read.
func (t *Transport) publish(ctx context.Context, messages []*message.Message) error {
	t.mu.Lock()
	c := t.conn
	t.mu.Unlock()
	fresh := !c.usable()
	if fresh { // it ended while nothing was to do, or was never made
		if err := t.Prepare(ctx); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	previous := publishers.PreviousOf(messages[0])
	err := t.standing.follows(previous)
	if err != nil && !fresh { // another instance may have published since
		if err := t.Prepare(ctx); err != nil {
			return err
		}
		err = t.standing.follows(previous)
	}
	if err != nil {
		return err
	}
	if c, err = t.connected(ctx); err != nil {
		return err
	}
	stands, err := t.send(ctx, c, messages)
	if err != nil {
		t.drop()
		return err
	}
	t.standing = stands
	return nil
}

// follows is whether what was published last before a batch is what the stream
// holds last.
func (s *standing) follows(previous string) error {
	switch held := s.place.Event.String(); {
	case s.place.Event.IsNil() && s.seq > 0:
		return nil // emptied: the sequence is the guard
	case s.place.Event.IsNil() && previous != "":
		return fmt.Errorf("%w: nothing was ever published to the stream, and event %s came before", publishers.ErrMismatch, previous)
	case s.place.Event.IsNil(), held == previous:
		return nil
	case previous == "":
		return fmt.Errorf("%w: the stream holds events up to %s, and none came before", publishers.ErrMismatch, held)
	default:
		return fmt.Errorf("%w: the stream's last event is %s, and %s came before", publishers.ErrMismatch, held, previous)
	}
}

// send publishes a batch and returns where the stream then stands.
func (t *Transport) send(ctx context.Context, c *connection, messages []*message.Message) (standing, error) {
	ctx, done := c.guard(ctx)
	defer done()
	stands := t.standing
	sent := make([]natsjs.PubAckFuture, 0, len(messages))
	acknowledged := 0
	var failed error // of the message behind those that were sent
	for _, m := range messages {
		next, msg, err := t.message(ctx, &stands, m)
		if err == nil {
			for len(sent)-acknowledged >= t.settings.MaxPending {
				if err := t.await(ctx, sent, acknowledged); err != nil {
					return standing{}, err
				}
				acknowledged++
			}
			var future natsjs.PubAckFuture
			if future, err = c.js.PublishMsgAsync(msg, natsjs.WithRetryAttempts(0)); err == nil {
				sent = append(sent, future)
				stands = next
				continue
			}
		}
		failed = classify(len(sent), err)
		break
	}
	for ; acknowledged < len(sent); acknowledged++ {
		if err := t.await(ctx, sent, acknowledged); err != nil {
			return standing{}, err
		}
	}
	return stands, failed
}

// message encodes one, which is to follow where the stream will stand.
func (t *Transport) message(ctx context.Context, stands *standing, m *message.Message) (standing, *natsgo.Msg, error) {
	event := publishers.EventOf(m)
	if event == nil {
		return standing{}, nil, &unfitError{errors.New("the message carries no event")}
	}
	place, err := eventPlace(event)
	if err != nil {
		return standing{}, nil, &unfitError{err}
	}
	msg, err := encode(ctx, t.settings.Prefix, event)
	if err != nil {
		return standing{}, nil, &unfitError{err}
	}
	id := event.ID() + stands.life(place)
	msg.Header.Set(natsjs.MsgIDHeader, id)
	msg.Header.Set(natsjs.ExpectedStreamHeader, t.settings.Stream)
	msg.Header.Set(natsjs.ExpectedLastSeqHeader, strconv.FormatUint(stands.seq, 10))
	if stands.replicas == 1 && stands.id != "" && (stands.lasting || stands.seq != t.standing.seq) {
		msg.Header.Set(natsjs.ExpectedLastMsgIDHeader, stands.id)
	}
	next := *stands
	next.seq, next.id, next.place = stands.seq+1, id, place
	return next, msg, nil
}

// life is what the event's id is followed by in its message id: nothing, or what
// tells a repetition on purpose from one by accident.
func (s *standing) life(next publishers.Place) string {
	held := s.place.Event.String()
	switch {
	case s.seq == 0:
		return ""
	case s.place.Event.IsNil(), !strings.HasPrefix(s.id, held), !after(next, s.place):
		return "." + strconv.FormatUint(s.seq, 10)
	default:
		return s.id[len(held):]
	}
}

// await waits for the acknowledgement of a message that was sent, all before it
// being acknowledged. After a refusal it sees to it that what was sent behind it
// was refused, too.
func (t *Transport) await(ctx context.Context, sent []natsjs.PubAckFuture, i int) error {
	err := t.answer(ctx, sent[i], t.standing.seq+uint64(i)+1)
	if err == nil {
		return nil
	}
	refusal := new(natsjs.APIError)
	if !errors.As(err, &refusal) {
		return fmt.Errorf("message %d of %d: %w", i, len(sent), err)
	}
	for j := i + 1; j < len(sent); j++ {
		later := t.answer(ctx, sent[j], t.standing.seq+uint64(j)+1)
		if !errors.As(later, new(*natsjs.APIError)) {
			return fmt.Errorf("message %d of %d was refused (%w), but not message %d behind it", i, len(sent), err, j)
		}
	}
	return classify(i, err)
}

// answer returns nil when the message was stored where it belongs.
func (t *Transport) answer(ctx context.Context, future natsjs.PubAckFuture, seq uint64) error {
	// A leader that steps down never answers what it had not agreed upon.
	silence := time.NewTimer(t.settings.AckTimeout)
	defer silence.Stop()
	select {
	case ack := <-future.Ok():
		if ack.Stream != t.settings.Stream || ack.Sequence != seq {
			return fmt.Errorf("%w: it was acknowledged as number %d of stream %s, and should be number %d of %s",
				publishers.ErrMismatch, ack.Sequence, ack.Stream, seq, t.settings.Stream)
		}
		return nil
	case err := <-future.Err():
		return cause(ctx, err)
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-silence.C:
		return fmt.Errorf("no acknowledgement for %s", t.settings.AckTimeout)
	}
}

// unfitError is about a message that never left.
type unfitError struct{ err error }

func (e *unfitError) Error() string { return e.err.Error() }
func (e *unfitError) Unwrap() error { return e.err }

// Error codes of the server that nats.go has no names for.
const (
	codeWrongLastMsgID natsjs.ErrorCode = 10070
	codeHeaderTooLarge natsjs.ErrorCode = 10097
)

// classify turns the failure of a message, all before it being acknowledged and
// nothing behind it taken, into the port's terms.
func classify(i int, err error) error {
	refusal := new(natsjs.APIError)
	switch {
	case errors.As(err, new(*unfitError)), errors.Is(err, natsgo.ErrMaxPayload), errors.Is(err, natsgo.ErrBadSubject), errors.Is(err, natsgo.ErrBadHeaderMsg):
		return &publishers.BatchError{Index: i, Permanent: true, Err: err}
	case !errors.As(err, &refusal):
		return fmt.Errorf("message %d: %w", i, err)
	}
	switch refusal.ErrorCode {
	case natsjs.JSErrCodeStreamWrongLastSequence, natsjs.JSErrCodeStreamWrongLastSequenceConstant, codeWrongLastMsgID:
		return fmt.Errorf("%w: %w", publishers.ErrMismatch, err)
	case natsjs.JSErrCodeStreamMessageExceedsMaximum, codeHeaderTooLarge:
		return &publishers.BatchError{Index: i, Permanent: true, Err: err}
	default:
		return &publishers.BatchError{Index: i, Err: err}
	}
}
