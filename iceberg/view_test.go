package iceberg

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const viewSchema = `{"type":"struct","schema-id":5,"fields":[{"id":3,"name":"id","required":true,"type":"int","doc":"unique ID"},{"id":4,"name":"data","required":true,"type":"string"}]}`

// version makes a view version; queries are dialect and SQL by turns.
func version(id, schemaID int, queries ...string) string {
	var list []string
	for i := 0; i < len(queries); i += 2 {
		list = append(list, fmt.Sprintf(`{"type":"sql","sql":%q,"dialect":%q}`, queries[i+1], queries[i]))
	}
	return fmt.Sprintf(`{"version-id":%d,"timestamp-ms":%d,"schema-id":%d,"summary":{"engine-name":"x"},"default-namespace":["ns"],"representations":[%s]}`,
		id, testNow+int64(id), schemaID, strings.Join(list, ","))
}

// newView makes a view; more are further members of the request.
func newView(t testing.TB, version string, more string) *ViewMetadata {
	t.Helper()
	req, err := DecodeCreateViewRequest([]byte(`{"name":"v","schema":` + viewSchema + `,"view-version":` + version + more + `}`))
	if err != nil {
		t.Fatalf("decode: %v", err)
	}
	m, err := NewView(req, viewContext())
	if err != nil {
		t.Fatalf("new view: %v", err)
	}
	checkBuiltView(t, m)
	return m
}

func viewContext() BuildContext {
	return BuildContext{NowMS: testNow, NewUUID: func() string { return testUUID }, DefaultLocation: "s3://bucket/ns/v/"}
}

// checkBuiltView holds the invariant that parsing a built document gives an
// equal value.
func checkBuiltView(t testing.TB, m *ViewMetadata) {
	t.Helper()
	if !json.Valid(m.Bytes()) {
		t.Fatalf("built document is not JSON: %s", m.Bytes())
	}
	p, err := ParseView(m.Bytes())
	if err != nil {
		t.Fatalf("built document cannot be parsed: %v\n%s", err, m.Bytes())
	}
	want := *m
	want.facts = BuildFacts{}
	x, y := reflect.ValueOf(want), reflect.ValueOf(*p)
	for i := range x.NumField() {
		f, g := fmt.Sprintf("%+v", x.Field(i)), fmt.Sprintf("%+v", y.Field(i))
		if f != g {
			t.Fatalf("parsed document differs from the built one: %s: %s != %s\n%s", x.Type().Field(i).Name, f, g, m.Bytes())
		}
	}
}

func applyView(t testing.TB, base *ViewMetadata, updates string) *ViewMetadata {
	t.Helper()
	list, err := DecodeViewUpdates([]byte(updates))
	if err != nil {
		t.Fatalf("decode %s: %v", updates, err)
	}
	next, changed, err := ApplyView(base, list, viewContext())
	if err != nil {
		t.Fatalf("apply %s: %v", updates, err)
	}
	if !changed {
		if next != base {
			t.Fatalf("apply %s: unchanged, but not the base", updates)
		}
		return next
	}
	checkBuiltView(t, next)
	return next
}

func refuseView(t testing.TB, base *ViewMetadata, updates string, kind Kind, text string) {
	t.Helper()
	list, err := DecodeViewUpdates([]byte(updates))
	if err == nil {
		_, _, err = ApplyView(base, list, viewContext())
	}
	checkError(t, err, kind, text)
}

func addVersion(v string) string { return `{"action":"add-view-version","view-version":` + v + `}` }

const setLastVersion = `{"action":"set-current-view-version","view-version-id":-1}`

func replaceWith(v string) string { return "[" + addVersion(v) + "," + setLastVersion + "]" }

func versionIDs(m *ViewMetadata) (list []int) {
	for _, v := range m.Versions() {
		list = append(list, v.ID)
	}
	return list
}

func versionLogIDs(m *ViewMetadata) (list []int) {
	for _, e := range m.VersionLog() {
		list = append(list, e.VersionID)
	}
	return list
}

