package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Request is one request to send, ready but for the body's length.
type Request struct {
	Method, Path string
	Header       string // further header lines, each ended by CRLF
	Body         []byte
}

// Conn is one kept-alive connection.
type Conn struct {
	conn   net.Conn
	reader *bufio.Reader
	out    []byte
	addr   string
}

// Dial connects to a host:port.
func Dial(ctx context.Context, addr string) (*Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &Conn{conn: c, reader: bufio.NewReaderSize(c, 1<<16), addr: addr}, nil
}

// Close closes the connection.
func (c *Conn) Close() error { return c.conn.Close() }

// Answer is what came back. Body is nil unless it was asked for.
type Answer struct {
	Status int
	ETag   string
	Length int
	Body   []byte
}

// Do sends one request and reads its answer; the body is kept only if asked.
func (c *Conn) Do(r Request, keepBody bool) (Answer, error) {
	c.out = append(c.out[:0], r.Method...)
	c.out = append(c.out, ' ')
	c.out = append(c.out, r.Path...)
	c.out = append(c.out, " HTTP/1.1\r\nHost: "...)
	c.out = append(c.out, c.addr...)
	c.out = append(c.out, "\r\n"...)
	c.out = append(c.out, r.Header...)
	if r.Body != nil {
		c.out = append(c.out, "Content-Type: application/json\r\nContent-Length: "...)
		c.out = strconv.AppendInt(c.out, int64(len(r.Body)), 10)
		c.out = append(c.out, "\r\n"...)
	}
	c.out = append(c.out, "\r\n"...)
	c.out = append(c.out, r.Body...)
	if _, err := c.conn.Write(c.out); err != nil {
		return Answer{}, err
	}
	return c.read(r.Method, keepBody)
}

func (c *Conn) read(method string, keepBody bool) (Answer, error) {
	line, err := c.reader.ReadSlice('\n')
	if err != nil {
		return Answer{}, err
	}
	if len(line) < 12 {
		return Answer{}, fmt.Errorf("malformed status line %q", line)
	}
	var a Answer
	if a.Status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return Answer{}, fmt.Errorf("malformed status line %q", line)
	}
	a.Length = -1
	chunked := false
	for {
		line, err = c.reader.ReadSlice('\n')
		if err != nil {
			return Answer{}, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch {
		case bytes.EqualFold(name, []byte("content-length")):
			if a.Length, err = strconv.Atoi(string(value)); err != nil {
				return Answer{}, err
			}
		case bytes.EqualFold(name, []byte("etag")):
			a.ETag = string(value)
		case bytes.EqualFold(name, []byte("transfer-encoding")):
			chunked = true
		}
	}
	switch {
	case method == "HEAD" || a.Status == 204 || a.Status == 304:
		return a, nil
	case chunked:
		return a, c.readChunks(&a, keepBody)
	case a.Length < 0:
		return a, errors.New("answer without Content-Length")
	case keepBody:
		a.Body = make([]byte, a.Length)
		_, err = io.ReadFull(c.reader, a.Body)
	default:
		_, err = io.CopyN(io.Discard, c.reader, int64(a.Length))
	}
	return a, err
}

func (c *Conn) readChunks(a *Answer, keepBody bool) error {
	for a.Length = 0; ; {
		line, err := c.reader.ReadString('\n')
		if err != nil {
			return err
		}
		size, err := strconv.ParseInt(strings.TrimSpace(line), 16, 64)
		if err != nil {
			return err
		}
		chunk := make([]byte, size+2)
		if _, err := io.ReadFull(c.reader, chunk); err != nil {
			return err
		}
		if size == 0 {
			return nil
		}
		a.Length += int(size)
		if keepBody {
			a.Body = append(a.Body, chunk[:size]...)
		}
	}
}

// Result is what one window of load measured.
type Result struct {
	Requests int
	Errors   int
	FirstBad string // one wrong answer, for the report
	Elapsed  time.Duration
	P50, P99 time.Duration
}

// Rate is the number of good answers per second.
func (r Result) Rate() float64 { return float64(r.Requests) / r.Elapsed.Seconds() }

// Step performs request number i of a worker and reports whether the answer
// was right.
type Step func(c *Conn, worker, i int) error

// Run lets the given number of workers, each with a connection of its own,
// repeat step for the duration (or until limit steps were taken in all, if
// limit is above zero).
func Run(ctx context.Context, addr string, workers int, d time.Duration, limit int, step Step) (Result, error) {
	conns := make([]*Conn, workers)
	for i := range conns {
		c, err := Dial(ctx, addr)
		if err != nil {
			return Result{}, err
		}
		defer c.Close()
		conns[i] = c
	}
	var (
		group  sync.WaitGroup
		taken  atomic.Int64
		mu     sync.Mutex
		times  []time.Duration
		result Result
	)
	start := time.Now()
	end := start.Add(d)
	for w, c := range conns {
		group.Go(func() {
			var mine []time.Duration
			var bad int
			var first string
			for i := 0; ctx.Err() == nil; i++ {
				if limit > 0 && taken.Add(1) > int64(limit) {
					break
				}
				before := time.Now()
				if limit <= 0 && before.After(end) {
					break
				}
				if err := step(c, w, i); err != nil {
					bad++
					if first == "" {
						first = err.Error()
					}
					continue
				}
				mine = append(mine, time.Since(before))
			}
			mu.Lock()
			defer mu.Unlock()
			times = append(times, mine...)
			result.Errors += bad
			if result.FirstBad == "" {
				result.FirstBad = first
			}
		})
	}
	group.Wait()
	result.Elapsed = time.Since(start)
	result.Requests = len(times)
	slices.Sort(times)
	if n := len(times); n > 0 {
		result.P50, result.P99 = times[n/2], times[min(n-1, n*99/100)]
	}
	return result, nil
}
