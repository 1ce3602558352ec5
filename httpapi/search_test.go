package httpapi_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/allowall"
	"github.com/icecore-catalog/icecore/authz/authztest"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// follow gives positions to what was appended and lets the read models that
// follow the log catch up.
func (s *stack) follow(t *testing.T) {
	t.Helper()
	store, err := eventstore.New(t.Context(), eventstore.Config{Pool: s.db.App})
	if err != nil {
		t.Fatal(err)
	}
	q := store.Sequencer()
	defer q.Close()
	for worked := true; worked; {
		if worked, err = q.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := projections.NewFollower(s.db.App, store).CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// foundNames are the names of a search's answer, nearest first.
func foundNames(t *testing.T, body string) string {
	t.Helper()
	tabulars, _ := decoded(t, body)["tabulars"].([]any)
	list := make([]string, len(tabulars))
	for i, one := range tabulars {
		list[i], _ = one.(map[string]any)["tabular-name"].(string)
	}
	return strings.Join(list, ",")
}

func TestSearchByNameAndByID(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["Sales"]}`), 200)
	for i := range 12 {
		expect(t, s.do("POST", s.prefix+"/namespaces/Sales/tables", create(fmt.Sprintf("orders_%02d", i))), 200)
	}
	expect(t, s.do("POST", s.prefix+"/namespaces/Sales/views", createView("Top_Customers")), 200)
	s.follow(t)
	search := func(text string) string {
		t.Helper()
		return expect(t, s.do("POST", s.warehouse()+"/search-tabular", `{"search":`+quoted(text)+`}`), 200).body
	}
	got := search("sales.ORDERS_07")
	if list := strings.Split(foundNames(t, got), ","); list[0] != "orders_07" || len(list) != 10 {
		t.Errorf("%v", list)
	}
	if first := decoded(t, got)["tabulars"].([]any)[0].(map[string]any); first["distance"] != 0.0 || fmt.Sprint(first["namespace-name"]) != "[Sales]" {
		t.Errorf("the same path: %v", first)
	}
	if got := search("top custmer"); !strings.HasPrefix(foundNames(t, got), "Top_Customers") || !strings.Contains(got, `{"type":"view","id":"`) {
		t.Error(got)
	}
	for _, nothing := range []string{"", "???", "zzzzqqq", strings.Repeat("x", 64) + "orders"} {
		if got := search(nothing); got != `{"tabulars":[]}` {
			t.Errorf("%q: %s", nothing, got)
		}
	}
	table := s.anyID("SELECT tabular_id::text FROM rm.tabular WHERE name = 'orders_03'")
	if got := search(strings.ToUpper(table)); foundNames(t, got) != "orders_03" || strings.Contains(got, "distance") {
		t.Error(got)
	}
	if got := foundNames(t, search(s.anyID("SELECT namespace_id::text FROM rm.namespace"))); len(strings.Split(got, ",")) != 10 {
		t.Errorf("of the namespace %s", got)
	}
	refused(t, s.do("POST", s.warehouse()+"/search-tabular", `{}`), 400, "BadRequestException")
	refused(t, s.do("POST", s.warehouse()+"/search-tabular", `{"search":1}`), 400, "BadRequestException")

	// What the caller may not see is not found, and does not take the place of
	// what he may.
	hidden := map[string]bool{}
	for i := range 11 {
		hidden[s.anyID(fmt.Sprintf("SELECT tabular_id::text FROM rm.tabular WHERE name = 'orders_%02d'", i))] = true
	}
	h := s.with(t, hiding{allowall.Authorizer{}, hidden})
	if got := foundNames(t, expect(t, do(h, "POST", s.warehouse()+"/search-tabular", `{"search":"orders"}`), 200).body); got != "orders_11,Top_Customers" && got != "orders_11" {
		t.Errorf("visible: %s", got)
	}
	refused(t, do(s.with(t, authztest.DenyAll{}), "POST", s.warehouse()+"/search-tabular", `{"search":"orders"}`), 404, "NoSuchWarehouseException")

	expect(t, s.do("POST", s.warehouse()+"/deactivate", ""), 200)
	refused(t, s.do("POST", s.warehouse()+"/search-tabular", `{"search":"orders"}`), 404, "NoSuchWarehouseException")
}

// hiding allows everything and leaves some objects out of lists.
type hiding struct {
	authz.Authorizer
	hidden map[string]bool
}

func (h hiding) Filter(ctx context.Context, actor authz.Actor, parent authz.Facts, entity string, children []ids.ID) ([]ids.ID, error) {
	list, err := h.Authorizer.Filter(ctx, actor, parent, entity, children)
	return slices.DeleteFunc(slices.Clone(list), func(id ids.ID) bool { return h.hidden[id.String()] }), err
}

func TestWarehouseStatisticsArePaged(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.spoilt = true // hours that have not passed
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	s.follow(t)
	for i := range 3 {
		expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", create(fmt.Sprintf("t%d", i))), 200)
		s.follow(t)
		if _, err := s.db.App.Exec(t.Context(), "UPDATE rm.warehouse_statistics SET until = until - interval '1 hour'"); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, s.do("POST", s.prefix+"/namespaces/n/views", createView("v")), 200)
	s.follow(t)
	got := expect(t, s.do("GET", s.warehouse()+"/statistics", ""), 200)
	doc := decoded(t, got.body)
	stats, _ := doc["stats"].([]any)
	var held []string
	for _, one := range stats {
		row := one.(map[string]any)
		held = append(held, fmt.Sprint(row["number-of-tables"], "/", row["number-of-views"]))
		if row["timestamp"] == nil || row["updated-at"] == nil {
			t.Error(row)
		}
	}
	if strings.Join(held, " ") != "3/1 3/0 2/0 1/0" || doc["next-page-token"] != nil || !strings.HasSuffix(s.warehouse(), doc["warehouse-ident"].(string)) {
		t.Errorf("%v in %s", held, got.body)
	}
	var paged []any
	token := ""
	for range 10 {
		doc := decoded(t, expect(t, s.do("GET", s.warehouse()+"/statistics?page_size=3&page_token="+token, ""), 200).body)
		paged = append(paged, doc["stats"].([]any)...)
		if token, _ = doc["next-page-token"].(string); token == "" {
			break
		}
	}
	if fmt.Sprint(paged) != fmt.Sprint(stats) {
		t.Errorf("paged %v, whole %v", paged, stats)
	}
	for _, bad := range []string{"?page_size=0", "?page_size=x", "?page_token=x"} {
		refused(t, s.do("GET", s.warehouse()+"/statistics"+bad, ""), 400, "BadRequestException")
	}
	refused(t, s.do("GET", "/management/v1/warehouse/0190a000-0000-7000-8000-00000000000f/statistics", ""), 404, "NoSuchWarehouseException")
}
