package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

const schema = `{"type":"struct","fields":[{"id":1,"name":"id","required":false,"type":"long"},{"id":2,"name":"data","required":false,"type":"string"}]}`

func create(name string) string {
	return fmt.Sprintf(`{"name":%s,"schema":%s}`, quoted(name), schema)
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

type loaded struct {
	MetadataLocation string          `json:"metadata-location"`
	Metadata         json.RawMessage `json:"metadata"`
	Config           json.RawMessage `json:"config"`
}

func tableUUID(t testing.TB, a answer) string {
	t.Helper()
	var doc struct {
		Metadata struct {
			UUID string `json:"table-uuid"`
		}
	}
	if err := json.Unmarshal([]byte(a.body), &doc); err != nil || doc.Metadata.UUID == "" {
		t.Fatalf("no table in %d %s", a.status, a.body)
	}
	return doc.Metadata.UUID
}

func names(t testing.TB, a answer) []string {
	t.Helper()
	var doc struct{ Identifiers []struct{ Name string } }
	if err := json.Unmarshal([]byte(a.body), &doc); err != nil || a.status != 200 {
		t.Fatalf("no list in %d %s", a.status, a.body)
	}
	list := []string{}
	for _, id := range doc.Identifiers {
		list = append(list, id.Name)
	}
	slices.Sort(list)
	return list
}

// expect fails unless the answer has the status, and no body with 204.
func expect(t testing.TB, a answer, status int) answer {
	t.Helper()
	if a.status != status {
		t.Fatalf("%d %s, want %d", a.status, a.body, status)
	}
	if status == http.StatusNoContent && a.body != "" {
		t.Fatalf("204 with body %q", a.body)
	}
	if status >= 400 && a.body != "" {
		errorOf(t, a)
	}
	return a
}

// refused fails unless the answer is the error of that status and type.
func refused(t testing.TB, a answer, status int, kind string) {
	t.Helper()
	if got, message := errorOf(t, expect(t, a, status)); got != kind {
		t.Fatalf("%d %s: %s, want %s", a.status, got, message, kind)
	}
}

// A day in the life of a client, each answer as the specification has it.
func TestDay(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	p := s.prefix

	var config struct {
		Defaults, Overrides map[string]string
		Endpoints           []string
		Lifetime            string `json:"idempotency-key-lifetime"`
	}
	got := expect(t, s.do("GET", "/catalog/v1/config?warehouse=demo", ""), 200)
	if err := json.Unmarshal([]byte(got.body), &config); err != nil || config.Defaults == nil {
		t.Fatalf("%s: %v", got.body, err)
	}
	if "/catalog/v1/"+config.Overrides["prefix"] != p || config.Overrides["namespace-separator"] != "%1F" || config.Lifetime != "PT30M" || len(config.Endpoints) == 0 {
		t.Errorf("config %s", got.body)
	}
	refused(t, s.do("GET", "/catalog/v1/config?warehouse=nowhere", ""), 404, "NoSuchWarehouseException")

	// Namespaces.
	got = expect(t, s.do("POST", p+"/namespaces", `{"namespace":["Sales"],"properties":{"owner":"x"}}`), 200)
	if !strings.HasPrefix(got.body, `{"namespace":["Sales"],"properties":{`) || !strings.Contains(got.body, `"owner"`) {
		t.Errorf("created %s", got.body)
	}
	set := "file://" + s.root + "/demo/elsewhere"
	expect(t, s.do("POST", p+"/namespaces", fmt.Sprintf(`{"namespace":["set"],"properties":{"location":%q}}`, set)), 200)
	if got := expect(t, s.do("GET", p+"/namespaces/set", ""), 200); got.body != fmt.Sprintf(`{"namespace":["set"],"properties":{"location":%q}}`, set) {
		t.Errorf("namespace with a location %s", got.body)
	}
	expect(t, s.do("DELETE", p+"/namespaces/set", ""), 204)
	refused(t, s.do("POST", p+"/namespaces", `{"namespace":["SALES"]}`), 409, "AlreadyExistsException")
	refused(t, s.do("POST", p+"/namespaces", `{"namespace":["no","parent"]}`), 404, "NoSuchNamespaceException")
	expect(t, s.do("POST", p+"/namespaces", `{"namespace":["Sales","eu"],"properties":null}`), 200)
	if got := expect(t, s.do("GET", p+"/namespaces", ""), 200); got.body != `{"namespaces":[["Sales"]]}` {
		t.Errorf("roots %s", got.body)
	}
	if got := expect(t, s.do("GET", p+"/namespaces?parent=sales", ""), 200); got.body != `{"namespaces":[["Sales","eu"]]}` {
		t.Errorf("children %s", got.body)
	}
	refused(t, s.do("GET", p+"/namespaces?parent=non-existing", ""), 404, "NoSuchNamespaceException")
	expect(t, s.do("HEAD", p+"/namespaces/sales%1feu", ""), 204)
	expect(t, s.do("HEAD", p+"/namespaces/nope", ""), 404)
	refused(t, s.do("GET", p+"/namespaces/nope", ""), 404, "NoSuchNamespaceException")
	if got := expect(t, s.do("POST", p+"/namespaces/Sales/properties", `{"removals":["gone"],"updates":{"k":"v"}}`), 200); got.body != `{"updated":["k"],"removed":[],"missing":["gone"]}` {
		t.Errorf("properties %s", got.body)
	}
	// Nobody set a location, and it is shown all the same: Trino needs it.
	if got := expect(t, s.do("GET", p+"/namespaces/Sales", ""), 200); got.body != `{"namespace":["Sales"],"properties":{"location":"file://`+s.root+`/demo/Sales","k":"v","owner":"x"}}` {
		t.Errorf("namespace %s", got.body)
	}
	if got := expect(t, s.do("GET", p+"/namespaces/Sales%1Feu", ""), 200); got.body != `{"namespace":["Sales","eu"],"properties":{"location":"file://`+s.root+`/demo/Sales/eu"}}` {
		t.Errorf("namespace %s", got.body)
	}
	refused(t, s.do("POST", p+"/namespaces/Sales/properties", `{"removals":["k"],"updates":{"k":"v"}}`), 422, "UnprocessableEntityException")

	// Tables.
	got = expect(t, s.do("POST", p+"/namespaces/Sales/tables", create("Orders")), 200)
	uuid := tableUUID(t, got)
	var made loaded
	if err := json.Unmarshal([]byte(got.body), &made); err != nil || !strings.HasPrefix(made.MetadataLocation, "file:///") || string(made.Config) == "" {
		t.Errorf("created %s", got.body)
	}
	if got.header[etagName] == nil {
		t.Errorf("no ETag: %v", got.header)
	}
	refused(t, s.do("POST", p+"/namespaces/Sales/tables", create("orders")), 409, "AlreadyExistsException")
	refused(t, s.do("POST", p+"/namespaces/nope/tables", create("t")), 404, "NoSuchNamespaceException")
	if got := names(t, s.do("GET", p+"/namespaces/Sales/tables", "")); !slices.Equal(got, []string{"Orders"}) {
		t.Errorf("tables %q", got)
	}
	expect(t, s.do("HEAD", p+"/namespaces/Sales/tables/Orders", ""), 204)
	expect(t, s.do("HEAD", p+"/namespaces/Sales/tables/nope", ""), 404)
	again := expect(t, s.do("GET", p+"/namespaces/SALES/tables/ORDERS", ""), 200)
	var seen loaded
	if err := json.Unmarshal([]byte(again.body), &seen); err != nil || string(seen.Metadata) != string(made.Metadata) || seen.MetadataLocation != made.MetadataLocation {
		t.Errorf("a load differs from the create: %s", again.body)
	}

	// Commit: the body's identifier is ignored, requirements may be missing.
	got = expect(t, s.do("POST", p+"/namespaces/Sales/tables/Orders", `{"identifier":{"namespace":["Sales.eu"],"name":"x"},"updates":[{"action":"set-properties","updates":{"a":"1"}}]}`), 200)
	if !strings.HasPrefix(got.body, `{"metadata-location":"file:///`) || strings.Contains(got.body, `"config":`) || got.header[etagName] == nil {
		t.Errorf("committed %v %s", got.header, got.body)
	}
	refused(t, s.do("POST", p+"/namespaces/Sales/tables/Orders", `{"requirements":[{"type":"assert-table-uuid","uuid":"0190a000-0000-7000-8000-000000000001"}],"updates":[]}`), 409, "CommitFailedException")
	refused(t, s.do("POST", p+"/namespaces/Sales/tables/Orders", `{"updates":[{"action":"no-such-action"}]}`), 400, "BadRequestException")
	refused(t, s.do("POST", p+"/namespaces/Sales/tables/nope", `{"updates":[]}`), 404, "NoSuchTableException")

	// Staged create, then create by commit.
	got = expect(t, s.do("POST", p+"/namespaces/Sales/tables", strings.Replace(create("Staged"), "{", `{"stage-create":true,`, 1)), 200)
	if strings.Contains(got.body, "metadata-location") || got.header[etagName] != nil {
		t.Errorf("staged %v %s", got.header, got.body)
	}
	expect(t, s.do("HEAD", p+"/namespaces/Sales/tables/Staged", ""), 404)

	// A transaction over two tables, all or none.
	expect(t, s.do("POST", p+"/namespaces/Sales/tables", create("Second")), 200)
	change := func(name, key string, requirement string) string {
		return fmt.Sprintf(`{"identifier":{"namespace":["Sales"],"name":%q},"requirements":[%s],"updates":[{"action":"set-properties","updates":{%q:"1"}}]}`, name, requirement, key)
	}
	expect(t, s.do("POST", p+"/transactions/commit", `{"table-changes":[`+change("Orders", "tx", "")+","+change("Second", "tx", "")+`]}`), 204)
	refused(t, s.do("POST", p+"/transactions/commit", `{"table-changes":[`+change("Orders", "half", "")+","+change("Second", "half", `{"type":"assert-create"}`)+`]}`), 409, "CommitFailedException")
	if got := s.do("GET", p+"/namespaces/Sales/tables/Orders", ""); strings.Contains(got.body, `"half"`) || !strings.Contains(got.body, `"tx"`) {
		t.Errorf("after the transactions: %s", got.body)
	}

	// Rename, drop, register.
	expect(t, s.do("POST", p+"/tables/rename", `{"source":{"namespace":["Sales"],"name":"Orders"},"destination":{"namespace":["Sales","eu"],"name":"Moved"}}`), 204)
	refused(t, s.do("POST", p+"/tables/rename", `{"source":{"namespace":["Sales"],"name":"Orders"},"destination":{"namespace":["Sales"],"name":"X"}}`), 404, "NoSuchTableException")
	refused(t, s.do("POST", p+"/tables/rename", `{"source":{"namespace":["Sales"],"name":"Second"},"destination":{"namespace":["nope"],"name":"X"}}`), 404, "NoSuchNamespaceException")
	refused(t, s.do("POST", p+"/tables/rename", `{"source":{"namespace":["Sales"],"name":"Second"},"destination":{"namespace":["Sales","eu"],"name":"moved"}}`), 409, "AlreadyExistsException")
	got = expect(t, s.do("GET", p+"/namespaces/Sales%1Feu/tables/Moved", ""), 200)
	if tableUUID(t, got) != uuid {
		t.Error("a rename changed the table")
	}
	if err := json.Unmarshal([]byte(got.body), &seen); err != nil {
		t.Fatal(err)
	}
	expect(t, s.do("DELETE", p+"/namespaces/Sales%1Feu/tables/Moved?purgeRequested=False", ""), 204)
	refused(t, s.do("DELETE", p+"/namespaces/Sales%1Feu/tables/Moved", ""), 404, "NoSuchTableException")
	got = expect(t, s.do("POST", p+"/namespaces/Sales/register", fmt.Sprintf(`{"name":"Back","metadata-location":%q,"overwrite":null}`, seen.MetadataLocation)), 200)
	if tableUUID(t, got) != uuid {
		t.Error("registered as another table")
	}
	refused(t, s.do("POST", p+"/namespaces/Sales/register", fmt.Sprintf(`{"name":"Back","metadata-location":%q}`, seen.MetadataLocation)), 409, "AlreadyExistsException")
	refused(t, s.do("DELETE", p+"/namespaces/Sales", ""), 409, "NamespaceNotEmptyException")
	expect(t, s.do("DELETE", p+"/namespaces/Sales/tables/Back?purgeRequested=True", ""), 204)
	expect(t, s.do("DELETE", p+"/namespaces/Sales/tables/Second", ""), 204)
	expect(t, s.do("DELETE", p+"/namespaces/Sales%1Feu", ""), 204)
	expect(t, s.do("DELETE", p+"/namespaces/Sales", ""), 204)
	refused(t, s.do("DELETE", p+"/namespaces/Sales", ""), 404, "NoSuchNamespaceException")
}

// Members that a client sends as null are members that it does not send.
func TestExplicitNullsAreAbsent(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"],"properties":null}`), 200)
	for i, extra := range []string{
		`"location":null,"partition-spec":null,"write-order":null,"stage-create":null,"properties":{}`,
		`"location":null,"partition_spec":null,"write_order":null,"stage_create":null,"properties":{}`,
		`"properties":null`,
	} {
		got := expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", fmt.Sprintf(`{"name":"t%d","schema":%s,%s}`, i, schema, extra)), 200)
		if !strings.Contains(got.body, "metadata-location") {
			t.Errorf("%s: staged", extra)
		}
	}
	expect(t, s.do("POST", s.prefix+"/namespaces/n/tables/t0", `{"requirements":null,"updates":[{"action":"set-properties","updates":{"a":"1"}}]}`), 200)
}

// oddNames are names that differ only in how they are written, and names that
// a router or a proxy likes to touch.
var oddNames = []string{
	"foo/bar", "foo%2Fbar", "foo%252Fbar", "foo bar", "foo+bar", "foo%20bar", "a.b", "...", ".a", "line\nbreak", "tab\there", " both ends ", "%", "%1F", "a%1Fb", "100%",
	`quo"te`, "it's", "ünï/cødé", "日本語", "a?b", "a#b", "a&b=c", "semi;colon", "back\\slash", "{curly}", "<angle>", "tables", "namespaces",
	strings.Repeat("x", 255), strings.Repeat("é", 127),
}

func TestOddNamesAreDistinctAndFoundInEverySpelling(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	percent := func(name string) string { return strings.ReplaceAll(url.QueryEscape(name), "+", "%20") }
	lower := func(name string) string { return lowerEscapes(percent(name)) }
	spellings := []func(string) string{percent, url.QueryEscape, lower}

	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	tables := s.prefix + "/namespaces/n/tables"
	made := map[string]string{}
	for _, name := range oddNames {
		got := s.do("POST", tables, create(name))
		if got.status != 200 {
			t.Errorf("create %q: %d %s", name, got.status, got.body)
			continue
		}
		made[name] = tableUUID(t, got)
	}
	want := []string{}
	for name, uuid := range made {
		want = append(want, name)
		for _, spell := range spellings {
			got := s.do("GET", tables+"/"+spell(name), "")
			if got.status != 200 || tableUUID(t, got) != uuid {
				t.Errorf("load %q as %s: %d", name, spell(name), got.status)
			}
			expect(t, s.do("HEAD", tables+"/"+spell(name), ""), 204)
		}
	}
	slices.Sort(want)
	if got := names(t, s.do("GET", tables, "")); !slices.Equal(got, want) {
		t.Errorf("list %q", got)
	}
	// Clients take dot segments out of a path before they send it.
	for _, name := range []string{".", ".."} {
		refused(t, s.do("POST", tables, create(name)), 400, "BadRequestException")
		refused(t, s.do("GET", tables+"/"+name, ""), 404, "NoSuchTableException")
		refused(t, s.do("GET", tables+"/"+strings.ReplaceAll(name, ".", "%2E"), ""), 404, "NoSuchTableException")
	}
	refused(t, s.do("GET", tables+"/foo/bar", ""), 404, "BadRequestException")
	refused(t, s.do("GET", tables+"/foo%20", ""), 404, "NoSuchTableException")
	refused(t, s.do("GET", tables+"/foo+", ""), 404, "NoSuchTableException")
	for i, name := range want {
		expect(t, s.do("DELETE", tables+"/"+spellings[i%3](name), ""), 204)
		if got := names(t, s.do("GET", tables, "")); !slices.Equal(got, want[i+1:]) {
			t.Fatalf("after dropping %q: %q", name, got)
		}
	}

	// The same for namespaces, two levels of them, in paths and as parent.
	for _, name := range oddNames {
		expect(t, s.do("POST", s.prefix+"/namespaces", fmt.Sprintf(`{"namespace":[%s]}`, quoted(name))), 200)
		expect(t, s.do("POST", s.prefix+"/namespaces", fmt.Sprintf(`{"namespace":[%s,%s]}`, quoted(name), quoted(name))), 200)
	}
	for _, name := range oddNames {
		want := fmt.Sprintf(`{"namespaces":[[%s,%s]]}`, printed(name), printed(name))
		for _, spell := range spellings {
			expect(t, s.do("HEAD", s.prefix+"/namespaces/"+spell(name)+"%1f"+spell(name), ""), 204)
			expect(t, s.do("GET", s.prefix+"/namespaces/"+spell(name)+"%1F"+spell(name)+"/tables", ""), 200)
			if got := s.do("GET", s.prefix+"/namespaces?parent="+spell(name), ""); got.status != 200 || got.body != want {
				t.Errorf("parent %q as %s: %d %s", name, spell(name), got.status, got.body)
			}
		}
	}
}

// printed is how the server prints a string: nothing escaped that need not be.
func printed(s string) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(quoted(s))
}

