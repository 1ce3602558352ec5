package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/icecore-catalog/icecore/bench/wire"
)

// appends is how many acknowledged appends one measurement of contention
// makes: enough for every writer to get through, few enough for the document
// to stay small beside the cost of the race.
const appends = 400

// contender is one writer of a hot table: load, append on what was loaded, and
// on 409 at once from the start, as Iceberg's clients do with no pause between.
type contender struct {
	acked []acked
	posts int
}

type acked struct{ id, parent int64 }

// contention measures writers that all append to one table. Each
// acknowledgement is checked: it is in the table's history, and no two were
// given on one parent.
func (b *bench) contention(ctx context.Context) ([]string, error) {
	const namespace = "contention"
	writers := []int{1, 8, 32, 64}
	if err := b.createMany(ctx, namespace, len(writers)); err != nil {
		return nil, err
	}
	lines := []string{"| writers | acknowledged/s | against one writer | POSTs accepted | fewest and most of a writer | target |\n| ---: | ---: | ---: | ---: | ---: | --- |"}
	var alone float64
	for i, n := range writers {
		team := make([]contender, n)
		var ids, done atomic.Int64
		began := time.Now()
		// The limit is on steps; a step ends with an acknowledgement.
		r, err := wire.Run(ctx, b.subject.addr, n, 0, appends, func(c *wire.Conn, worker, _ int) error {
			err := b.appendOnce(c, &team[worker], namespace, i, &ids)
			if err == nil {
				done.Add(1)
			}
			return err
		})
		if err == nil && r.Errors > 0 {
			err = fmt.Errorf("%d wrong answers, the first: %s", r.Errors, r.FirstBad)
		}
		if err != nil {
			return nil, fmt.Errorf("%d writers: %w", n, err)
		}
		rate := float64(done.Load()) / time.Since(began).Seconds()
		if n == 1 {
			alone = rate
		}
		posts, fewest, most := 0, appends, 0
		for _, w := range team {
			posts += w.posts
			fewest, most = min(fewest, len(w.acked)), max(most, len(w.acked))
		}
		if err := b.checkAppends(ctx, namespace, i, team); err != nil {
			return nil, fmt.Errorf("%d writers: %w", n, err)
		}
		lines = append(lines, fmt.Sprintf("| %d | %.0f | **%.2f** | %.0f %% | %d, %d | ≥ 1 |", n, rate, rate/alone, 100*float64(appends)/float64(posts), fewest, most))
		b.log("%s", lines[len(lines)-1])
	}
	return lines, nil
}

// appendOnce tries until one append is acknowledged.
func (b *bench) appendOnce(c *wire.Conn, w *contender, namespace string, table int, ids *atomic.Int64) error {
	path := b.subject.tablePath(namespace, table)
	for {
		a, err := c.Do(wire.Request{Method: "GET", Path: path}, true)
		if err := expect(a, err, 200); err != nil {
			return fmt.Errorf("load: %w", err)
		}
		parent, sequence := int64(-1), member(a.Body, "last-sequence-number")
		if member(a.Body, "last-sequence-number") > 0 {
			parent = member(a.Body, "current-snapshot-id")
		}
		id := 1_000_000_000_000 + ids.Add(1)
		w.posts++
		a, err = c.Do(wire.Request{Method: "POST", Path: path, Body: appendBody(id, parent, sequence+1)}, true)
		if err != nil {
			return err
		}
		switch a.Status {
		case 200:
			w.acked = append(w.acked, acked{id, parent})
			return nil
		case 409:
		default:
			return fmt.Errorf("append: %d %.200s", a.Status, a.Body)
		}
	}
}

func appendBody(id, parent, sequence int64) []byte {
	expected, of := "null", ""
	if parent >= 0 {
		expected, of = strconv.FormatInt(parent, 10), fmt.Sprintf(`"parent-snapshot-id":%d,`, parent)
	}
	return fmt.Appendf(nil, `{"requirements":[{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":%s}],"updates":[`+
		`{"action":"add-snapshot","snapshot":{"snapshot-id":%d,%s"sequence-number":%d,"timestamp-ms":%d,"manifest-list":"file:///nowhere/snap.avro","schema-id":0,"summary":{"operation":"append"}}},`+
		`{"action":"set-snapshot-ref","ref-name":"main","type":"branch","snapshot-id":%d}]}`, expected, id, of, sequence, time.Now().UnixMilli(), id)
}

// member reads a number from a document without parsing it, as fast as the
// server deserves: a slow client would hide the race.
func member(document []byte, name string) int64 {
	_, rest, found := bytes.Cut(document, []byte(`"`+name+`":`))
	if !found {
		return 0
	}
	end := bytes.IndexAny(rest, ",}")
	n, err := strconv.ParseInt(string(rest[:max(end, 0)]), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// checkAppends holds the acknowledgements against the table.
func (b *bench) checkAppends(ctx context.Context, namespace string, table int, team []contender) error {
	body, err := b.subject.call(ctx, "GET", b.subject.tablePath(namespace, table), nil)
	if err != nil {
		return err
	}
	var state struct {
		Metadata struct {
			Snapshots []struct {
				ID     int64  `json:"snapshot-id"`
				Parent *int64 `json:"parent-snapshot-id"`
			} `json:"snapshots"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(body, &state); err != nil {
		return err
	}
	parents := map[int64]int64{}
	for _, s := range state.Metadata.Snapshots {
		parents[s.ID] = -1
		if s.Parent != nil {
			parents[s.ID] = *s.Parent
		}
	}
	onParent := map[int64]bool{}
	count := 0
	for _, w := range team {
		for _, a := range w.acked {
			count++
			parent, there := parents[a.id]
			switch {
			case !there:
				return fmt.Errorf("acknowledged snapshot %d is lost", a.id)
			case parent != a.parent:
				return fmt.Errorf("snapshot %d stands on %d instead of %d", a.id, parent, a.parent)
			case onParent[parent]:
				return fmt.Errorf("two appends were acknowledged on snapshot %d", parent)
			}
			onParent[parent] = true
		}
	}
	if count != len(parents) {
		return fmt.Errorf("%d snapshots, %d acknowledged", len(parents), count)
	}
	return nil
}
