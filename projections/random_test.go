package projections_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/projections"
)

// TestRandomHistoriesReplayAlike does random things to few names, so that they
// collide, and finds the same rows by replay in pages of any size. Names and
// places pass from object to object within a page, which the merging of changes
// must survive, with unique keys in place too.
func TestRandomHistoriesReplayAlike(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1))
			w := newWorld(t)
			_, project := w.bootstrap()
			wh := w.newWarehouse(project, "demo")
			var namespaces, tables []*object
			remove := func(list []*object, o *object) []*object {
				for i := range list {
					if list[i] == o {
						return append(list[:i:i], list[i+1:]...)
					}
				}
				return list
			}
			pick := func(list []*object) *object {
				if len(list) == 0 {
					return nil
				}
				return list[random.IntN(len(list))]
			}
			name := func() string { return fmt.Sprintf("N%d", random.IntN(5)) }
			place := func() string { return fmt.Sprintf("file//srv/%d/", random.IntN(8)) }
			done, refused := 0, 0
			for range 160 {
				var s step
				var after func()
				ns, table := pick(namespaces), pick(tables)
				switch n := random.IntN(20); {
				case ns == nil || n < 3:
					parent := wh
					if ns != nil && random.IntN(2) == 0 {
						parent = ns
					}
					s = namespaceStep(parent, name())
					after = func() { namespaces = append(namespaces, s.on) }
				case n < 5:
					s = step{on: ns, close: true, event: &catalog.NamespaceDropped{Namespace: ns.path}}
					after = func() { namespaces = remove(namespaces, ns) }
				case table == nil || n < 9:
					s = tableStep(ns, name(), place())
					after = func() { tables = append(tables, s.on) }
				case n < 12:
					s = dropStep(table)
					after = func() { tables = remove(tables, table) }
				case n < 16:
					s = renameStep(table, ns, name())
					after = func() { table.name = s.event.(*catalog.TableRenamed).To }
				case n < 18:
					to := []string{place()}
					added, removed := catalog.ClaimsDiff(table.claims, to)
					s = commitStep(table, added, removed)
					after = func() { table.claims = to }
				default:
					s = commitStep(table, nil, nil)
					after = func() {}
				}
				err := w.try(s)
				var constraint *eventstore.ConstraintError
				switch {
				case err == nil:
					done++
					after()
				case errors.As(err, &constraint):
					refused++
				default:
					t.Fatalf("%T: %v", s.event, err)
				}
			}
			if done < 60 || refused < 10 {
				t.Errorf("%d commits, %d refused: the names do not collide enough", done, refused)
			}
			w.drain()
			for _, pageSize := range []int{4, 25, 5000} {
				for _, f := range w.compare(pageSize).Findings {
					t.Errorf("pages of %d: %s", pageSize, f)
				}
			}
			n, err := projections.ReplayKeyed(t.Context(), projections.CheckConfig{Pool: w.db.Owner, Log: w.store, PageSize: 1 + random.IntN(40)})
			if err != nil || n < int64(done) {
				t.Errorf("with unique keys: %d events, %v", n, err)
			}
		})
	}
}
