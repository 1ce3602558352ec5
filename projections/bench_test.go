package projections_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/pgtest"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/projections/document"
)

// fill makes namespaces with tables each, a hundred tables in a commit.
func (w *world) fill(wh *object, namespaces, tables int) []*object {
	w.Helper()
	var all []*object
	for i := range namespaces {
		ns := w.newNamespace(wh, fmt.Sprintf("namespace%d", i))
		for done := 0; done < tables; {
			c := &eventstore.Commit{ID: testIDs.New(), Streams: []eventstore.Stream{{ID: ns.id, Mode: eventstore.Held}}}
			for ; done < tables && len(c.Records) < 100; done++ {
				s := tableStep(ns, fmt.Sprintf("table%d", done))
				s.held = nil
				one := commitOf(w, s)
				c.Streams = append(c.Streams, one.Streams...)
				c.Records = append(c.Records, one.Records...)
				s.on.version, s.on.pointer, s.on.mark = 1, s.pointer, one.Records[0].ID
				all = append(all, s.on)
			}
			if _, err := w.store.Append(w.Context(), c); err != nil {
				w.Fatal(err)
			}
		}
	}
	return all
}

// preparedPool is a pool as the server makes it for reading.
func (w *world) preparedPool(conns int32) *pgxpool.Pool {
	w.Helper()
	config, err := pgxpool.ParseConfig(w.db.URL(pgtest.RoleApp))
	if err != nil {
		w.Fatal(err)
	}
	config.MaxConns = conns
	config.AfterConnect = projections.PrepareConn
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(pool.Close)
	return pool
}

// BenchmarkResolve measures loads of small tables against the bare SELECT of a
// document by its key, both by a number of clients on the same pool.
func BenchmarkResolve(b *testing.B) {
	w := newWorld(b)
	_, project := w.bootstrap()
	wh := w.newWarehouse(project, "demo")
	tables := w.fill(wh, 100, 100)
	if _, err := w.db.Owner.Exec(b.Context(), "ANALYZE"); err != nil {
		b.Fatal(err)
	}
	doc, err := document.Pack(make([]byte, 2048))
	if err != nil {
		b.Fatal(err)
	}
	for _, t := range tables {
		if err := document.Save(b.Context(), w.db.App, t.id, t.mark, &doc); err != nil {
			b.Fatal(err)
		}
	}
	pool := w.preparedPool(16)
	r := projections.NewResolver(pool, projections.Options{})
	bare := func(t *object) error {
		var body []byte
		return pool.QueryRow(b.Context(), "SELECT body FROM cache.document WHERE object_id = $1 AND mark = $2", [16]byte(t.id), [16]byte(t.mark)).Scan(&body)
	}
	resolve := func(hint bool) func(*object) error {
		return func(t *object) error {
			q := projections.Query{Warehouse: wh.id, Namespace: t.name.Namespace, Name: t.name.Name}
			if hint {
				q.Hint = t.mark
			}
			facts, err := r.Resolve(b.Context(), q)
			if err == nil && (!facts[0].Table.Exists || facts[0].Table.Mark != t.mark || facts[0].Table.Fresh == hint) {
				err = fmt.Errorf("wrong facts %+v", facts[0].Table)
			}
			return err
		}
	}
	for _, clients := range []int{1, 32, 128} {
		for _, form := range []struct {
			name string
			load func(*object) error
		}{{"bare", bare}, {"hinted", resolve(true)}, {"cold", resolve(false)}} {
			b.Run(fmt.Sprintf("%s/clients=%d", form.name, clients), func(b *testing.B) {
				run(b, clients, func(random *rand.Rand) error { return form.load(tables[random.IntN(len(tables))]) })
			})
		}
	}
}

// run spreads b.N operations over clients.
func run(b *testing.B, clients int, op func(*rand.Rand) error) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(b.N))
	var group sync.WaitGroup
	for c := range clients {
		group.Add(1)
		go func() {
			defer group.Done()
			random := rand.New(rand.NewPCG(uint64(c), 7))
			for left.Add(-1) >= 0 {
				if err := op(random); err != nil {
					b.Error(err)
					return
				}
			}
		}()
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}

// BenchmarkReplay measures how fast the log is carried into empty tables: a
// table's life of one creation and three commits, among a few drops.
func BenchmarkReplay(b *testing.B) {
	w := newWorld(b)
	_, project := w.bootstrap()
	wh := w.newWarehouse(project, "demo")
	tables := w.fill(wh, 10, 1000)
	for range 3 {
		for chunk := range slices.Chunk(tables, 500) {
			steps := make([]step, len(chunk))
			for i, t := range chunk {
				steps[i] = commitStep(t, nil, nil)
				steps[i].event.(*catalog.TableCommitted).Updates = json.RawMessage(typicalUpdates)
			}
			w.must(steps...)
		}
	}
	for _, t := range tables[:500] {
		w.must(dropStep(t))
	}
	w.drain()
	b.ResetTimer()
	var events int64
	for range b.N {
		n, err := projections.ReplayAll(b.Context(), projections.CheckConfig{Pool: w.db.App, Log: w.store})
		if err != nil {
			b.Fatal(err)
		}
		events += n
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}

// typicalUpdates is what PyIceberg sends for an append.
const typicalUpdates = `[{"action":"add-snapshot","snapshot":{"snapshot-id":3051729675574597004,"parent-snapshot-id":3051729675574597003,"sequence-number":2,"timestamp-ms":1717000000400,"manifest-list":"file:///srv/demo/orders/metadata/snap-3051729675574597004-0-018f3c1e-7b2a-7cde-8f01-000000000031.avro","summary":{"operation":"append","added-files-size":"1234","added-data-files":"1","added-records":"3","total-data-files":"7","total-delete-files":"0","total-records":"21","total-files-size":"8638","total-position-deletes":"0","total-equality-deletes":"0"},"schema-id":0}},{"action":"set-snapshot-ref","ref-name":"main","type":"branch","snapshot-id":3051729675574597004}]`
