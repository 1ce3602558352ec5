package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// client is an Iceberg REST client that tries one instance after the other, and
// keeps books of what it is told.
type client struct {
	http  *http.Client
	addrs []string // host:port of the instances
	turn  atomic.Uint32
	ids   ids.Source
	books *books
}

func newClient(addrs []string, b *books) *client {
	return &client{
		// Below the longest freeze, so that a frozen instance is given up.
		http:  &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: 8 * time.Second},
		addrs: addrs, ids: ids.NewV7(clock.System{}), books: b,
	}
}

// answer is one answer; kind is the error model's type for failures.
type answer struct {
	status  int
	kind    string
	body    []byte
	request ids.ID
}

var errForeign = errors.New("the answer is outside the error model")

// once sends one request to one instance.
func (c *client) once(ctx context.Context, addr, method, path string, header map[string]string, body any) (answer, error) {
	a := answer{request: c.ids.New()}
	var reader io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return a, err
		}
		reader = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+addr+path, reader)
	if err != nil {
		return a, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Request-Id", a.request.String())
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return a, err
	}
	defer response.Body.Close()
	if a.body, err = io.ReadAll(response.Body); err != nil {
		return a, err
	}
	a.status = response.StatusCode
	if a.status >= 400 {
		var model struct {
			Error struct {
				Type string
				Code int
			}
		}
		if err := json.Unmarshal(a.body, &model); err != nil || model.Error.Type == "" || model.Error.Code != a.status {
			return a, fmt.Errorf("%s %s: %d: %w: %.200s", method, path, a.status, errForeign, a.body)
		}
		a.kind = model.Error.Type
	}
	return a, nil
}

// next is the instance whose turn it is.
func (c *client) next() string { return c.addrs[int(c.turn.Add(1))%len(c.addrs)] }

// change sends a request that may change something, once, and notes the outcome.
func (c *client) change(ctx context.Context, e entry, method, path string, header map[string]string, body any) (answer, outcome) {
	var a answer
	var err error
	for range 200 {
		a, err = c.once(ctx, c.next(), method, path, header, body)
		var dial *net.OpError
		// net/http repeats a request by itself that has an Idempotency-Key: then the
		// error of the last dial does not say that nothing was sent.
		if !errors.As(err, &dial) || dial.Op != "dial" || header != nil {
			break
		}
		pause(ctx, 10*time.Millisecond) // nothing was sent: somebody else may be asked
	}
	e.Request, e.Status = a.request, a.status
	if e.Once.IsNil() {
		e.Once = e.Request
	}
	switch {
	case errors.Is(err, errForeign):
		c.books.complain("%s: %v", e.Kind, err)
		e.Outcome = unknown
	case err != nil: // the connection broke: unknown, as for every client
		e.Outcome = unknown
	case a.status < 300:
		e.Outcome = acknowledged
	case a.status == http.StatusInternalServerError && a.kind == "CommitStateUnknownException":
		e.Outcome = unknown
	case a.status == http.StatusRequestTimeout:
		e.Outcome = unknown
	case a.status == http.StatusServiceUnavailable, a.status == http.StatusConflict, a.status == http.StatusNotFound:
		e.Outcome = refused // nothing happened, says the server
	default:
		c.books.complain("%s %s %s: %d %s: %.300s", e.Kind, method, path, a.status, a.kind, a.body)
		e.Outcome = unknown
	}
	c.books.note(e)
	return a, e.Outcome
}

// get reads from the instances in turn until one answers with something else than
// that it can't.
func (c *client) get(ctx context.Context, path string) (answer, error) {
	var last error
	for try := 0; ctx.Err() == nil; try++ {
		a, err := c.once(ctx, c.next(), http.MethodGet, path, nil, nil)
		switch {
		case errors.Is(err, errForeign):
			return a, err
		case err != nil:
			last = err
		case a.status == http.StatusServiceUnavailable || a.status == http.StatusRequestTimeout:
			last = fmt.Errorf("%d %s", a.status, a.body)
		default:
			return a, nil
		}
		if try == 400 {
			return answer{}, fmt.Errorf("nobody answers %s: %w", path, last)
		}
		pause(ctx, 50*time.Millisecond)
	}
	return answer{}, context.Cause(ctx)
}

// must is for set-up: it repeats until it is done.
func (c *client) must(ctx context.Context, method, path string, body, into any) error {
	a, err := c.once(ctx, c.addrs[0], method, path, nil, body)
	if err != nil {
		return err
	}
	if a.status >= 300 {
		return fmt.Errorf("%s %s: %d %s", method, path, a.status, a.body)
	}
	c.books.note(entry{Request: a.request, Once: a.request, Kind: setUpKind, Outcome: acknowledged, Status: a.status})
	if into == nil {
		return nil
	}
	return json.Unmarshal(a.body, into)
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
