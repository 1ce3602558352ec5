package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/icecore-catalog/icecore/bench/wire"
)

// bench holds what all sections share.
type bench struct {
	subject *subject
	ceiling string // host:port
	// warehouse is the folder of the subject's warehouse.
	warehouse string
	window    time.Duration
	rounds    int
	log       func(format string, args ...any)
}

// pair measures ours and the ceiling in turns and keeps the median window of
// each, so that both saw the same machine.
func (b *bench) pair(ctx context.Context, workers int, ours, theirs wire.Step) (mine, top wire.Result, err error) {
	var a, c []wire.Result
	for range b.rounds {
		r, err := wire.Run(ctx, b.subject.addr, workers, b.window, 0, ours)
		if err != nil {
			return mine, top, err
		}
		if r.Errors > 0 {
			return mine, top, fmt.Errorf("%d wrong answers, the first: %s", r.Errors, r.FirstBad)
		}
		a = append(a, r)
		if r, err = wire.Run(ctx, b.ceiling, workers, b.window, 0, theirs); err != nil {
			return mine, top, err
		}
		if r.Errors > 0 {
			return mine, top, fmt.Errorf("ceiling: %d wrong answers, the first: %s", r.Errors, r.FirstBad)
		}
		c = append(c, r)
	}
	return median(a), median(c), nil
}

func median(results []wire.Result) wire.Result {
	slices.SortFunc(results, func(x, y wire.Result) int { return int(x.P50 - y.P50) })
	return results[len(results)/2]
}

// row is one line of a table in the report.
type row struct {
	what, workers string
	ours, ceiling wire.Result
	target        string
}

func (r row) ratio() float64 { return r.ours.Rate() / r.ceiling.Rate() }

func (r row) String() string {
	return fmt.Sprintf("| %s | %s | %.0f | %.0f | **%.2f** | %s | %s | %s |",
		r.what, r.workers, r.ours.Rate(), r.ceiling.Rate(), r.ratio(), r.target, micros(r.ours.P50), micros(r.ours.P99))
}

const tableHead = "| what | clients | ours/s | ceiling/s | ratio | target | p50 | p99 |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"

func micros(d time.Duration) string {
	if d < 10*time.Millisecond {
		return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000)
	}
	return fmt.Sprintf("%.0f ms", float64(d.Microseconds())/1000)
}

// small are the tables of the load and commit sections.
const smallTables = 512

func get(path func(i int) string, count, status int, header string) wire.Step {
	return func(c *wire.Conn, _, _ int) error {
		a, err := c.Do(wire.Request{Method: "GET", Path: path(rand.IntN(count)), Header: header}, false)
		return expect(a, err, status)
	}
}

// loadsAndCommits compares loads with the bare SELECT and commits with the
// bare statement plus a synced file of the same size.
func (b *bench) loadsAndCommits(ctx context.Context) ([]string, error) {
	const namespace = "small"
	if err := b.createMany(ctx, namespace, smallTables); err != nil {
		return nil, err
	}
	lines := []string{tableHead}
	table := func(i int) string { return b.subject.tablePath(namespace, i) }
	bare := func(i int) string { return "/select/" + strconv.Itoa(i) }
	for _, load := range []struct {
		workers int
		target  string
	}{{1, "≥ 0.6"}, {8, ""}, {32, "≥ 1.0"}} {
		ours, top, err := b.pair(ctx, load.workers, get(table, smallTables, 200, ""), get(bare, smallTables, 200, ""))
		if err != nil {
			return nil, fmt.Errorf("load: %w", err)
		}
		lines = append(lines, row{"load a small table, against `SELECT` by key", strconv.Itoa(load.workers), ours, top, load.target}.String())
		b.log("%s", lines[len(lines)-1])
	}
	size, err := b.documentSize(ctx, namespace, 0)
	if err != nil {
		return nil, err
	}
	var value atomic.Int64
	for _, load := range []struct {
		workers int
		target  string
	}{{1, ""}, {8, ""}, {32, "≥ 0.55"}} {
		each := smallTables / load.workers
		ours, top, err := b.pair(ctx, load.workers,
			func(c *wire.Conn, worker, i int) error {
				a, err := c.Do(b.subject.commitRequest(namespace, worker*each+i%each, int(value.Add(1))), false)
				return expect(a, err, 200)
			},
			func(c *wire.Conn, worker, i int) error {
				a, err := c.Do(wire.Request{Method: "POST", Path: fmt.Sprintf("/commit/%d/%d", worker*each+i%each, size), Body: []byte("{}")}, false)
				return expect(a, err, 200)
			})
		if err != nil {
			return nil, fmt.Errorf("commit: %w", err)
		}
		lines = append(lines, row{"commit to own tables, against one statement + one synced file", strconv.Itoa(load.workers), ours, top, load.target}.String())
		b.log("%s", lines[len(lines)-1])
	}
	return lines, nil
}

