package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/publishers"
	"github.com/icecore-catalog/icecore/publishers/publishertest"
	"github.com/icecore-catalog/icecore/publishers/webhook"
)

func TestAnswersSayWhatIsRefused(t *testing.T) {
	t.Parallel()
	for status, permanent := range map[int]bool{
		400: true, 409: true, 413: true, 415: true, 422: true, 431: true, 499: true,
		401: false, 402: false, 403: false, 404: false, 405: false, 407: false, 408: false, 410: false, 421: false, 423: false, 425: false,
		426: false, 429: false, 451: false, 500: false, 501: false, 502: false, 503: false, 504: false, 599: false, 300: false, 304: false,
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			e := newEndpoint(t)
			e.set(func(w http.ResponseWriter, _ []byte) bool {
				w.WriteHeader(status)
				fmt.Fprint(w, "hunter2")
				return true
			})
			err := publish(t, e.open(t, nil), publishertest.NewLog(t), 5)
			var batch *publishers.BatchError
			if errors.As(err, &batch) != permanent || permanent && (!batch.Permanent || batch.Index != 0) || !contains(err, fmt.Sprint(status)) {
				t.Errorf("%v", err)
			}
			if contains(err, "hunter2") {
				t.Errorf("the answer is told: %v", err)
			}
		})
	}
	for _, status := range []int{200, 201, 202, 204} {
		e := newEndpoint(t)
		e.set(func(w http.ResponseWriter, _ []byte) bool { w.WriteHeader(status); return true })
		if err := publish(t, e.open(t, nil), publishertest.NewLog(t), 1); err != nil {
			t.Error(err)
		}
	}
}

func TestFailureInTheMiddleSaysWhatIsAcknowledged(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	asked := 0
	e.set(func(w http.ResponseWriter, _ []byte) bool {
		if asked++; asked == 3 {
			w.WriteHeader(http.StatusBadGateway)
			return true
		}
		return false
	})
	var batch *publishers.BatchError
	err := publish(t, e.open(t, map[string]string{"max-batch": "10"}), publishertest.NewLog(t), 45)
	if !errors.As(err, &batch) || batch.Index != 20 || batch.Permanent {
		t.Errorf("%v", err)
	}
	if n := len(e.read()); n != 20 {
		t.Errorf("%d acknowledged", n)
	}
}

func TestRequestsAreBounded(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	p, log := e.open(t, map[string]string{"max-batch-bytes": "20000", "max-batch": "7"}), publishertest.NewLog(t)
	if err := p.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	entries := append(log.Append(30), log.AppendLarge(15_000), log.AppendLarge(15_000), log.AppendLarge(10))
	if err := p.Publish(publishertest.Topic, publishertest.Messages(t, t.Context(), entries, "")...); err != nil {
		t.Fatal(err)
	}
	for i, body := range e.bodies {
		if n := len(split(t, body)); len(body) > 20_000 || n > 7 {
			t.Errorf("request %d: %d events, %d bytes", i, n, len(body))
		}
	}
	if len(e.bodies) < 6 || len(e.read()) != 33 {
		t.Errorf("%d requests, %d events", len(e.bodies), len(e.read()))
	}
}