func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i:], strings.ToLower(string(b[i:i+3])))
			i += 2
		}
	}
	return string(b)
}

// PyIceberg escapes parent twice. What a single decoding finds comes first.
func TestParentEscapedTwiceIsFound(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for _, levels := range [][]string{{"a b"}, {"a b", "in/ner"}, {"a%20b"}} {
		body, err := json.Marshal(map[string]any{"namespace": levels})
		if err != nil {
			t.Fatal(err)
		}
		expect(t, s.do("POST", s.prefix+"/namespaces", string(body)), 200)
	}
	if got := s.do("GET", s.prefix+"/namespaces?parent=a%2520b%1Fin%252Fner", ""); got.status != 200 || got.body != `{"namespaces":[]}` {
		t.Errorf("twice: %d %s", got.status, got.body)
	}
	if got := s.do("GET", s.prefix+"/namespaces?parent=a%2520b", ""); got.body != `{"namespaces":[]}` {
		t.Errorf("a%%20b exists, and it is what was asked for: %s", got.body)
	}
	_, message := errorOf(t, expect(t, s.do("GET", s.prefix+"/namespaces?parent=no%252Fne", ""), 404))
	if message != "Namespace does not exist: no%2Fne" {
		t.Error(message)
	}
}

// Engines probe for metadata tables and system schemas.
func TestProbesOfEnginesAreCleanlyMissing(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", create("t")), 200)
	for path, kind := range map[string]string{
		"/namespaces/n%1Ft/tables/files":                   "NoSuchTableException NoSuchNamespaceException",
		"/namespaces/n/tables/t%2Ffiles":                   "NoSuchTableException",
		"/namespaces//tables/t":                            "NoSuchTableException NoSuchNamespaceException",
		"/namespaces/t/tables/snapshots":                   "NoSuchTableException NoSuchNamespaceException",
		"/namespaces/system":                               "NoSuchNamespaceException",
		"/namespaces/information_schema/tables":            "NoSuchNamespaceException",
		"/namespaces/n/tables/" + strings.Repeat("x", 300): "NoSuchTableException",
		"/namespaces/n/tables/a%0Ab":                       "NoSuchTableException",
		"/namespaces/a%07b/tables/t":                       "NoSuchTableException NoSuchNamespaceException",
	} {
		got := expect(t, s.do("GET", s.prefix+path, ""), 404)
		if name, _ := errorOf(t, got); !strings.Contains(kind, name) {
			t.Errorf("%s: %s", path, got.body)
		}
	}
}

