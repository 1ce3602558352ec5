package httpapi_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/icecore-catalog/icecore/authz/allowall"
	"github.com/icecore-catalog/icecore/httpapi"
)

// The parameters are Lakekeeper's, in any letter case, with purgeRequested as
// tables have it.
func TestNamespacesAreDroppedRecursivelyOnRequestOnly(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n","m"]}`), 200)
	expect(t, s.do("POST", s.prefix+"/namespaces/n%1Fm/tables", create("t")), 200)
	for _, query := range []string{"", "?recursive=false", "?recursive=", "?force=true", "?purge=true&force=True"} {
		refused(t, s.do("DELETE", s.prefix+"/namespaces/n"+query, ""), 409, "NamespaceNotEmptyException")
	}
	for _, query := range []string{"?recursive=yes", "?recursive=true&force=1", "?recursive=true&purge=x", "?recursive=true&recursive=false", "?recursive=true&purgeRequested=maybe"} {
		refused(t, s.do("DELETE", s.prefix+"/namespaces/n"+query, ""), 400, "BadRequestException")
	}
	if _, err := s.db.Owner.Exec(t.Context(), "UPDATE rm.tabular SET protected = true"); err != nil {
		t.Fatal(err)
	}
	refused(t, s.do("DELETE", s.prefix+"/namespaces/n%1Fm/tables/t", ""), 409, "ProtectedTabularDeletionWithoutForce")
	refused(t, s.do("DELETE", s.prefix+"/namespaces/n?Recursive=True", ""), 409, "ChildTabularProtected")
	refused(t, s.do("DELETE", s.prefix+"/namespaces/n%1Fm/tables/t?force=maybe", ""), 400, "BadRequestException")
	expect(t, s.do("DELETE", s.prefix+"/namespaces/n?Recursive=True&FORCE=true", ""), 204)
	refused(t, s.do("DELETE", s.prefix+"/namespaces/n?recursive=true", ""), 404, "NoSuchNamespaceException")
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", create("t")), 200)
	expect(t, s.do("DELETE", s.prefix+"/namespaces/n/tables/t?force=true", ""), 204)
	expect(t, s.do("DELETE", s.prefix+"/namespaces/n?recursive=true", ""), 204)
}

// The answer is the specification's UnregisterTableResult, whole; what it names
// can be registered again, here too.
func TestUnregisterAnswersTheLastStateAndForgets(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	made := expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", create("t")), 200)
	table := s.prefix + "/namespaces/n/tables/t"
	got := expect(t, s.do("POST", table+"/unregister", ""), 200)
	var was, is map[string]json.RawMessage
	for body, into := range map[string]*map[string]json.RawMessage{made.body: &was, got.body: &is} {
		if err := json.Unmarshal([]byte(body), into); err != nil {
			t.Fatal(err)
		}
	}
	if len(is) != 2 || string(is["metadata"]) != string(was["metadata"]) || string(is["metadata-location"]) != string(was["metadata-location"]) {
		t.Errorf("unregistered %s of %s", got.body, made.body)
	}
	if got.header.Get("ETag") != "" {
		t.Errorf("what cannot be loaded has the tag %s", got.header.Get("ETag"))
	}
	refused(t, s.do("POST", table+"/unregister", ""), 404, "NoSuchTableException")
	refused(t, s.do("POST", s.prefix+"/namespaces/none/tables/t/unregister", ""), 404, "NoSuchTableException")
	refused(t, s.do("POST", table, `{"requirements":[],"updates":[]}`), 404, "NoSuchTableException")
	back := fmt.Sprintf(`{"name":"back","metadata-location":%s}`, is["metadata-location"])
	expect(t, s.do("POST", s.prefix+"/namespaces/n/register", back), 200)
	// The same key gives the same answer, though the table is gone.
	key := []string{"Idempotency-Key", "018f3c1e-7b2a-7cde-8f01-00000000aaaa"}
	first := expect(t, s.do("POST", s.prefix+"/namespaces/n/tables/back/unregister", "", key...), 200)
	if again := expect(t, s.do("POST", s.prefix+"/namespaces/n/tables/back/unregister", "", key...), 200); again.body != first.body {
		t.Errorf("again: %s", again.body)
	}
	expect(t, s.do("POST", s.prefix+"/namespaces/n/register", back), 200)
	if _, err := s.db.Owner.Exec(t.Context(), "UPDATE rm.tabular SET protected = true"); err != nil {
		t.Fatal(err)
	}
	refused(t, s.do("POST", s.prefix+"/namespaces/n/tables/back/unregister", ""), 409, "ProtectedTabularDeletionWithoutForce")
	expect(t, s.do("POST", s.prefix+"/namespaces/n/tables/back/unregister?force=true", ""), 200)
}

// An instance that runs jobs answers those who watch it and nobody else.
func TestAWorkerServesItsProbesAlone(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	h := s.with(t, allowall.Authorizer{}, func(d *httpapi.Deps) { d.ProbesOnly = true })
	for _, path := range []string{"/", "/health", "/ready", "/metrics"} {
		expect(t, do(h, "GET", path, ""), 200)
	}
	for _, path := range []string{"/catalog/v1/config?warehouse=demo", s.prefix + "/namespaces", "/management/v1/info", "/catalog/w/demo/v1/config"} {
		refused(t, do(h, "GET", path, ""), 404, "BadRequestException")
	}
}
