package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/projections/projectionstest"
)

// told counts the events of a type.
func (s *stack) told(t testing.TB, name string) (n int) {
	t.Helper()
	if err := s.db.Owner.QueryRow(t.Context(), "SELECT count(*) FROM es.event WHERE type = 'dev.icecore.' || $1", name).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Many clients want the same at the same moment: one gets it, the others are
// told so in the type that their client branches on, and the log tells it once.
func TestRacesOfEveryKindAreToldOnce(t *testing.T) {
	t.Parallel()
	const n = 8
	create200, lost409 := map[string]int{"200": 1, "409 AlreadyExistsException": n - 1}, map[string]int{"204": 1, "409 AlreadyExistsException": n - 1}
	prepare := func(t *testing.T, s *stack) (table, view string) {
		t.Helper()
		expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
		table = metadataLocation(t, expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", create("gone")), 200))
		expect(t, s.do("DELETE", s.prefix+"/namespaces/n/tables/gone", ""), 204)
		view = metadataLocation(t, expect(t, s.do("POST", s.prefix+"/namespaces/n/views", createView("lost")), 200))
		expect(t, s.do("DELETE", s.prefix+"/namespaces/n/views/lost", ""), 204)
		expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", create("t")), 200)
		expect(t, s.do("POST", s.prefix+"/namespaces/n/views", createView("v")), 200)
		for i := range n {
			expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", create(fmt.Sprint("t", i))), 200)
		}
		return table, view
	}
	for name, of := range map[string]struct {
		request func(s *stack, table, view string, i int) answer
		want    map[string]int
		event   string
		told    int
	}{
		"views of one name": {func(s *stack, _, _ string, i int) answer {
			return s.do("POST", s.prefix+"/namespaces/n/views", createView([]string{"new", "NEW"}[i%2]))
		}, create200, "view.created", 3},
		"tables and views of one name": {func(s *stack, _, _ string, i int) answer {
			if i%2 == 0 {
				return s.do("POST", s.prefix+"/namespaces/n/views", createView("new"))
			}
			return s.do("POST", s.prefix+"/namespaces/n/tables", create("new"))
		}, create200, "", 0},
		"creates by commit": {func(s *stack, _, _ string, _ int) answer {
			return s.do("POST", s.prefix+"/namespaces/n/tables/new", commit(`{"type":"assert-create"}`, `{"action":"add-schema","schema":`+schema+`},{"action":"set-current-schema","schema-id":-1},{"action":"add-spec","spec":{"spec-id":0,"fields":[]}},{"action":"set-default-spec","spec-id":-1},{"action":"add-sort-order","sort-order":{"order-id":0,"fields":[]}},`+
				`{"action":"set-default-sort-order","sort-order-id":-1},{"action":"set-location","location":"file://`+s.root+`/demo/n/new"}`))
		}, map[string]int{"200": 1, "409 CommitFailedException": n - 1}, "table.created", n + 3},
		"drops of a view": {func(s *stack, _, _ string, _ int) answer {
			return s.do("DELETE", s.prefix+"/namespaces/n/views/v", "")
		}, map[string]int{"204": 1, "404 NoSuchViewException": n - 1}, "view.dropped", 2},
		"drops, with and without purge": {func(s *stack, _, _ string, i int) answer {
			return s.do("DELETE", s.prefix+"/namespaces/n/tables/t?purgeRequested="+[]string{"true", "false"}[i%2], "")
		}, map[string]int{"204": 1, "404 NoSuchTableException": n - 1}, "table.dropped", 2},
		"unregistrations": {func(s *stack, _, _ string, _ int) answer {
			return s.do("POST", s.prefix+"/namespaces/n/tables/t/unregister", "")
		}, map[string]int{"200": 1, "404 NoSuchTableException": n - 1}, "", 0},
		"registrations of one file": {func(s *stack, table, _ string, i int) answer {
			return s.do("POST", s.prefix+"/namespaces/n/register", fmt.Sprintf(`{"name":"r%d","metadata-location":%q}`, i, table))
		}, create200, "table.registered", 1},
		"registrations of one name": {func(s *stack, table, _ string, _ int) answer {
			return s.do("POST", s.prefix+"/namespaces/n/register", fmt.Sprintf(`{"name":"r","metadata-location":%q}`, table))
		}, create200, "table.registered", 1},
		"registrations of one view": {func(s *stack, _, view string, i int) answer {
			return s.do("POST", s.prefix+"/namespaces/n/register-view", fmt.Sprintf(`{"name":"r%d","metadata-location":%q}`, i, view))
		}, create200, "view.registered", 1},
		"renames to one name": {func(s *stack, _, _ string, i int) answer {
			return s.do("POST", s.prefix+"/tables/rename", fmt.Sprintf(`{"source":{"namespace":["n"],"name":"t%d"},"destination":{"namespace":["n"],"name":"one"}}`, i))
		}, lost409, "table.renamed", 1},
		"renames of one table": {func(s *stack, _, _ string, i int) answer {
			return s.do("POST", s.prefix+"/tables/rename", fmt.Sprintf(`{"source":{"namespace":["n"],"name":"t"},"destination":{"namespace":["n"],"name":"u%d"}}`, i))
		}, map[string]int{"204": 1, "404 NoSuchTableException": n - 1}, "table.renamed", 1},
		"properties of a namespace": {func(s *stack, _, _ string, i int) answer {
			return s.do("POST", s.prefix+"/namespaces/n/properties", fmt.Sprintf(`{"updates":{"k%d":"v"}}`, i))
		}, map[string]int{"200": n}, "namespace.properties-updated", n},
		"appends to branches of their own": {func(s *stack, _, _ string, i int) answer {
			name := fmt.Sprint("b", i)
			return s.do("POST", s.prefix+"/namespaces/n/tables/t", commit(`{"type":"assert-ref-snapshot-id","ref":"`+name+`","snapshot-id":null}`, `{"action":"set-properties","updates":{"`+name+`":"x"}}`))
		}, map[string]int{"200": n}, "table.committed", n},
		"first appends": {func(s *stack, _, _ string, i int) answer {
			return s.do("POST", s.prefix+"/namespaces/n/tables/t", commit(`{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":null}`, snapshot(i+1, "", 1)+","+branch("main", i+1)))
		}, map[string]int{"200": 1, "409 CommitFailedException": n - 1}, "table.committed", 1},
		"one keyed request, sent again and again": {func(s *stack, _, _ string, _ int) answer {
			return s.do("POST", s.prefix+"/namespaces/n/tables", create("keyed"), "Idempotency-Key", "0190a000-0000-7000-8000-0000000000aa")
		}, map[string]int{"200": n}, "table.created", n + 3},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			s := newStack(t)
			table, view := prepare(t, s)
			got := together(n, func(i int) answer { return of.request(s, table, view, i) })
			if fmt.Sprint(got) != fmt.Sprint(of.want) {
				t.Errorf("answers %v, want %v", got, of.want)
			}
			if of.event != "" {
				if told := s.told(t, of.event); told != of.told {
					t.Errorf("%d events %s, want %d", told, of.event, of.told)
				}
			}
			projectionstest.RequireRebuildEqual(t, s.db.App)
		})
	}
}