func TestNewViewNumbersVersionAndSchemaAnew(t *testing.T) {
	t.Parallel()
	m := newView(t, version(7, 5, "spark", "select 1"), `,"properties":{"k":"v","n":1},"ignored":{}`)
	want := `{"view-uuid":"` + testUUID + `","format-version":1,"location":"s3://bucket/ns/v","properties":{"k":"v","n":"1"},` +
		`"schemas":[` + strings.Replace(viewSchema, `"schema-id":5`, `"schema-id":0`, 1) + `],"current-version-id":1,"versions":[` +
		strings.NewReplacer(`"version-id":7`, `"version-id":1`, `"schema-id":5`, `"schema-id":0`).Replace(version(7, 5, "spark", "select 1")) +
		fmt.Sprintf(`],"version-log":[{"timestamp-ms":%d,"version-id":1}]}`, testNow+7)
	if string(m.Bytes()) != want {
		t.Errorf("built\n%s\nwant\n%s", m.Bytes(), want)
	}
	if v, ok := m.Property("k"); !ok || v != "v" || m.UUID() != testUUID || m.CurrentVersionID() != 1 || m.FormatVersion() != 1 || len(m.Properties()) != 2 {
		t.Errorf("%+v", m)
	}
	if at := newView(t, version(1, 0, "spark", "select 1"), `,"location":"s3://bucket/x/"`); at.Location() != "s3://bucket/x" {
		t.Errorf("location %s", at.Location())
	}
}

func TestCreateViewRequestIsChecked(t *testing.T) {
	t.Parallel()
	good := version(1, 0, "trino", "select 1")
	for name, c := range map[string]struct {
		body, text string
		kind       Kind
	}{
		"no object":         {`[]`, "Cannot parse to an object", BadRequest},
		"no name":           {`{"schema":` + viewSchema + `,"view-version":` + good + `}`, "Cannot parse missing string: name", BadRequest},
		"no schema":         {`{"name":"v","view-version":` + good + `}`, "Cannot parse missing field: schema", BadRequest},
		"no version":        {`{"name":"v","schema":` + viewSchema + `,"view-version":null}`, "Cannot parse missing field: view-version", BadRequest},
		"empty name":        {`{"name":"","schema":` + viewSchema + `,"view-version":` + good + `}`, "Invalid view name: empty", BadRequest},
		"no query":          {`{"name":"v","schema":` + viewSchema + `,"view-version":` + version(1, 0) + `}`, "Cannot create view without specifying a query", IllegalArgument},
		"dialect twice":     {`{"name":"v","schema":` + viewSchema + `,"view-version":` + version(1, 0, "trino", "a", "TRINO", "b") + `}`, "Invalid view version: Cannot add multiple queries for dialect trino", IllegalArgument},
		"unknown kind":      {`{"name":"v","schema":` + viewSchema + `,"view-version":` + strings.Replace(good, `"type":"sql"`, `"type":"plan"`, 1) + `}`, "Found unsupported view representations: [plan]", IllegalArgument},
		"no namespace":      {`{"name":"v","schema":` + viewSchema + `,"view-version":` + strings.Replace(good, `"default-namespace":["ns"],`, "", 1) + `}`, "Cannot parse missing list: default-namespace", BadRequest},
		"no dialect":        {`{"name":"v","schema":` + viewSchema + `,"view-version":` + strings.Replace(good, `,"dialect":"trino"`, "", 1) + `}`, "Cannot parse missing string: dialect", BadRequest},
		"ids twice":         {`{"name":"v","schema":{"type":"struct","fields":[{"id":1,"name":"a","required":true,"type":"int"},{"id":1,"name":"b","required":true,"type":"int"}]},"view-version":` + good + `}`, "multiple fields for id 1", Validation},
		"odd codec":         {`{"name":"v","schema":` + viewSchema + `,"view-version":` + good + `,"properties":{"write.metadata.compression-codec":"rar"}}`, "Invalid codec name: rar", IllegalArgument},
		"no history":        {`{"name":"v","schema":` + viewSchema + `,"view-version":` + good + `,"properties":{"version.history.num-entries":"0"}}`, "version.history.num-entries must be positive but was 0", IllegalArgument},
		"history of a word": {`{"name":"v","schema":` + viewSchema + `,"view-version":` + good + `,"properties":{"version.history.num-entries":"x"}}`, "must have integer value", Validation},
		"drop and append":   {`{"name":"v","schema":` + viewSchema + `,"view-version":` + good + `,"properties":{"replace.drop-dialect.allowed":"true","replace.append-dialect.allowed":"TRUE"}}`, "Cannot set both replace.drop-dialect.allowed and replace.append-dialect.allowed to true", IllegalArgument},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req, err := DecodeCreateViewRequest([]byte(c.body))
			if err == nil {
				_, err = NewView(req, viewContext())
			}
			checkError(t, err, c.kind, c.text)
		})
	}
	if _, err := NewView(CreateViewRequest{}, viewContext()); KindOf(err) != BadRequest {
		t.Error(err)
	}
}