func (b *bench) createMany(ctx context.Context, namespace string, count int) error {
	if err := b.subject.createNamespace(ctx, namespace); err != nil {
		return err
	}
	return b.createRange(ctx, namespace, 0, count)
}

func (b *bench) createRange(ctx context.Context, namespace string, from, to int) error {
	var next atomic.Int64
	next.Store(int64(from))
	r, err := wire.Run(ctx, b.subject.addr, 16, 0, to-from, func(c *wire.Conn, _, _ int) error {
		a, err := c.Do(b.subject.createRequest(namespace, int(next.Add(1))-1), false)
		return expect(a, err, 200)
	})
	if err == nil && r.Errors > 0 {
		err = fmt.Errorf("creating tables: %d failed, the first: %s", r.Errors, r.FirstBad)
	}
	return err
}

func (b *bench) documentSize(ctx context.Context, namespace string, table int) (int, error) {
	body, err := b.subject.call(ctx, "GET", b.subject.tablePath(namespace, table), nil)
	if err != nil {
		return 0, err
	}
	var answer struct {
		Metadata json.RawMessage `json:"metadata"`
	}
	err = json.Unmarshal(body, &answer)
	return len(answer.Metadata), err
}

// snapshots measures tables of 1, 1,000 and 20,000 snapshots, warm, with one
// client: loads against a handler that writes the same bytes, a 304 against a
// small table's, commits against the same synced file.
func (b *bench) snapshots(ctx context.Context) ([]string, error) {
	const namespace = "snapshots"
	sizes := []int{1, 1_000, 20_000}
	if err := b.createMany(ctx, namespace, len(sizes)); err != nil {
		return nil, err
	}
	lines := []string{"| snapshots | document | what | ours p50 | ceiling p50 | ours / ceiling | target |\n| ---: | ---: | --- | ---: | ---: | ---: | --- |"}
	for i, n := range sizes {
		if err := b.subject.grow(ctx, namespace, i, n); err != nil {
			return nil, err
		}
		path := b.subject.tablePath(namespace, i)
		body, err := b.subject.call(ctx, "GET", path, nil)
		if err != nil {
			return nil, err
		}
		size, err := b.documentSize(ctx, namespace, i)
		if err != nil {
			return nil, err
		}
		name := strconv.Itoa(n)
		if err := b.keep(ctx, name, body); err != nil {
			return nil, err
		}
		etag, err := b.etag(ctx, path)
		if err != nil {
			return nil, err
		}
		same := func(path string) func(int) string { return func(int) string { return path } }
		value := 0
		for _, m := range []struct {
			what, target string
			ours, top    wire.Step
		}{
			{"load, identity", "≤ 3", get(same(path), 1, 200, ""), get(same("/bytes/"+name), 1, 200, "")},
			{"load, gzip", "≤ 3", get(same(path), 1, 200, "Accept-Encoding: gzip\r\n"), get(same("/bytes/"+name+".gz"), 1, 200, "")},
			{"304", "as small", get(same(path), 1, 304, "If-None-Match: "+etag+"\r\n"), get(same("/not-modified/1"), 1, 304, "")},
			{"commit", "", func(c *wire.Conn, _, _ int) error {
				value++
				a, err := c.Do(b.subject.commitRequest(namespace, i, value), false)
				return expect(a, err, 200)
			}, func(c *wire.Conn, _, _ int) error {
				a, err := c.Do(wire.Request{Method: "POST", Path: fmt.Sprintf("/commit/1/%d", size), Body: []byte("{}")}, false)
				return expect(a, err, 200)
			}},
		} {
			ours, top, err := b.pair(ctx, 1, m.ours, m.top)
			if err != nil {
				return nil, fmt.Errorf("%d snapshots, %s: %w", n, m.what, err)
			}
			target := m.target
			if n < 20_000 && strings.HasPrefix(target, "≤") {
				target = "" // a small answer is the protocol's cost, not the document's
			}
			lines = append(lines, fmt.Sprintf("| %d | %s | %s | %s | %s | **%.2f** | %s |", n, bytesText(size), m.what, micros(ours.P50), micros(top.P50), float64(ours.P50)/float64(top.P50), target))
			b.log("%s", lines[len(lines)-1])
		}
	}
	return lines, nil
}