func TestListsPageOnlyWhenAskedByToken(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	tables := s.prefix + "/namespaces/n/tables"
	var want []string
	for i := range 25 {
		want = append(want, fmt.Sprintf("p%02d", i))
		expect(t, s.do("POST", tables, create(want[i])), 200)
	}
	if got := s.do("GET", tables+"?pageSize=10", ""); len(names(t, got)) != 25 || strings.Contains(got.body, "next-page-token") {
		t.Errorf("pageSize alone: %s", got.body)
	}
	walk := func(between func()) []string {
		token, all, tokens := "", []string{}, map[string]bool{}
		for range 10 {
			got := s.do("GET", tables+"?pageToken="+url.QueryEscape(token)+"&pageSize=10", "")
			page := names(t, got)
			if len(page) > 10 {
				t.Errorf("a page of %d", len(page))
			}
			all = append(all, page...)
			var doc struct {
				Next string `json:"next-page-token"`
			}
			if err := json.Unmarshal([]byte(got.body), &doc); err != nil {
				t.Fatal(err)
			}
			if doc.Next == "" {
				break
			}
			if tokens[doc.Next] {
				t.Fatal("a token came twice")
			}
			token = doc.Next
			tokens[token] = true
			if between != nil {
				between()
				between = nil
			}
		}
		slices.Sort(all)
		return all
	}
	if got := walk(nil); !slices.Equal(got, want) {
		t.Errorf("walked %q", got)
	}
	got := walk(func() {
		expect(t, s.do("DELETE", tables+"/p03", ""), 204)
		expect(t, s.do("POST", tables, create("p05a")), 200)
		expect(t, s.do("POST", tables, create("a_first")), 200)
	})
	for _, name := range want {
		if n := count(got, name); n > 1 || n == 0 && name != "p03" {
			t.Errorf("%s was seen %d times", name, n)
		}
	}
	refused(t, s.do("GET", tables+"?pageToken=garbage&pageSize=10", ""), 400, "BadRequestException")
}