func TestReplaceGivesTheNextIDsWhateverTheClientChose(t *testing.T) {
	t.Parallel()
	m := newView(t, version(1, 0, "trino", "a"), `,"properties":{"replace.drop-dialect.allowed":"true"}`)
	other := `{"action":"add-schema","schema":{"type":"struct","schema-id":9,"fields":[{"id":1,"name":"some_id","required":true,"type":"int"}]}}`
	// Two clients replaced version 1; both chose 2.
	m = applyView(t, m, "["+other+","+addVersion(version(2, -1, "spark", "b"))+","+setLastVersion+"]")
	m = applyView(t, m, replaceWith(version(2, 0, "trino", "c")))
	if got := versionIDs(m); !slices.Equal(got, []int{1, 2, 3}) || m.CurrentVersionID() != 3 {
		t.Errorf("versions %v, current %d", got, m.CurrentVersionID())
	}
	if v := m.Versions(); v[1].SchemaID != 1 || v[2].SchemaID != 0 || !slices.Equal(v[1].Dialects, []string{"spark"}) {
		t.Errorf("versions %+v", v)
	}
	if got := m.VersionLog(); !slices.Equal(got, []ViewLogEntry{{testNow + 1, 1}, {testNow + 2, 2}, {testNow + 2, 3}}) {
		t.Errorf("log %v", got)
	}
}

func TestEqualVersionsAndSchemasAreReused(t *testing.T) {
	t.Parallel()
	m := newView(t, version(1, 0, "trino", "a"), "")
	same := "[" + `{"action":"add-schema","schema":` + viewSchema + `},` + addVersion(version(5, -1, "trino", "a")) + "," + setLastVersion + "]"
	if next := applyView(t, m, same); next != m {
		t.Errorf("the same again is a change: %s", next.Bytes())
	}
	m = applyView(t, m, replaceWith(version(2, 0, "trino", "b")))
	m = applyView(t, m, replaceWith(version(3, 0, "trino", "a")))
	if got := versionIDs(m); !slices.Equal(got, []int{1, 2}) || m.CurrentVersionID() != 1 {
		t.Errorf("versions %v, current %d", got, m.CurrentVersionID())
	}
	// What is taken up again became current now, not when it was made.
	if got := m.VersionLog(); !slices.Equal(got, []ViewLogEntry{{testNow + 1, 1}, {testNow + 2, 2}, {testNow, 1}}) {
		t.Errorf("log %v", got)
	}
	for name, v := range map[string]string{
		"summary":   strings.Replace(version(9, 0, "trino", "a"), `"x"`, `"y"`, 1),
		"catalog":   strings.Replace(version(9, 0, "trino", "a"), `"summary"`, `"default-catalog":"c","summary"`, 1),
		"namespace": strings.Replace(version(9, 0, "trino", "a"), `["ns"]`, `["other"]`, 1),
		"unknown":   strings.Replace(version(9, 0, "trino", "a"), `"summary"`, `"future":1,"summary"`, 1),
	} {
		if next := applyView(t, m, replaceWith(v)); next.CurrentVersionID() != 3 {
			t.Errorf("another %s is the same version: %s", name, next.Bytes())
		}
	}
	spelled := strings.NewReplacer(`"summary":{"engine-name":"x"},`, "", `"default-namespace"`, `"default-catalog":null, "summary":{"engine-name":"\u0078"},"default-namespace"`)
	if next := applyView(t, m, replaceWith(spelled.Replace(version(9, 0, "trino", "a")))); next != m {
		t.Errorf("another spelling is another version: %s", next.Bytes())
	}
}

