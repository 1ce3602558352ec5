package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/icecore-catalog/icecore/bench/wire"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
)

func freeAddr(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// call is for what is not measured.
func (s *stand) call(ctx context.Context, method, path string, body, into any) error {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+s.addr+path, sent)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %d %s", method, path, response.StatusCode, answer)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}

// writers is how many clients commit at once.
const writers = 32

// prepare makes a warehouse with a table for each writer, and some more.
func (s *stand) prepare(ctx context.Context, warehouse string) error {
	if err := s.call(ctx, "POST", "/management/v1/bootstrap", map[string]any{"accept-terms-of-use": true}, nil); err != nil {
		return err
	}
	var made struct {
		ID string `json:"warehouse-id"`
	}
	if err := s.call(ctx, "POST", "/management/v1/warehouse", map[string]any{
		"warehouse-name": "bench", "storage-profile": map[string]any{"type": "file", "root": "file://" + warehouse},
	}, &made); err != nil {
		return err
	}
	s.prefix = "/catalog/v1/" + made.ID
	if err := s.call(ctx, "POST", s.prefix+"/namespaces", map[string]any{"namespace": []string{"ns"}}, nil); err != nil {
		return err
	}
	s.tables = 4 * writers
	for i := range s.tables {
		if err := s.call(ctx, "POST", s.prefix+"/namespaces/ns/tables", map[string]any{
			"name": "t" + strconv.Itoa(i),
			"schema": map[string]any{"type": "struct", "fields": []any{
				map[string]any{"id": 1, "name": "id", "required": false, "type": "long"},
				map[string]any{"id": 2, "name": "text", "required": false, "type": "string"},
			}},
		}, nil); err != nil {
			return err
		}
	}
	return nil
}

// commitRequest is a commit of table number i.
func (s *stand) commitRequest(i int, header string) wire.Request {
	return wire.Request{
		Method: "POST", Path: s.prefix + "/namespaces/ns/tables/t" + strconv.Itoa(i), Header: header,
		// A value that is there already would be no commit.
		Body: fmt.Appendf(nil, `{"requirements":[],"updates":[{"action":"set-properties","updates":{"bench.value":"%d"}}]}`, s.values.Add(1)),
	}
}

// commit is a writer's step: each writer has tables of its own.
func (s *stand) commit(c *wire.Conn, worker, i int) error {
	a, err := c.Do(s.commitRequest(worker+writers*(i%(s.tables/writers)), ""), false)
	if err == nil && a.Status != http.StatusOK {
		err = fmt.Errorf("status %d", a.Status)
	}
	return err
}

// tooFastError is a rate that the machine cannot keep up with now.
type tooFastError struct {
	count int
	took  time.Duration
}

func (e *tooFastError) Error() string {
	return fmt.Sprintf("%d commits took %s: the machine does no more now", e.count, e.took.Round(time.Millisecond))
}

// paced commits at a rate for a while, from a schedule that does not wait for
// answers, and calls done with the id of each request that was answered.
func (s *stand) paced(ctx context.Context, rate int, d time.Duration, done func(ids.ID, time.Time)) error {
	source := ids.NewV7(clock.System{})
	count := int(d.Seconds() * float64(rate))
	start := time.Now()
	var next atomic.Int64
	var group sync.WaitGroup
	errs := make([]error, 2*writers)
	for w := range errs {
		c, err := wire.Dial(ctx, s.addr)
		if err != nil {
			return err
		}
		defer c.Close()
		group.Go(func() {
			for ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				if n >= count {
					return
				}
				time.Sleep(time.Until(start.Add(time.Duration(n) * time.Second / time.Duration(rate))))
				id := source.New()
				a, err := c.Do(s.commitRequest((w*2+n%2)%s.tables, "X-Request-Id: "+id.String()+"\r\n"), false)
				if err == nil && a.Status != http.StatusOK {
					err = fmt.Errorf("status %d", a.Status)
				}
				if err != nil {
					errs[w] = err
					return
				}
				done(id, time.Now())
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	if took := time.Since(start); took > d+d/5 {
		return &tooFastError{count: count, took: took}
	}
	return nil
}
