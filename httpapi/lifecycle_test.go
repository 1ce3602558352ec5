package httpapi_test

import (
	"testing"
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