func TestCurrentVersionIsSetByID(t *testing.T) {
	t.Parallel()
	m := newView(t, version(1, 0, "trino", "a"), "")
	m = applyView(t, m, "["+addVersion(version(2, 0, "trino", "b"))+"]")
	if m.CurrentVersionID() != 1 || len(m.VersionLog()) != 1 || len(m.Versions()) != 2 {
		t.Errorf("added but current: %s", m.Bytes())
	}
	m = applyView(t, m, `[{"action":"SET-current-view-version","view-version-id":2}]`)
	if got := m.VersionLog(); m.CurrentVersionID() != 2 || got[1] != (ViewLogEntry{testNow, 2}) {
		t.Errorf("log %v", got)
	}
	refuseView(t, m, `[{"action":"set-current-view-version","view-version-id":9}]`, IllegalArgument, "Cannot set current version to unknown version: 9")
	refuseView(t, m, "["+setLastVersion+"]", Validation, "Cannot set last version id: no current version id has been set")
	refuseView(t, m, "["+addVersion(version(3, 8, "trino", "c"))+"]", IllegalArgument, "Cannot add version with unknown schema: 8")
	refuseView(t, m, "["+addVersion(version(3, -1, "trino", "c"))+"]", Validation, "Cannot set last added schema: no schema has been added")
	refuseView(t, m, replaceWith(version(3, 0, "trino", "c", "Trino", "d")), IllegalArgument, "Invalid view version: Cannot add multiple queries for dialect trino")
	refuseView(t, m, replaceWith(version(3, 0)), IllegalArgument, "Cannot replace view without specifying a query")
}

// A client that goes on by ids of its own choice means what it added, although
// somebody else's parts have got them in the meantime.
func TestIDsOfTheRequestMeanWhatItAdded(t *testing.T) {
	t.Parallel()
	m := newView(t, version(1, 0, "trino", "a"), "")
	m = applyView(t, m, replaceWith(version(2, 0, "trino", "b"))) // by another client
	other := `{"action":"add-schema","schema":{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"some_id","required":true,"type":"int"}]}}`
	set := func(id int) string {
		return fmt.Sprintf(`{"action":"set-current-view-version","view-version-id":%d}`, id)
	}
	next := applyView(t, m, "["+other+","+addVersion(version(2, 0, "trino", "c"))+","+set(2)+"]")
	if v := next.Versions(); next.CurrentVersionID() != 3 || v[2].ID != 3 || v[2].SchemaID != 1 {
		t.Errorf("current is %d of %+v", next.CurrentVersionID(), v)
	}
	// A number out of the order is as good, and one that stands for an equal version.
	if next := applyView(t, m, "["+addVersion(version(70, 0, "trino", "c"))+","+set(70)+"]"); next.CurrentVersionID() != 3 {
		t.Errorf("current is %d", next.CurrentVersionID())
	}
	if next := applyView(t, m, "["+addVersion(version(70, 0, "trino", "a"))+","+set(70)+"]"); next.CurrentVersionID() != 1 {
		t.Errorf("current is %d", next.CurrentVersionID())
	}
	// What the request did not add it calls by its id.
	if next := applyView(t, m, "["+addVersion(version(3, 0, "trino", "c"))+","+set(1)+"]"); next.CurrentVersionID() != 1 {
		t.Errorf("current is %d", next.CurrentVersionID())
	}
}

func TestDialectsAreNotLostUnlessAllowed(t *testing.T) {
	t.Parallel()
	m := newView(t, version(1, 0, "trino", "a", "Spark", "b"), "")
	const text = "Cannot replace view due to loss of view dialects (replace.drop-dialect.allowed=false):\nPrevious dialects: [spark, trino]\nNew dialects: [trino]"
	refuseView(t, m, replaceWith(version(2, 0, "trino", "c")), Validation, text)
	applyView(t, m, replaceWith(version(2, 0, "TRINO", "c", "SPARK", "d", "hive", "e")))
	allowed := `{"action":"set-properties","updates":{"replace.drop-dialect.allowed":"True"}}`
	next := applyView(t, m, "["+allowed+","+addVersion(version(2, 0, "trino", "c"))+","+setLastVersion+"]")
	if !slices.Equal(next.Versions()[1].Dialects, []string{"trino"}) {
		t.Errorf("%s", next.Bytes())
	}
	// Adding one that is not current loses nothing.
	applyView(t, m, "["+addVersion(version(2, 0, "trino", "c"))+"]")
	refuseView(t, m, `[{"action":"set-properties","updates":{"replace.drop-dialect.allowed":"true","replace.append-dialect.allowed":"true"}}]`,
		IllegalArgument, "Cannot set both")
}