func bytesText(n int) string {
	if n < 1<<20 {
		return fmt.Sprintf("%.1f KB", float64(n)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

func (b *bench) keep(ctx context.Context, name string, body []byte) error {
	c, err := wire.Dial(ctx, b.ceiling)
	if err != nil {
		return err
	}
	defer c.Close()
	a, err := c.Do(wire.Request{Method: "PUT", Path: "/bytes/" + name, Body: body}, false)
	return expect(a, err, 204)
}

func (b *bench) etag(ctx context.Context, path string) (string, error) {
	c, err := wire.Dial(ctx, b.subject.addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	a, err := c.Do(wire.Request{Method: "GET", Path: path}, false)
	return a.ETag, expect(a, err, 200)
}

// scale measures create, load, list a page and drop in a warehouse of few and
// of many tables, with the same number of clients.
func (b *bench) scale(ctx context.Context, few, many int) ([]string, error) {
	const namespace = "scale"
	const workers, ops = 8, 2_000
	lines := []string{fmt.Sprintf("| what | p50 at %d tables | p50 at %d tables | ratio | target |\n| --- | ---: | ---: | ---: | ---: |", few, many)}
	if err := b.createMany(ctx, namespace, few); err != nil {
		return nil, err
	}
	quiet(ctx)
	before, err := b.atScale(ctx, namespace, few, workers, ops)
	if err != nil {
		return nil, err
	}
	b.log("creating %d tables", many)
	if err := b.createRange(ctx, namespace, few, many); err != nil {
		return nil, err
	}
	quiet(ctx)
	after, err := b.atScale(ctx, namespace, many, workers, ops)
	if err != nil {
		return nil, err
	}
	for i, what := range []string{"create", "load", "list a page of 100", "drop"} {
		lines = append(lines, fmt.Sprintf("| %s | %s | %s | **%.2f** | ≤ 2 |", what, micros(before[i].P50), micros(after[i].P50), float64(after[i].P50)/float64(before[i].P50)))
		b.log("%s", lines[len(lines)-1])
	}
	all, err := b.listAll(ctx, namespace, many)
	if err != nil {
		return nil, err
	}
	b.log("%s", all)
	return append(lines, all), nil
}

// atScale creates, loads, lists and drops while the given number of tables is
// there. It leaves the warehouse as it was.
func (b *bench) atScale(ctx context.Context, namespace string, tables, workers, ops int) ([4]wire.Result, error) {
	var out [4]wire.Result
	var created, dropped atomic.Int64
	const extra = 900_000 // numbers of the tables that come and go
	steps := []wire.Step{
		func(c *wire.Conn, _, _ int) error {
			a, err := c.Do(b.subject.createRequest(namespace, extra+int(created.Add(1))), false)
			return expect(a, err, 200)
		},
		get(func(i int) string { return b.subject.tablePath(namespace, i) }, tables, 200, ""),
		b.listStep(namespace),
		func(c *wire.Conn, _, _ int) error {
			a, err := c.Do(wire.Request{Method: "DELETE", Path: b.subject.tablePath(namespace, extra+int(dropped.Add(1)))}, false)
			return expect(a, err, 204)
		},
	}
	for i, step := range steps {
		r, err := wire.Run(ctx, b.subject.addr, workers, 0, ops, step)
		if err == nil && r.Errors > 0 {
			err = fmt.Errorf("%d wrong answers, the first: %s", r.Errors, r.FirstBad)
		}
		if err != nil {
			return out, fmt.Errorf("step %d at %d tables: %w", i, tables, err)
		}
		out[i] = r
	}
	return out, nil
}

// listStep walks pages of 100 from the beginning, again and again, each worker
// for itself.
func (b *bench) listStep(namespace string) wire.Step {
	tokens := make([]string, 1024)
	return func(c *wire.Conn, worker, _ int) error {
		a, err := c.Do(wire.Request{Method: "GET", Path: b.subject.namespacePath(namespace) + "/tables?pageSize=100&pageToken=" + tokens[worker]}, true)
		if err := expect(a, err, 200); err != nil {
			return err
		}
		_, rest, _ := strings.Cut(string(a.Body), `"next-page-token":"`)
		tokens[worker], _, _ = strings.Cut(rest, `"`)
		return nil
	}
}