func count(list []string, want string) (n int) {
	for _, s := range list {
		if s == want {
			n++
		}
	}
	return n
}

// together runs n requests at once and counts the answers by status and type.
func together(n int, request func(i int) answer) map[string]int {
	var wg sync.WaitGroup
	answers := make([]answer, n)
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			answers[i] = request(i)
		})
	}
	close(start)
	wg.Wait()
	counts := map[string]int{}
	for _, a := range answers {
		var doc struct{ Error struct{ Type string } }
		_ = json.Unmarshal([]byte(a.body), &doc)
		counts[strings.TrimSpace(fmt.Sprint(a.status, " ", doc.Error.Type))]++
	}
	return counts
}

func TestRacesHaveOneWinnerAndTypedLosers(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for round := range 3 {
		ns := fmt.Sprintf("r%d", round)
		made := together(8, func(i int) answer {
			return s.do("POST", s.prefix+"/namespaces", fmt.Sprintf(`{"namespace":[%q],"properties":{"by":"%d"}}`, ns, i))
		})
		if made["200"] != 1 || made["409 AlreadyExistsException"] != 7 {
			t.Errorf("namespaces: %v", made)
		}
		made = together(8, func(int) answer { return s.do("POST", s.prefix+"/namespaces/"+ns+"/tables", create("t")) })
		if made["200"] != 1 || made["409 AlreadyExistsException"] != 7 {
			t.Errorf("tables: %v", made)
		}
		dropped := together(8, func(int) answer { return s.do("DELETE", s.prefix+"/namespaces/"+ns+"/tables/t", "") })
		if dropped["204"] != 1 || dropped["404 NoSuchTableException"] != 7 {
			t.Errorf("table drops: %v", dropped)
		}
		dropped = together(8, func(int) answer { return s.do("DELETE", s.prefix+"/namespaces/"+ns, "") })
		if dropped["204"] != 1 || dropped["404 NoSuchNamespaceException"] != 7 {
			t.Errorf("namespace drops: %v", dropped)
		}
	}
}

func TestKeyedRequestsAreCarriedOutOnce(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	const key = "0190a000-0000-7000-8000-0000000000aa"
	first := expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`, "Idempotency-Key", key), 200)
	again := expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`, "Idempotency-Key", key), 200)
	if first.body != again.body {
		t.Errorf("%s, then %s", first.body, again.body)
	}
	refused(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["m"]}`, "Idempotency-Key", key), 422, "UnprocessableEntityException")
	refused(t, s.do("DELETE", s.prefix+"/namespaces/n", "", "Idempotency-Key", key), 422, "UnprocessableEntityException")
	refused(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["m"]}`, "Idempotency-Key", "nonsense"), 400, "BadRequestException")

	const drop = "0190a000-0000-7000-8000-0000000000ab"
	expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", create("t")), 200)
	expect(t, s.do("DELETE", s.prefix+"/namespaces/n/tables/t", "", "Idempotency-Key", drop), 204)
	expect(t, s.do("DELETE", s.prefix+"/namespaces/n/tables/t", "", "Idempotency-Key", drop), 204)
	expect(t, s.do("DELETE", s.prefix+"/namespaces/n/tables/t", ""), 404)
}
