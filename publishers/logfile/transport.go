package logfile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"
	cloudevents "github.com/cloudevents/sdk-go/v2/event"

	"github.com/icecore-catalog/icecore/publishers"
)

// ErrClosed is returned after Close.
var ErrClosed = errors.New("the log destination is closed")

// Options are what a transport is made of.
type Options struct {
	Settings Settings
	Folder   string    // of the files; empty refuses them
	Stdout   io.Writer // of lines that are no file's; writes of one process don't mingle if it sees to it
}

// Transport writes one destination's lines.
type Transport struct {
	options Options

	mu     sync.Mutex
	closed bool
	file   *file // nil before Prepare, and for the standard output
}

var _ publishers.Transport = (*Transport)(nil)

// New returns a transport that has yet to be prepared.
func New(o Options) *Transport { return &Transport{options: o} }

// Prepare implements [publishers.Transport]: it opens the file, or makes it, and
// cuts off what a crash left unfinished.
func (t *Transport) Prepare(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.usable(ctx); err != nil || t.options.Settings.File == "" {
		return err
	}
	t.letGo()
	f, err := openFile(ctx, t.options.Folder, t.options.Settings.File)
	if err != nil {
		return err
	}
	t.file = f
	return nil
}

func (t *Transport) usable(ctx context.Context) error {
	if t.closed {
		return ErrClosed
	}
	return ctx.Err()
}

// Last implements [publishers.Transport]. The standard output cannot be asked.
func (t *Transport) Last(ctx context.Context) (publishers.Place, bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.usable(ctx); err != nil || t.file == nil {
		return publishers.Place{}, false, err
	}
	return t.file.last, t.file.last.Position > 0, nil
}

// Publish implements [publishers.Transport].
func (t *Transport) Publish(_ string, messages ...*message.Message) error {
	if len(messages) == 0 {
		return nil
	}
	ctx := messages[0].Context()
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.usable(ctx); err != nil {
		return err
	}
	var lines bytes.Buffer
	for i, m := range messages {
		line, err := lineOf(publishers.EventOf(m))
		if err != nil {
			if i == 0 {
				return &publishers.BatchError{Index: 0, Permanent: true, Err: err}
			}
			if err := t.write(ctx, lines.Bytes(), messages[:i]); err != nil {
				return err
			}
			return &publishers.BatchError{Index: i, Permanent: true, Err: err}
		}
		lines.Write(line)
		lines.WriteByte('\n')
	}
	return t.write(ctx, lines.Bytes(), messages)
}

func (t *Transport) write(ctx context.Context, lines []byte, messages []*message.Message) error {
	if t.options.Settings.File == "" {
		if _, err := t.options.Stdout.Write(lines); err != nil {
			return fmt.Errorf("write to the standard output: %w", err)
		}
		return nil
	}
	if t.file == nil {
		return errors.New("the file is not open")
	}
	last, err := placeOf(publishers.EventOf(messages[len(messages)-1]))
	if err != nil {
		return err
	}
	if err := t.file.append(ctx, lines, last, t.options.Settings.MaxFileBytes); err != nil {
		t.letGo()
		return err
	}
	return nil
}

// lineOf is an event in structured mode, in one line. Data that would break the
// line, or are no JSON, stand there in base64, since no byte of them may change.
func lineOf(event *cloudevents.Event) ([]byte, error) {
	if event == nil {
		return nil, errors.New("a message without an event")
	}
	e := *event
	if data := e.DataEncoded; data != nil && (bytes.ContainsAny(data, "\n\r") || !json.Valid(data)) {
		e.DataBase64 = true
	}
	line, err := e.MarshalJSON()
	if err == nil && bytes.ContainsAny(line, "\n\r") {
		err = errors.New("the event does not fit into a line")
	}
	if err != nil {
		return nil, fmt.Errorf("event %s as JSON: %w", event.ID(), err)
	}
	return line, nil
}

// Close implements [message.Publisher].
func (t *Transport) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.letGo()
	return nil
}

func (t *Transport) letGo() {
	if t.file != nil {
		t.file.close()
		t.file = nil
	}
}

// Lines is a writer that several transports may share: each write is whole.
func Lines(w io.Writer) io.Writer { return &shared{w: w} }

type shared struct {
	mu sync.Mutex
	w  io.Writer
}

// Write implements [io.Writer].
func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.w.Write(p)
	if f, ok := s.w.(*os.File); ok && err == nil {
		_ = f.Sync() // where it is a file; a pipe knows of no disk
	}
	return n, err
}