func TestRetryAfterIsObeyed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		header string
		wait   time.Duration
	}{
		"seconds": {"120", 2 * time.Minute}, "a date": {"Sun, 01 Mar 2026 12:05:00 GMT", 5 * time.Minute}, "too long": {"999999", time.Hour},
		"none": {"", 0}, "nonsense": {"soon", 0}, "past": {"Sun, 01 Mar 2020 12:05:00 GMT", 0}, "negative": {"-5", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, now := newEndpoint(t), fake()
			busy := true
			e.set(func(w http.ResponseWriter, _ []byte) bool {
				if busy {
					w.Header().Set("Retry-After", c.header)
					w.WriteHeader(http.StatusTooManyRequests)
				}
				return busy
			})
			p, log := e.openAt(t, nil, webhook.Options{Secrets: e.secrets, Clock: now, AllowPrivate: true}), publishertest.NewLog(t)
			if err := publish(t, p, log, 1); !contains(err, "429") {
				t.Fatal(err)
			}
			busy = false
			if c.wait > 0 {
				now.Advance(c.wait - time.Second)
				if err := publish(t, p, log, 1); !contains(err, "left alone") || len(e.bodies) != 1 {
					t.Fatalf("%v, %d requests", err, len(e.bodies))
				}
				now.Advance(time.Second)
			}
			if err := publish(t, p, log, 1); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	e, other := newEndpoint(t), newEndpoint(t)
	for _, status := range []int{301, 302, 303, 307, 308} {
		e.set(func(w http.ResponseWriter, _ []byte) bool {
			w.Header().Set("Location", other.server.URL)
			w.WriteHeader(status)
			return true
		})
		if err := publish(t, e.open(t, nil), publishertest.NewLog(t), 1); !contains(err, "redirect") {
			t.Errorf("%d: %v", status, err)
		}
	}
	if len(other.bodies) > 0 {
		t.Error("the other was reached")
	}
}

// An endpoint that is slow, away or endless holds nobody up for ever.
func TestEndpointThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	asked := make(chan struct{}, 1)
	e.server.Config.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-release
	})
	p := e.open(t, nil)
	if err := p.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	messages := publishertest.Messages(t, ctx, publishertest.NewLog(t).Append(1), "")
	result := make(chan error, 1)
	go func() { result <- p.Publish(publishertest.Topic, messages...) }()
	<-asked
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}

	err := publish(t, e.open(t, map[string]string{"url": away(t) + "/?token=hunter2"}), publishertest.NewLog(t), 1)
	if err == nil || contains(err, "hunter2") {
		t.Error(err)
	}
}

func TestLongAnswersAreNotRead(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	written := make(chan int, 1)
	e.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, chunk := 0, []byte(strings.Repeat("x", 1<<16))
		for r.Context().Err() == nil && n < 1<<30 {
			k, err := w.Write(chunk)
			if n += k; err != nil {
				break
			}
		}
		written <- n
	})
	if err := publish(t, e.open(t, nil), publishertest.NewLog(t), 1); err != nil {
		t.Error(err)
	}
	if n := <-written; n >= 1<<30 {
		t.Errorf("%d bytes of an answer were read", n)
	}
}

func TestSecretsAreReadAndNeverTold(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	for name, c := range map[string]struct {
		settings map[string]string
		wants    string
	}{
		"no such key":      {map[string]string{"signing-secret": "absent"}, "absent"},
		"short key":        {map[string]string{"signing-secret": "short"}, "short"},
		"no such token":    {map[string]string{"authorization-secret": "absent"}, "absent"},
		"token of lines":   {map[string]string{"authorization-secret": "split"}, "no value of a header"},
		"no certificate":   {map[string]string{"tls-ca-secret": "short"}, "no certificate"},
		"wrong authority":  {map[string]string{"tls-ca-secret": ""}, "certificate"},
		"previous is none": {map[string]string{"previous-signing-secret": "absent"}, "absent"},
	} {
		if err := publish(t, e.open(t, c.settings), publishertest.NewLog(t), 1); !contains(err, c.wants) || contains(err, "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(e.bodies) > 0 {
		t.Fatal("something was sent")
	}
	if err := publish(t, e.open(t, map[string]string{"authorization-secret": "token"}), publishertest.NewLog(t), 1); err != nil {
		t.Fatal(err)
	}
	if got := e.requests[0].Header.Get("Authorization"); got != "Bearer hunter2" {
		t.Errorf("Authorization %q", got)
	}
}

// The leaf of an event can be computed from what was received, also by a reader
// that knows nothing of CloudEvents.
func TestDataStandInTheBodyAsTheyAreInTheLog(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	p, log := e.open(t, nil), publishertest.NewLog(t)
	if err := p.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	const data = `{ "snapshot-id":3051729675574597004, "a":1.0, "a" : 1e2, "comment":"<&>\u00e9é"  }`
	entry := log.AppendData([]byte(data))
	if err := p.Publish(publishertest.Topic, publishertest.Messages(t, t.Context(), []eventstore.Entry{entry}, "")...); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(e.bodies[0]), `"data":`+data+`}`) {
		t.Errorf("%s", e.bodies[0])
	}
	got, err := eventstore.FromCloudEvent(e.read()[0].Event)
	if err != nil || got.Leaf != entry.Leaf {
		t.Errorf("another leaf, %v", err)
	}
}
