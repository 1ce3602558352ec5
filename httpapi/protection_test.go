package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestProtectionIsSetAndShown(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", create("t")), 200)
	expect(t, s.do("POST", s.prefix+"/namespaces/n/views", createView("v")), 200)
	for kind, id := range map[string]string{
		"namespace": s.anyID("SELECT namespace_id::text FROM rm.namespace"),
		"table":     s.anyID("SELECT tabular_id::text FROM rm.tabular WHERE kind = 'table'"),
		"view":      s.anyID("SELECT tabular_id::text FROM rm.tabular WHERE kind = 'view'"),
	} {
		path := s.warehouse() + "/" + kind + "/" + id + "/protection"
		was := expect(t, s.do("GET", path, ""), 200)
		if doc := decoded(t, was.body); doc["protected"] != false || doc["updated_at"] == nil {
			t.Errorf("%s: %s", kind, was.body)
		}
		set := expect(t, s.do("POST", path, `{"protected":true}`), 200)
		for range 2 { // nothing changes a second time
			if got := expect(t, s.do("POST", path, `{"protected":true}`), 200); got.body != set.body {
				t.Errorf("%s: %s, then %s", kind, set.body, got.body)
			}
			if got := expect(t, s.do("GET", path, ""), 200); got.body != set.body {
				t.Errorf("%s: set %s, shown %s", kind, set.body, got.body)
			}
		}
		if doc := decoded(t, set.body); doc["protected"] != true || doc["updated_at"] == nil {
			t.Errorf("%s: %s", kind, set.body)
		}
		refused(t, s.do("POST", path, `{}`), 400, "BadRequestException")
		refused(t, s.do("POST", path, `{"protected":"yes"}`), 400, "BadRequestException")
	}
	var events int
	if err := s.db.App.QueryRow(t.Context(), "SELECT count(*) FROM es.event WHERE type LIKE '%.protection-updated'").Scan(&events); err != nil || events != 3 {
		t.Errorf("%d events, %v", events, err)
	}
	// The table goes on as before, from the same document, and only drops are refused.
	expect(t, s.do("GET", s.prefix+"/namespaces/n/tables/t", ""), 200)
	expect(t, s.do("POST", s.prefix+"/namespaces/n/tables/t", `{"updates":[{"action":"set-properties","updates":{"a":"b"}}]}`), 200)
	for _, path := range []string{"/namespaces/n/tables/t", "/namespaces/n/views/v"} {
		if got := s.do("DELETE", s.prefix+path, ""); got.status < 400 || got.status > 499 {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	table := s.warehouse() + "/table/" + s.anyID("SELECT tabular_id::text FROM rm.tabular WHERE kind = 'table'") + "/protection"
	expect(t, s.do("POST", table, `{"protected":false}`), 200)
	expect(t, s.do("DELETE", s.prefix+"/namespaces/n/tables/t?purgeRequested=false", ""), 204)
	refused(t, s.do("GET", table, ""), 404, "NoSuchTableException")
}

// A client may know no other id than the one in the table's metadata.
func TestProtectionTakesTheTablesOwnUUID(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	s.dropTable(t, "gone")
	expect(t, s.do("POST", s.prefix+"/namespaces/n/register", fmt.Sprintf(`{"name":"back","metadata-location":%q}`, s.dropped)), 200)
	id, uuid := s.anyID("SELECT tabular_id::text FROM rm.tabular"), s.anyID("SELECT table_uuid::text FROM rm.tabular")
	if id == uuid {
		t.Fatal("the table has one id only")
	}
	expect(t, s.do("POST", s.warehouse()+"/table/"+uuid+"/protection", `{"protected":true}`), 200)
	for _, name := range []string{id, uuid, strings.ToUpper(uuid)} {
		if got := expect(t, s.do("GET", s.warehouse()+"/table/"+name+"/protection", ""), 200); !strings.Contains(got.body, `"protected":true`) {
			t.Errorf("%s: %s", name, got.body)
		}
	}
}

func TestProtectionOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", create("t")), 200)
	namespace, table := s.anyID("SELECT namespace_id::text FROM rm.namespace"), s.anyID("SELECT tabular_id::text FROM rm.tabular")
	for path, kind := range map[string]string{
		"/namespace/" + table: "NoSuchNamespaceException", "/table/" + namespace: "NoSuchTableException", "/view/" + table: "NoSuchViewException",
		"/namespace/x": "NoSuchNamespaceException", "/table/x": "NoSuchTableException", "/view/x": "NoSuchViewException",
		"/table/0190a000-0000-7000-8000-0000000000ee": "NoSuchTableException",
	} {
		for method, body := range map[string]string{"GET": "", "POST": `{"protected":true}`} {
			refused(t, s.do(method, s.warehouse()+path+"/protection", body), 404, kind)
		}
	}
	expect(t, s.do("POST", s.warehouse()+"/deactivate", ""), 200)
	refused(t, s.do("GET", s.warehouse()+"/table/"+table+"/protection", ""), 404, "NoSuchWarehouseException")
}