func TestHistoryIsKeptToItsSize(t *testing.T) {
	t.Parallel()
	m := newView(t, version(1, 0, "trino", "0"), "")
	for i := 2; i <= 12; i++ {
		m = applyView(t, m, replaceWith(version(i, 0, "trino", fmt.Sprint(i))))
	}
	if got := versionIDs(m); !slices.Equal(got, []int{3, 4, 5, 6, 7, 8, 9, 10, 11, 12}) || !slices.Equal(versionLogIDs(m), got) {
		t.Errorf("versions %v, log %v", got, versionLogIDs(m))
	}
	m = applyView(t, m, `[{"action":"set-properties","updates":{"version.history.num-entries":"2"}}]`)
	if got := versionIDs(m); !slices.Equal(got, []int{11, 12}) || !slices.Equal(versionLogIDs(m), got) {
		t.Errorf("versions %v, log %v", got, versionLogIDs(m))
	}
	// The current one stays although it is the oldest, and what was added now.
	m = applyView(t, m, `[{"action":"set-current-view-version","view-version-id":11}]`)
	m = applyView(t, m, "["+addVersion(version(0, 0, "trino", "x"))+","+addVersion(version(0, 0, "trino", "y"))+"]")
	if got := versionIDs(m); !slices.Equal(got, []int{11, 13, 14}) || !slices.Equal(versionLogIDs(m), []int{11}) {
		t.Errorf("versions %v, log %v", got, versionLogIDs(m))
	}
	refuseView(t, m, `[{"action":"set-properties","updates":{"version.history.num-entries":"-1"}}]`, IllegalArgument, "version.history.num-entries must be positive but was -1")
	// An odd value in a document that came from elsewhere stops nobody.
	odd, err := ParseView([]byte(strings.Replace(string(m.Bytes()), `"version.history.num-entries":"2"`, `"version.history.num-entries":"many"`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	applyView(t, odd, `[{"action":"set-properties","updates":{"a":"b"}}]`)
}

func TestViewUpdatesOfTheWhole(t *testing.T) {
	t.Parallel()
	m := newView(t, version(1, 0, "trino", "a"), `,"properties":{"a":"1","b":"2"}`)
	for _, none := range []string{
		"", "null", "[]", `[{"action":"assign-uuid","uuid":"` + strings.ToUpper(testUUID) + `"}]`, `[{"action":"upgrade-format-version","format-version":1}]`,
		`[{"action":"set-location","location":"s3://bucket/ns/v/"}]`, `[{"action":"set-properties","updates":{"a":"1"}}]`,
		`[{"action":"remove-properties","removals":["none"]}]`, `[{"action":"set-current-view-version","view-version-id":1}]`,
	} {
		if applyView(t, m, none) != m {
			t.Errorf("%s changes something", none)
		}
	}
	next := applyView(t, m, `[{"action":"set-location","location":"s3://elsewhere//"},{"action":"set-properties","updates":{"a":"3"}},{"action":"remove-properties","removals":["b"]}]`)
	if got := next.Properties(); next.Location() != "s3://elsewhere" || len(got) != 1 || got["a"] != "3" || len(next.VersionLog()) != 1 {
		t.Errorf("%s", next.Bytes())
	}
	refuseView(t, m, `[{"action":"assign-uuid","uuid":"11111111-2222-4333-8444-555555555556"}]`, IllegalArgument, "Cannot reassign uuid")
	refuseView(t, m, `[{"action":"assign-uuid","uuid":""}]`, IllegalArgument, "Cannot set uuid to null")
	refuseView(t, m, `[{"action":"upgrade-format-version","format-version":2}]`, IllegalArgument, "Unsupported format version: 2")
	refuseView(t, m, `[{"action":"upgrade-format-version","format-version":0}]`, IllegalArgument, "Cannot downgrade v1 view to v0")
	refuseView(t, m, `[{"action":"set-location","location":null}]`, BadRequest, "Cannot parse missing string: location")
	refuseView(t, m, `[{"action":"set-location","location":"/"}]`, IllegalArgument, "Invalid location: empty")
	refuseView(t, m, `[{"action":"add-snapshot","snapshot":{}}]`, BadRequest, "Cannot apply update add-snapshot to a view")
	refuseView(t, m, `[{"action":"paint"}]`, BadRequest, "Cannot convert metadata update action from json: paint")
	refuseView(t, m, `[{"action":"add-schema","schema":5}]`, BadRequest, "Cannot parse")
	refuseView(t, m, `[{"action":"add-view-version","view-version":5}]`, BadRequest, "Cannot parse")
	refuseView(t, m, `[{"action":"set-properties","updates":{"write.metadata.compression-codec":"rar"}}]`, IllegalArgument, "Invalid codec name")
}

func TestViewRequirements(t *testing.T) {
	t.Parallel()
	m := newView(t, version(1, 0, "trino", "a"), "")
	check := func(raw string) error {
		reqs, err := DecodeRequirements([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		return CheckViewRequirements(m, reqs)
	}
	for _, ok := range []string{"", "[]", `[{"type":"assert-view-uuid","uuid":"` + strings.ToUpper(testUUID) + `"}]`} {
		if err := check(ok); err != nil {
			t.Error(err)
		}
	}
	checkError(t, check(`[{"type":"assert-view-uuid","uuid":"other"}]`), CommitFailed, "Requirement failed: view UUID does not match: expected "+testUUID+" != other")
	checkError(t, check(`[{"type":"assert-create"}]`), BadRequest, "Cannot validate assert-create against a view")
}

func TestViewFilesAreNamedLikeThoseOfTables(t *testing.T) {
	t.Parallel()
	m := newView(t, version(1, 0, "trino", "a"), "")
	if got := NextViewFile(m, "", "u"); got != "s3://bucket/ns/v/metadata/00000-u.metadata.json" {
		t.Error(got)
	}
	if data, packed := EncodeViewFile(m); packed || string(data) != string(m.Bytes()) {
		t.Error("packed without a wish")
	}
	m = applyView(t, m, `[{"action":"set-properties","updates":{"write.metadata.path":"file:/tmp/x/","write.metadata.compression-codec":"GZIP"}}]`)
	name := NextViewFile(m, "file:/tmp/x/00007-u.metadata.json", "w")
	if name != "file:/tmp/x/00008-w.gz.metadata.json" {
		t.Error(name)
	}
	data, packed := EncodeViewFile(m)
	if doc, err := DecodeFile(name, data, 1<<20); err != nil || !packed || string(doc) != string(m.Bytes()) {
		t.Errorf("%v, %v", packed, err)
	}
}

func TestViewsAreBuiltTheSameAgain(t *testing.T) {
	t.Parallel()
	raw := `{"name":"v","schema":` + viewSchema + `,"view-version":` + version(1, 0, "trino", "a") + `}`
	req, err := DecodeCreateViewRequest([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	first, err := NewView(req, viewContext())
	if err != nil {
		t.Fatal(err)
	}
	again, err := NewView(req, first.Facts().Context())
	if err != nil || string(again.Bytes()) != string(first.Bytes()) {
		t.Errorf("%v\n%s\n%s", err, again.Bytes(), first.Bytes())
	}
}
