package webhook_test

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2/event"

	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/publishers"
	"github.com/icecore-catalog/icecore/publishers/publishertest"
	"github.com/icecore-catalog/icecore/publishers/webhook"
)

const key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// endpoint is a receiver over TLS that keeps what it acknowledged.
type endpoint struct {
	server *httptest.Server

	mu       sync.Mutex
	received []publishertest.Received
	requests []*http.Request
	bodies   [][]byte
	answer   func(w http.ResponseWriter, body []byte) bool // true: it answered
	deaf     bool                                          // takes events and does not tell
}

func newEndpoint(t *testing.T) *endpoint {
	t.Helper()
	e := &endpoint{}
	e.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { e.serve(t, w, r) }))
	t.Cleanup(e.server.Close)
	return e
}

func (e *endpoint) serve(t *testing.T, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the publisher ended it
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.requests, e.bodies = append(e.requests, r), append(e.bodies, body)
	if e.answer != nil && e.answer(w, body) {
		return
	}
	if r.Header.Get("Content-Type") != webhook.ContentType {
		t.Errorf("Content-Type %q", r.Header.Get("Content-Type"))
	}
	for _, text := range split(t, body) {
		e.received = append(e.received, publishertest.Received{Event: decode(t, text)})
	}
	if e.deaf {
		panic(http.ErrAbortHandler)
	}
}

func split(t *testing.T, body []byte) (texts []json.RawMessage) {
	if err := json.Unmarshal(body, &texts); err != nil {
		t.Errorf("the body is no JSON array: %v\n%s", err, body)
	}
	return texts
}

// decode reads an event by the rules of the JSON format, and keeps its data's bytes.
func decode(t *testing.T, text []byte) cloudevents.Event {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		t.Error(err)
	}
	data, plain := members["data"]
	delete(members, "data")
	rest, err := json.Marshal(members)
	if err != nil {
		t.Error(err)
	}
	var event cloudevents.Event
	if err := event.UnmarshalJSON(rest); err != nil {
		t.Errorf("%v\n%s", err, rest)
	}
	if plain {
		event.DataEncoded = data
	}
	event.DataBase64 = false
	return event
}

func (e *endpoint) set(answer func(w http.ResponseWriter, body []byte) bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answer = answer
}

func (e *endpoint) read() []publishertest.Received {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]publishertest.Received(nil), e.received...)
}

func (e *endpoint) secrets(name string) ([]byte, error) {
	switch name {
	case "key":
		return []byte(key + "\n"), nil
	case "old-key":
		return []byte("another key of thirty-two bytes "), nil
	case "token":
		return []byte("Bearer hunter2\n"), nil
	case "ca":
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: e.server.Certificate().Raw}), nil
	case "short":
		return []byte("hunter2"), nil
	case "split":
		return []byte("a\r\nb"), nil
	}
	return nil, fmt.Errorf("%w: %q", publishers.ErrSecret, name)
}

func (e *endpoint) open(t *testing.T, extra map[string]string) *webhook.Transport {
	t.Helper()
	return e.openAt(t, extra, webhook.Options{Secrets: e.secrets, Clock: clock.System{}, AllowPrivate: true})
}

func (e *endpoint) openAt(t *testing.T, extra map[string]string, o webhook.Options) *webhook.Transport {
	t.Helper()
	settings := map[string]string{"url": e.server.URL, "signing-secret": "key", "tls-ca-secret": "ca"}
	for k, v := range extra {
		settings[k] = v
	}
	s, err := webhook.ParseSettings(settings)
	if err != nil {
		t.Fatal(err)
	}
	p := webhook.New(s, o)
	t.Cleanup(func() { _ = p.Close() })
	return p
}

const limit = 100_000

func TestWebhookIsADestination(t *testing.T) {
	t.Parallel()
	publishertest.Run(t, func(t *testing.T) publishertest.Harness {
		e := newEndpoint(t)
		return publishertest.Harness{
			Capabilities: publishertest.Capabilities{TooLarge: limit},
			Open: func(t *testing.T) publishers.Transport {
				return e.open(t, map[string]string{"max-batch-bytes": fmt.Sprint(2 * limit), "max-message-bytes": fmt.Sprint(limit)})
			},
			Read: func(*testing.T) []publishertest.Received { return e.read() },
			Refuse: func(_ *testing.T, id string) {
				e.set(func(w http.ResponseWriter, body []byte) bool {
					refused := bytes.Contains(body, []byte(id))
					if refused {
						w.WriteHeader(http.StatusUnprocessableEntity)
					}
					return refused
				})
			},
			LoseAnswer: func(_ *testing.T, _ int, publish func() error) error {
				e.hear(false)
				defer e.hear(true)
				return publish()
			},
		}
	})
}

func (e *endpoint) hear(well bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.deaf = !well
}

func publish(t *testing.T, p *webhook.Transport, log *publishertest.Log, n int) error {
	t.Helper()
	if err := p.Prepare(t.Context()); err != nil {
		return err
	}
	return p.Publish(publishertest.Topic, publishertest.Messages(t, t.Context(), log.Append(n), "")...)
}

// away is an endpoint that is not there.
func away(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "https://" + l.Addr().String()
}

func fake() *clock.Fake { return clock.NewFake(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)) }

func contains(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }
