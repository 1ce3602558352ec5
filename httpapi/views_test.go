package httpapi_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/authz/allowall"
)

// createView is a CreateViewRequest for one dialect; more are further members.
func createView(name string, more ...string) string {
	return fmt.Sprintf(`{"name":%s,"schema":%s,"view-version":%s,"properties":{}%s}`, quoted(name), schema, viewVersion(1, 0, "spark", "select * from t"), strings.Join(more, ""))
}

// viewVersion is a version; queries are dialect and SQL by turns.
func viewVersion(id, schemaID int, queries ...string) string {
	var list []string
	for i := 0; i < len(queries); i += 2 {
		list = append(list, fmt.Sprintf(`{"type":"sql","sql":%s,"dialect":%s}`, quoted(queries[i+1]), quoted(queries[i])))
	}
	return fmt.Sprintf(`{"version-id":%d,"timestamp-ms":1700000000000,"schema-id":%d,"summary":{"engine-name":"spark"},"default-namespace":["ns"],"representations":[%s]}`,
		id, schemaID, strings.Join(list, ","))
}

// replace is a commit that makes a version the current one.
func replace(requirements, version string) string {
	return `{"identifier":{"namespace":["x"],"name":"ignored"},"requirements":[` + requirements + `],"updates":[{"action":"add-view-version","view-version":` + version +
		`},{"action":"set-current-view-version","view-version-id":-1}]}`
}

type loadedView struct {
	MetadataLocation string `json:"metadata-location"`
	Metadata         struct {
		UUID           string `json:"view-uuid"`
		Location       string
		CurrentVersion int `json:"current-version-id"`
		Versions       []struct {
			ID     int `json:"version-id"`
			Schema int `json:"schema-id"`
		}
		Properties map[string]string
	}
	Config map[string]string
}

func view(t testing.TB, a answer) loadedView {
	t.Helper()
	var v loadedView
	if err := json.Unmarshal([]byte(expect(t, a, 200).body), &v); err != nil || v.Metadata.UUID == "" || v.Config == nil {
		t.Fatalf("no view in %s: %v", a.body, err)
	}
	return v
}

// message fails unless the answer is that error with that very text.
func message(t testing.TB, a answer, status int, kind, text string) {
	t.Helper()
	got, message := errorOf(t, expect(t, a, status))
	if got != kind || message != text {
		t.Errorf("%d %s: %q, want %s: %q", a.status, got, message, kind, text)
	}
}

// A day of views, each answer as the specification and the compatibility kit
// have it.
func TestViews(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	p := s.prefix
	for _, ns := range []string{"ns", "other_ns"} {
		expect(t, s.do("POST", p+"/namespaces", fmt.Sprintf(`{"namespace":[%q]}`, ns)), 200)
	}
	expect(t, s.do("HEAD", p+"/namespaces/ns/views/view", ""), 404)
	message(t, s.do("GET", p+"/namespaces/ns/views/view", ""), 404, "NoSuchViewException", "View does not exist: ns.view")
	message(t, s.do("GET", p+"/namespaces/non-existing/views/view", ""), 404, "NoSuchViewException", "View does not exist: non-existing.view")
	message(t, s.do("GET", p+"/namespaces//views/view", ""), 404, "NoSuchViewException", "View does not exist: .view")
	message(t, s.do("GET", p+"/namespaces/ns/views/", ""), 404, "NoSuchViewException", "View does not exist: ns.")
	message(t, s.do("POST", p+"/namespaces/non-existing/views", createView("view")), 404, "NoSuchNamespaceException", "Namespace does not exist: non-existing")

	// Create and load.
	made := s.do("POST", p+"/namespaces/ns/views", createView("View", `,"future":1`))
	created := view(t, made)
	if !strings.HasPrefix(created.MetadataLocation, created.Metadata.Location+"/metadata/00000-") || !strings.HasPrefix(created.Metadata.Location, "file://"+s.root+"/demo/ns/View-") {
		t.Errorf("created %s", made.body)
	}
	if made.header[etagName] != nil || created.Metadata.CurrentVersion != 1 {
		t.Errorf("created %v %s", made.header, made.body)
	}
	loaded := s.do("GET", p+"/namespaces/NS/views/view?referenced-by=ns%1Fother", "")
	if loaded.body != made.body || loaded.header.Get("Cache-Control") != "private, no-cache" {
		t.Errorf("loaded %v\n%s\nafter\n%s", loaded.header, loaded.body, made.body)
	}
	packed := s.do("GET", p+"/namespaces/ns/views/view", "", "Accept-Encoding", "gzip")
	r, err := gzip.NewReader(strings.NewReader(packed.body))
	if err != nil {
		t.Fatalf("%v: %v", packed.header, err)
	}
	if plain, err := io.ReadAll(r); err != nil || string(plain) != made.body {
		t.Errorf("packed: %v, %s", err, plain)
	}
	expect(t, s.do("HEAD", p+"/namespaces/ns/views/VIEW", ""), 204)
	message(t, s.do("POST", p+"/namespaces/ns/views", createView("view")), 409, "AlreadyExistsException", "View already exists: ns.view")

	// Replace: an uuid is asserted, equal SQL is no change, ids are the server's.
	uuid := fmt.Sprintf(`{"type":"assert-view-uuid","uuid":%q}`, created.Metadata.UUID)
	again := s.do("POST", p+"/namespaces/ns/views/view", replace(uuid, viewVersion(2, 0, "spark", "select * from t")))
	if view(t, again); again.body != made.body {
		t.Errorf("the same SQL again: %s", again.body)
	}
	for i, sql := range []string{"select 1", "select 2"} { // both clients chose 2
		got := view(t, s.do("POST", p+"/namespaces/ns/views/view", replace(uuid, viewVersion(2, 0, "spark", sql))))
		if got.Metadata.CurrentVersion != i+2 || !strings.Contains(got.MetadataLocation, fmt.Sprintf("/metadata/%05d-", i+1)) {
			t.Errorf("replaced: %+v", got)
		}
	}
	message(t, s.do("POST", p+"/namespaces/ns/views/view", replace(`{"type":"assert-view-uuid","uuid":"0190a000-0000-7000-8000-000000000001"}`, viewVersion(2, 0, "spark", "x"))),
		409, "CommitFailedException", "Requirement failed: view UUID does not match: expected "+created.Metadata.UUID+" != 0190a000-0000-7000-8000-000000000001")
	message(t, s.do("POST", p+"/namespaces/ns/views/view", replace(uuid, viewVersion(2, 0, "trino", "a", "Trino", "b"))),
		400, "IllegalArgumentException", "Invalid view version: Cannot add multiple queries for dialect trino")
	refused(t, s.do("POST", p+"/namespaces/ns/views/view", replace(uuid, viewVersion(2, 0, "trino", "a"))), 400, "ValidationException")
	message(t, s.do("POST", p+"/namespaces/ns/views/none", replace("", viewVersion(2, 0, "spark", "x"))), 404, "NoSuchViewException", "View does not exist: ns.none")
	refused(t, s.do("POST", p+"/namespaces/ns/views/view", `{"updates":[{"action":"add-spec"}]}`), 400, "BadRequestException")
	refused(t, s.do("POST", p+"/namespaces/ns/views", `{"name":"x"}`), 400, "BadRequestException")
	refused(t, s.do("POST", p+"/namespaces/ns/views", createView("")), 400, "BadRequestException")

	// Properties and location.
	moved := "file://" + s.root + "/demo/moved"
	got := view(t, s.do("POST", p+"/namespaces/ns/views/view", fmt.Sprintf(`{"updates":[{"action":"set-location","location":%q},{"action":"set-properties","updates":{"a":"b"}}]}`, moved+"/")))
	if got.Metadata.Location != moved || got.Metadata.Properties["a"] != "b" || len(got.Metadata.Versions) != 3 || !strings.HasPrefix(got.MetadataLocation, moved+"/metadata/00003-") {
		t.Errorf("moved: %+v", got)
	}
	refused(t, s.do("POST", p+"/namespaces/ns/views/view", `{"updates":[{"action":"set-location","location":"file:///etc"}]}`), 400, "BadRequestException")

	// Lists hold views alone.
	expect(t, s.do("POST", p+"/namespaces/ns/tables", create("table")), 200)
	expect(t, s.do("POST", p+"/namespaces/ns/views", createView("b")), 200)
	if list := names(t, s.do("GET", p+"/namespaces/ns/views?pageSize=1", "")); !slices.Equal(list, []string{"View", "b"}) {
		t.Errorf("views %q", list)
	}
	if list := names(t, s.do("GET", p+"/namespaces/ns/tables", "")); !slices.Equal(list, []string{"table"}) {
		t.Errorf("tables %q", list)
	}
	var first struct {
		Next string `json:"next-page-token"`
	}
	if err := json.Unmarshal([]byte(s.do("GET", p+"/namespaces/ns/views?pageToken=&pageSize=1", "").body), &first); err != nil || first.Next == "" {
		t.Errorf("first page: %v", err)
	}
	if list := names(t, s.do("GET", p+"/namespaces/ns/views?pageSize=1&pageToken="+first.Next, "")); !slices.Equal(list, []string{"View"}) {
		t.Errorf("second page %q", list)
	}
	refused(t, s.do("GET", p+"/namespaces/ns/tables?pageToken="+first.Next, ""), 400, "BadRequestException")
	message(t, s.do("GET", p+"/namespaces/none/views", ""), 404, "NoSuchNamespaceException", "Namespace does not exist: none")

	// Rename.
	rename := func(from, toNamespace, to string) answer {
		return s.do("POST", p+"/views/rename", fmt.Sprintf(`{"source":{"namespace":["ns"],"name":%q},"destination":{"namespace":[%q],"name":%q}}`, from, toNamespace, to))
	}
	message(t, rename("none", "ns", "x"), 404, "NoSuchViewException", "View does not exist: ns.none")
	message(t, rename("table", "ns", "x"), 404, "NoSuchViewException", "View does not exist: ns.table")
	message(t, rename("view", "non_existing", "x"), 404, "NoSuchNamespaceException", "Namespace does not exist: non_existing")
	message(t, rename("view", "ns", "b"), 409, "AlreadyExistsException", "Cannot rename ns.view to ns.b. View already exists")
	message(t, rename("view", "ns", "table"), 409, "AlreadyExistsException", "Cannot rename ns.view to ns.table. Table already exists")
	expect(t, rename("view", "other_ns", "renamed"), 204)
	expect(t, s.do("HEAD", p+"/namespaces/ns/views/view", ""), 404)
	if v := view(t, s.do("GET", p+"/namespaces/other_ns/views/renamed", "")); v.MetadataLocation != got.MetadataLocation {
		t.Errorf("renamed: %+v", v)
	}

	// Drop and register.
	message(t, s.do("DELETE", p+"/namespaces/ns/views/view", ""), 404, "NoSuchViewException", "View does not exist: ns.view")
	expect(t, s.do("DELETE", p+"/namespaces/other_ns/views/renamed", ""), 204)
	register := func(name, location string) answer {
		return s.do("POST", p+"/namespaces/ns/register-view", fmt.Sprintf(`{"name":%q,"metadata-location":%q}`, name, location))
	}
	if v := view(t, register("back", got.MetadataLocation)); v.MetadataLocation != got.MetadataLocation || v.Metadata.UUID != created.Metadata.UUID {
		t.Errorf("registered: %+v", v)
	}
	message(t, register("back", got.MetadataLocation), 409, "AlreadyExistsException", "View already exists: ns.back")
	message(t, register("table", got.MetadataLocation), 409, "AlreadyExistsException", "Table with same name already exists: ns.table")
	refused(t, register("twin", got.MetadataLocation), 409, "AlreadyExistsException")
	missing := "file://" + s.root + "/demo/none.metadata.json"
	message(t, register("x", missing), 404, "NotFoundException", "Failed to open input stream for file: "+missing)
	refused(t, register("x", "file://"+s.root+"/demo"), 400, "BadRequestException")
	refused(t, register("x", "file:///etc/x.metadata.json"), 400, "BadRequestException")
}

// Tables and views share one name space: whoever comes second is told what
// stands there, and a load of the wrong kind finds nothing.
func TestTablesAndViewsClash(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	p := s.prefix
	expect(t, s.do("POST", p+"/namespaces", `{"namespace":["ns"]}`), 200)
	table := metadataLocation(t, expect(t, s.do("POST", p+"/namespaces/ns/tables", create("table")), 200))
	v := view(t, s.do("POST", p+"/namespaces/ns/views", createView("view")))

	message(t, s.do("GET", p+"/namespaces/ns/tables/view", ""), 404, "NoSuchTableException", "Table does not exist: ns.view")
	message(t, s.do("GET", p+"/namespaces/ns/views/table", ""), 404, "NoSuchViewException", "View does not exist: ns.table")
	expect(t, s.do("HEAD", p+"/namespaces/ns/tables/view", ""), 404)
	expect(t, s.do("HEAD", p+"/namespaces/ns/views/table", ""), 404)
	message(t, s.do("POST", p+"/namespaces/ns/views/table", replace("", viewVersion(1, 0, "a", "b"))), 404, "NoSuchViewException", "View does not exist: ns.table")
	message(t, s.do("DELETE", p+"/namespaces/ns/views/table", ""), 404, "NoSuchViewException", "View does not exist: ns.table")
	message(t, s.do("DELETE", p+"/namespaces/ns/tables/view", ""), 404, "NoSuchTableException", "Table does not exist: ns.view")

	const viewThere, tableThere = "View with same name already exists: ns.VIEW", "Table with same name already exists: ns.TABLE"
	message(t, s.do("POST", p+"/namespaces/ns/views", createView("TABLE")), 409, "AlreadyExistsException", tableThere)
	message(t, s.do("POST", p+"/namespaces/ns/register-view", fmt.Sprintf(`{"name":"TABLE","metadata-location":%q}`, v.MetadataLocation)), 409, "AlreadyExistsException", tableThere)
	message(t, s.do("POST", p+"/namespaces/ns/tables", create("VIEW")), 409, "AlreadyExistsException", viewThere)
	message(t, s.do("POST", p+"/namespaces/ns/tables", strings.Replace(create("VIEW"), "{", `{"stage-create":true,`, 1)), 409, "AlreadyExistsException", viewThere)
	message(t, s.do("POST", p+"/namespaces/ns/tables/VIEW", `{"requirements":[{"type":"assert-create"}],"updates":[]}`), 409, "AlreadyExistsException", viewThere)
	message(t, s.do("POST", p+"/namespaces/ns/tables/VIEW", `{"updates":[]}`), 404, "NoSuchTableException", "Table does not exist: ns.VIEW")
	message(t, s.do("POST", p+"/namespaces/ns/register", fmt.Sprintf(`{"name":"VIEW","metadata-location":%q,"overwrite":true}`, table)), 409, "AlreadyExistsException", viewThere)
	message(t, s.do("POST", p+"/tables/rename", `{"source":{"namespace":["ns"],"name":"table"},"destination":{"namespace":["ns"],"name":"view"}}`),
		409, "AlreadyExistsException", "Cannot rename ns.table to ns.view. View already exists")

	// A table is no view, and a view no table.
	refused(t, s.do("POST", p+"/namespaces/ns/register-view", fmt.Sprintf(`{"name":"x","metadata-location":%q}`, table)), 400, "BadRequestException")
	refused(t, s.do("POST", p+"/namespaces/ns/register", fmt.Sprintf(`{"name":"x","metadata-location":%q}`, v.MetadataLocation)), 400, "BadRequestException")

	// Places are not shared either.
	below := fmt.Sprintf(`,"location":%q`, v.Metadata.Location+"/below")
	refused(t, s.do("POST", p+"/namespaces/ns/tables", strings.Replace(create("x"), `"name":"x"`, `"name":"x"`+below, 1)), 400, "BadRequestException")
	refused(t, s.do("POST", p+"/namespaces/ns/views", createView("x", below)), 400, "BadRequestException")

	// Views alone keep a namespace.
	expect(t, s.do("DELETE", p+"/namespaces/ns/tables/table", ""), 204)
	refused(t, s.do("DELETE", p+"/namespaces/ns", ""), 409, "NamespaceNotEmptyException")
	expect(t, s.do("DELETE", p+"/namespaces/ns/views/view", ""), 204)
	expect(t, s.do("DELETE", p+"/namespaces/ns", ""), 204)
}

// metadataLocation returns the metadata location of a table that was made.
func metadataLocation(t testing.TB, a answer) string {
	t.Helper()
	var doc loaded
	if err := json.Unmarshal([]byte(a.body), &doc); err != nil {
		t.Fatal(err)
	}
	return doc.MetadataLocation
}

// The kit asks for the folder that it named, in its own spelling.
func TestViewFilesGoWhereTheClientSaid(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	p := s.prefix
	expect(t, s.do("POST", p+"/namespaces", `{"namespace":["ns"]}`), 200)
	location, folder := "file:"+s.root+"/demo/v", "file:"+s.root+"/demo/apart/custom-location"
	body := strings.Replace(createView("v", fmt.Sprintf(`,"location":%q`, location)), `"properties":{}`, fmt.Sprintf(`"properties":{"write.metadata.path":%q}`, folder), 1)
	v := view(t, s.do("POST", p+"/namespaces/ns/views", body))
	if !strings.HasPrefix(v.MetadataLocation, folder+"/00000-") || v.Metadata.Location != "file://"+s.root+"/demo/v" || v.Metadata.Properties["write.metadata.path"] != folder {
		t.Errorf("%+v", v)
	}
	v = view(t, s.do("POST", p+"/namespaces/ns/views/v", `{"updates":[{"action":"set-properties","updates":{"write.metadata.compression-codec":"gzip"}}]}`))
	if !strings.HasPrefix(v.MetadataLocation, folder+"/00001-") || !strings.HasSuffix(v.MetadataLocation, ".gz.metadata.json") {
		t.Errorf("%+v", v)
	}
	// Both places are the view's.
	for _, place := range []string{s.root + "/demo/v/t", s.root + "/demo/apart/custom-location/t"} {
		refused(t, s.do("POST", p+"/namespaces/ns/tables", strings.Replace(create("t"), `"name"`, fmt.Sprintf(`"location":%q,"name"`, "file://"+place), 1)), 400, "BadRequestException")
	}
	// Another instance, which has to read the file.
	cold := s.with(t, allowall.Authorizer{})
	if got := view(t, do(cold, "GET", p+"/namespaces/ns/views/v", "")); got.MetadataLocation != v.MetadataLocation {
		t.Errorf("%+v", got)
	}
	expect(t, s.do("DELETE", p+"/namespaces/ns/views/v", ""), 204)
	view(t, s.do("POST", p+"/namespaces/ns/register-view", fmt.Sprintf(`{"name":"again","metadata-location":%q}`, v.MetadataLocation)))
}

func TestViewRequestsAreRepeated(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	p := s.prefix
	expect(t, s.do("POST", p+"/namespaces", `{"namespace":["ns"]}`), 200)
	twice := func(n int, method, path, body string) (first, second answer) {
		t.Helper()
		key := []string{"Idempotency-Key", fmt.Sprintf("0190a000-0000-7000-8000-%012d", n)}
		first, second = s.do(method, path, body, key...), s.do(method, path, body, key...)
		if first.status != second.status {
			t.Errorf("%s %s: %d, then %d %s", method, path, first.status, second.status, second.body)
		}
		return first, second
	}
	made, again := twice(1, "POST", p+"/namespaces/ns/views", createView("v"))
	if view(t, made); made.body != again.body {
		t.Errorf("created\n%s\nthen\n%s", made.body, again.body)
	}
	v, w := twice(2, "POST", p+"/namespaces/ns/views/v", replace("", viewVersion(2, 0, "spark", "select 2")))
	if view(t, v).Metadata.CurrentVersion != 2 || v.body != w.body {
		t.Errorf("replaced\n%s\nthen\n%s", v.body, w.body)
	}
	_, failed := twice(3, "POST", p+"/namespaces/ns/views/none", replace("", viewVersion(2, 0, "spark", "x")))
	refused(t, failed, 404, "NoSuchViewException")
	expect(t, first(twice(4, "POST", p+"/views/rename", `{"source":{"namespace":["ns"],"name":"v"},"destination":{"namespace":["ns"],"name":"w"}}`)), 204)
	expect(t, first(twice(5, "DELETE", p+"/namespaces/ns/views/w", "")), 204)
	back, _ := twice(6, "POST", p+"/namespaces/ns/register-view", fmt.Sprintf(`{"name":"v","metadata-location":%q}`, view(t, v).MetadataLocation))
	view(t, back)
	// The first creation once more: its view is gone, its state is told all the same.
	if _, told := twice(1, "POST", p+"/namespaces/ns/views", createView("v")); view(t, told).Metadata.UUID != view(t, made).Metadata.UUID {
		t.Errorf("told %s", told.body)
	}
	refused(t, s.do("POST", p+"/namespaces/ns/views", createView("other"), "Idempotency-Key", "0190a000-0000-7000-8000-000000000001"), 422, "UnprocessableEntityException")
	if list := names(t, s.do("GET", p+"/namespaces/ns/views", "")); !slices.Equal(list, []string{"v"}) {
		t.Errorf("views %q", list)
	}
}

func first(a, _ answer) answer { return a }
