package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/icecore-catalog/icecore/bench/wire"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
)

const (
	benchViews   = 256
	transactions = 10  // tables of one multi-table commit
	registered   = 500 // registrations of one measurement
)

// protocol compares the rest of what clients ask for with the least that it
// could cost: reads by key with the bare SELECT, a commit to ten tables with
// ten synced files and one statement, a registration with reading the file and
// one statement.
func (b *bench) protocol(ctx context.Context) ([]string, error) {
	lines := []string{tableHead}
	add := func(r row) {
		lines = append(lines, r.String())
		b.log("%s", lines[len(lines)-1])
	}
	for _, measure := range []func(context.Context, func(row)) error{b.viewLoads, b.configs, b.multiTable, b.registers} {
		if err := measure(ctx, add); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

func bareSelect(count int) wire.Step {
	return get(func(i int) string { return "/select/" + strconv.Itoa(i) }, count, 200, "")
}

func (b *bench) viewLoads(ctx context.Context, add func(row)) error {
	const namespace = "views"
	if err := b.subject.createNamespace(ctx, namespace); err != nil {
		return err
	}
	for i := range benchViews {
		if _, err := b.subject.call(ctx, "POST", b.subject.namespacePath(namespace)+"/views", map[string]any{
			"name":       fmt.Sprintf("v%06d", i),
			"schema":     map[string]any{"type": "struct", "schema-id": 0, "fields": []any{map[string]any{"id": 1, "name": "n", "required": false, "type": "long"}}},
			"properties": map[string]string{},
			"view-version": map[string]any{
				"version-id": 1, "schema-id": 0, "timestamp-ms": 1_700_000_000_000, "summary": map[string]string{"engine-name": "spark"},
				"default-namespace": []string{namespace},
				"representations":   []any{map[string]any{"type": "sql", "sql": "SELECT n FROM t", "dialect": "spark"}},
			},
		}); err != nil {
			return err
		}
	}
	path := func(i int) string { return fmt.Sprintf("%s/views/v%06d", b.subject.namespacePath(namespace), i) }
	for _, workers := range []int{1, 32} {
		ours, top, err := b.pair(ctx, workers, get(path, benchViews, 200, ""), bareSelect(benchViews))
		if err != nil {
			return fmt.Errorf("load a view: %w", err)
		}
		add(row{"load a view, against `SELECT` by key", strconv.Itoa(workers), ours, top, ""})
	}
	return nil
}

func (b *bench) configs(ctx context.Context, add func(row)) error {
	path := func(int) string { return "/catalog/v1/config?warehouse=bench" }
	for _, workers := range []int{1, 32} {
		ours, top, err := b.pair(ctx, workers, get(path, 1, 200, ""), bareSelect(1))
		if err != nil {
			return fmt.Errorf("config: %w", err)
		}
		add(row{"config of a warehouse, against `SELECT` by key", strconv.Itoa(workers), ours, top, ""})
	}
	return nil
}

func (b *bench) multiTable(ctx context.Context, add func(row)) error {
	const namespace, tables = "multi", 8 * transactions
	if err := b.createMany(ctx, namespace, tables); err != nil {
		return err
	}
	size, err := b.documentSize(ctx, namespace, 0)
	if err != nil {
		return err
	}
	var value atomic.Int64
	for _, workers := range []int{1, 8} {
		ours, top, err := b.pair(ctx, workers,
			func(c *wire.Conn, worker, _ int) error {
				var changes []string
				for i := range transactions {
					changes = append(changes, fmt.Sprintf(`{"identifier":{"namespace":["%s"],"name":"t%06d"},"requirements":[],"updates":[{"action":"set-properties","updates":{"bench.value":"%d"}}]}`,
						namespace, worker*transactions+i, value.Add(1)))
				}
				a, err := c.Do(wire.Request{Method: "POST", Path: b.subject.prefix + "/transactions/commit", Body: []byte(`{"table-changes":[` + strings.Join(changes, ",") + `]}`)}, false)
				return expect(a, err, 204)
			},
			func(c *wire.Conn, worker, _ int) error {
				a, err := c.Do(wire.Request{Method: "POST", Path: fmt.Sprintf("/commit-many/%d/%d/%d", worker*transactions, transactions, size), Body: []byte("{}")}, false)
				return expect(a, err, 204)
			})
		if err != nil {
			return fmt.Errorf("commit to several tables: %w", err)
		}
		add(row{fmt.Sprintf("commit to %d tables, against %d synced files + one statement", transactions, transactions), strconv.Itoa(workers), ours, top, ""})
	}
	return nil
}

// registers writes metadata files as another catalog would have left them, and
// registers each once.
func (b *bench) registers(ctx context.Context, add func(row)) error {
	const namespace, workers = "registered", 8
	if err := b.subject.createNamespace(ctx, namespace); err != nil {
		return err
	}
	source := ids.NewV7(clock.System{})
	total := b.rounds * registered
	locations := make([]string, total)
	for i := range locations {
		folder := filepath.Join(b.warehouse, "foreign", strconv.Itoa(i))
		if err := os.MkdirAll(filepath.Join(folder, "metadata"), 0o755); err != nil {
			return err
		}
		locations[i] = filepath.Join(folder, "metadata", "00000-"+source.New().String()+".metadata.json")
		if err := os.WriteFile(locations[i], foreignDocument(source.New(), folder), 0o644); err != nil {
			return err
		}
	}
	var next, other atomic.Int64
	var mine, theirs []wire.Result
	for range b.rounds {
		r, err := wire.Run(ctx, b.subject.addr, workers, 0, registered, func(c *wire.Conn, _, _ int) error {
			i := next.Add(1) - 1
			a, err := c.Do(wire.Request{
				Method: "POST", Path: b.subject.namespacePath(namespace) + "/register",
				Body: fmt.Appendf(nil, `{"name":"r%06d","metadata-location":"file://%s"}`, i, locations[i]),
			}, false)
			return expect(a, err, 200)
		})
		if err == nil && r.Errors > 0 {
			err = fmt.Errorf("%d wrong answers, the first: %s", r.Errors, r.FirstBad)
		}
		if err != nil {
			return fmt.Errorf("register: %w", err)
		}
		mine = append(mine, r)
		if r, err = wire.Run(ctx, b.ceiling, workers, 0, registered, func(c *wire.Conn, _, _ int) error {
			i := other.Add(1) - 1
			a, err := c.Do(wire.Request{Method: "POST", Path: fmt.Sprintf("/read-commit/%d", rand.IntN(smallTables)), Body: []byte(locations[i])}, false)
			return expect(a, err, 200)
		}); err != nil {
			return err
		}
		theirs = append(theirs, r)
	}
	add(row{"register, against one file read + one statement", strconv.Itoa(workers), median(mine), median(theirs), ""})
	return nil
}

func foreignDocument(uuid ids.ID, folder string) []byte {
	var fields []string
	for f := 1; f <= 10; f++ {
		fields = append(fields, fmt.Sprintf(`{"id":%d,"name":"column_%d","required":false,"type":"string"}`, f, f))
	}
	return fmt.Appendf(nil, `{"format-version":2,"table-uuid":"%s","location":"file://%s","last-sequence-number":0,"last-updated-ms":1700000000000,`+
		`"last-column-id":10,"current-schema-id":0,"schemas":[{"type":"struct","schema-id":0,"fields":[%s]}],"default-spec-id":0,`+
		`"partition-specs":[{"spec-id":0,"fields":[]}],"last-partition-id":999,"default-sort-order-id":0,"sort-orders":[{"order-id":0,"fields":[]}],`+
		`"properties":{},"current-snapshot-id":-1,"refs":{},"snapshots":[],"statistics":[],"partition-statistics":[],"snapshot-log":[],"metadata-log":[]}`,
		uuid, folder, strings.Join(fields, ","))
}

// listAll compares the list of all names of a namespace, in one answer, with
// writing the same ready bytes.
func (b *bench) listAll(ctx context.Context, namespace string, tables int) (string, error) {
	path := b.subject.namespacePath(namespace) + "/tables"
	body, err := b.subject.call(ctx, "GET", path, nil)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(body), `"name":`); n < tables {
		return "", fmt.Errorf("the list has %d names of %d", n, tables)
	}
	if err := b.keep(ctx, "list", body); err != nil {
		return "", err
	}
	same := func(path string) func(int) string { return func(int) string { return path } }
	ours, top, err := b.pair(ctx, 1, get(same(path), 1, 200, ""), get(same("/bytes/list"), 1, 200, ""))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("\nAll %d names in one answer of %s, one client: %s, %.0f times the time of writing the same ready bytes.",
		tables, bytesText(len(body)), micros(ours.P50), float64(ours.P50)/float64(top.P50)), nil
}
