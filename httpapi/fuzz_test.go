package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/icecore-catalog/icecore/authz/allowall"
	"github.com/icecore-catalog/icecore/httpapi"
	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/usage"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

const icebergSpecification = "../schema/openapi/iceberg-rest.yaml"

// target is a server that is fuzzed, with what is needed to judge its answers.
type target struct {
	*stack
	t        testing.TB
	conn     *connection
	errors   *buffer             // log of net/http: panics that no middleware caught
	seeds    map[string][]string // bodies by method and template
	known    map[string][]string // see maker
	places   map[string][]string
	stand    func() // puts back what requests like to remove
	head     string // of the log, after the last request
	snapshot string // of everything, when the run of refusals began; empty if unknown
	refusals int    // since then
	counter  *usage.Counter
}

func newTarget(t testing.TB) *target {
	s := newStack(t)
	f := &target{stack: s, t: t, errors: &buffer{}, seeds: map[string][]string{}, counter: usage.NewCounter()}
	f.stand = f.objects
	server := httptest.NewUnstartedServer(s.with(t, allowall.Authorizer{}, func(d *httpapi.Deps) { d.Counter = f.counter }))
	server.Config.MaxHeaderBytes = httpapi.MaxHeaders
	server.Listener = httpapi.Listener(server.Listener)
	server.Config.ErrorLog = log.New(f.errors, "", 0)
	server.Start()
	f.conn = &connection{addr: server.Listener.Addr().String()}
	t.Cleanup(func() {
		f.conn.close()
		server.Close()
	})
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	s.dropTable(t, "dropped")
	f.objects()
	uuids := f.uuids()
	s.table = uuids[0]
	for _, asked := range []map[string][2]string{requests(s), managementRequests(s)} {
		for key, request := range asked {
			if request[1] != "" {
				f.seeds[key] = append(f.seeds[key], request[1])
			}
		}
	}
	below := "file://" + s.root + "/demo"
	f.seed(below, uuids)
	f.places = map[string][]string{
		"{namespace}": {"n", "n", "n", "n%1Fm", "empty"}, "{table}": {"t", "t", "t", "u", "v"}, "{view}": {"v", "v", "v", "t", "w"}, "{function}": {"f"},
		"{warehouse_id}": {strings.TrimPrefix(s.prefix, "/catalog/v1/")}, "{project_id}": {"00000000-0000-0000-0000-000000000000", "p"}, "{table_id}": {uuids[0]}, "{view_id}": {uuids[1]},
		"{namespace_id}": {s.anyID("SELECT namespace_id::text FROM rm.namespace")},
	}
	f.known = map[string][]string{
		"namespace": {`["n"]`, `["n"]`, `["n","m"]`, `["new"]`, `["x","y"]`}, "name": {`"t"`, `"t"`, `"u"`, `"v"`, `"w"`, `"new"`}, "default-namespace": {`["n"]`, `[]`}, "parent": {"n", "n\x1fm", "x"},
		"type":      {`"long"`, `"string"`, `"int"`, `"decimal(9,2)"`, `"timestamptz"`, `"fixed[4]"`, `"geometry"`, `"variant"`, `"branch"`, `"sql"`},
		"transform": {`"identity"`, `"bucket[4]"`, `"day"`, `"void"`, `"truncate[2]"`, `"other"`}, "uuid": {quoted(uuids[0]), quoted(uuids[1])},
		"metadata-location": {quoted(s.dropped), quoted(below + "/n/none/metadata/v1.metadata.json"), quoted(below)},
		"location":          {"null", quoted(below + "/n/new"), quoted(below + "/a b"), quoted(below + "/n/new/"), quoted(below), quoted("file:///etc"), quoted(below + "/n/t/metadata")},
		"snapshot-id":       {"1", "2", "3", "4", "null", "-1"}, "snapshot-ids": {"[1]", "[1,2,3]", "[]"}, "parent-snapshot-id": {"null", "-1", "1", "2"},
		"sequence-number": {"1", "2", "3", "40"}, "timestamp-ms": {strconv.FormatInt(time.Now().UnixMilli(), 10), "1", "1700000000000"}, "manifest-list": {quoted(below + "/n/t/metadata/snap.avro")},
		"schema-id": {"0", "-1", "1"}, "spec-id": {"0", "-1", "1"}, "sort-order-id": {"0", "-1", "1"}, "order-id": {"0", "1"}, "ref-name": {`"main"`, `"main"`, `"b"`}, "ref": {`"main"`, `"b"`},
		"source-id": {"1", "2", "9"}, "field-id": {"1000", "1001", "null"}, "id": {"1", "2", "3", "4"}, "format-version": {"1", "2", "3", "4"}, "identifier-field-ids": {"[]", "[1]"}, "last-column-id": {"2", "9"},
		"current-schema-id": {"0", "1"}, "default-spec-id": {"0"}, "default-sort-order-id": {"0"}, "last-assigned-field-id": {"2"}, "last-assigned-partition-id": {"999"},
		"properties": {"{}", `{"a":"b"}`, `{"format-version":"3"}`, `{"write.metadata.path":` + quoted(below+"/n/meta") + `}`, `{"write.metadata.previous-versions-max":"1","write.metadata.delete-after-commit.enabled":"true"}`, "null"},
		"operation":  {`"append"`, `"delete"`}, "view-version-id": {"-1", "1", "2"}, "version-id": {"1", "2"}, "dialect": {`"spark"`, `"trino"`}, "warehouse": {"demo", "nowhere"}, "pageSize": {"1", "2", "100"}, "pageToken": {"", "x"},
	}
	f.head = f.logHead()
	return f
}

// objects makes what requests are about, where it is missing.
func (f *target) objects() {
	for _, ns := range []string{`["n"]`, `["n","m"]`, `["empty"]`} {
		f.do("POST", f.prefix+"/namespaces", `{"namespace":`+ns+`}`)
	}
	f.do("POST", f.prefix+"/namespaces/n/tables", create("t"))
	f.do("POST", f.prefix+"/namespaces/n/tables", create("u"))
	f.do("POST", f.prefix+"/namespaces/n/views", createView("v"))
}

// uuids returns those of the table t and the view v.
func (f *target) uuids() (uuids [2]string) {
	f.t.Helper()
	for i, path := range []string{"/namespaces/n/tables/t", "/namespaces/n/views/v"} {
		found := regexp.MustCompile(`"(?:table|view)-uuid":"([^"]*)"`).FindStringSubmatch(f.do("GET", f.prefix+path, "").body)
		if found == nil {
			f.t.Fatalf("%s is missing", path)
		}
		uuids[i] = found[1]
	}
	return uuids
}

// seed adds bodies as clients send them.
func (f *target) seed(below string, uuids [2]string) {
	fill := strings.NewReplacer("@root@", below, "@uuid@", uuids[0], "@view@", uuids[1])
	made := `{"action":"assign-uuid","uuid":"018f3c1e-7b2a-7cde-8f01-00000000bbbb"},{"action":"upgrade-format-version","format-version":2},{"action":"add-schema","schema":` + schema + `,"last-column-id":2},{"action":"set-current-schema","schema-id":-1},{"action":"add-spec","spec":{"spec-id":0,"fields":[{"source-id":1,"field-id":1000,"name":"p","transform":"bucket[4]"}]}},` +
		`{"action":"set-default-spec","spec-id":-1},{"action":"add-sort-order","sort-order":{"order-id":1,"fields":[{"source-id":1,"transform":"identity","direction":"asc","null-order":"nulls-first"}]}},{"action":"set-default-sort-order","sort-order-id":-1},{"action":"set-location","location":"@root@/n/made"},{"action":"set-properties","updates":{"a":"b"}}`
	commits := []string{
		commit(`{"type":"assert-create"}`, made), commit("", snapshot(1, "", 1)+","+branch("main", 1)), commit(`{"type":"assert-table-uuid","uuid":"@uuid@"},{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":1}`, snapshot(2, "1", 2)+","+branch("main", 2)),
		commit("", snapshot(3, "", 9)+","+branch("b", 3)+`,{"action":"remove-snapshots","snapshot-ids":[1]},{"action":"set-snapshot-ref","ref-name":"v1","type":"tag","snapshot-id":3,"max-ref-age-ms":1}`), commit("", `{"action":"upgrade-format-version","format-version":3}`),
		commit("", `{"action":"set-statistics","snapshot-id":1,"statistics":{"snapshot-id":1,"statistics-path":"@root@/1.stats","file-size-in-bytes":1,"file-footer-size-in-bytes":1,"blob-metadata":[{"type":"x","snapshot-id":1,"sequence-number":1,"fields":[1],"properties":{"a":"b"}}]}},{"action":"remove-statistics","snapshot-id":1}`),
		commit("", `{"action":"add-schema","schema":{"type":"struct","schema-id":1,"identifier-field-ids":[],"fields":[{"id":1,"name":"id","required":false,"type":"long"},{"id":3,"name":"c","required":false,"type":{"type":"map","key-id":4,"key":"string","value-id":5,"value":{"type":"list","element-id":6,"element":"decimal(9,2)","element-required":false},"value-required":false},"doc":"x"}]}},{"action":"set-current-schema","schema-id":-1}`),
		commit("", `{"action":"add-encryption-key","encryption-key":{"key-id":"k","encrypted-key-metadata":"YQ==","encrypted-by-id":"m","properties":{}}},{"action":"remove-encryption-key","key-id":"k"},{"action":"set-location","location":"@root@/n/moved"}`),
	}
	table := "/catalog/v1/{prefix}/namespaces/{namespace}/tables/{table}"
	for _, body := range commits {
		body = fill.Replace(body)
		f.seeds["POST "+table] = append(f.seeds["POST "+table], body)
		const transaction = "POST /catalog/v1/{prefix}/transactions/commit"
		f.seeds[transaction] = append(f.seeds[transaction], `{"table-changes":[{"identifier":{"namespace":["n"],"name":"t"},`+body[1:]+`,{"identifier":{"namespace":["n"],"name":"u"},"updates":[{"action":"set-properties","updates":{"a":"b"}}]}]}`)
	}
	view := "POST /catalog/v1/{prefix}/namespaces/{namespace}/views/{view}"
	for _, body := range []string{replace(`{"type":"assert-view-uuid","uuid":"@view@"}`, viewVersion(2, 0, "spark", "select 2")), replace("", viewVersion(2, -1, "spark", "select 3", "trino", "x")), commit("", `{"action":"set-location","location":"@root@/n/view"},{"action":"set-properties","updates":{"replace.drop-dialect.allowed":"true"}}`)} {
		f.seeds[view] = append(f.seeds[view], fill.Replace(body))
	}
}

// logHead says how far the log got.
func (f *target) logHead() string {
	f.t.Helper()
	var n, top int64
	if err := f.db.Owner.QueryRow(f.t.Context(), "SELECT count(*), coalesce(max(append_seq), 0) FROM es.event").Scan(&n, &top); err != nil {
		f.t.Fatal(err)
	}
	return fmt.Sprint(n, " events, the last numbered ", top)
}

// bystanders are rows that a refusal may leave: the fates of commits, what is
// kept to repeat the answer to a keyed request, and reports, which are written
// in their own time.
var bystanders = regexp.MustCompile(`(?m)^(es\.commit|es\.idempotency|ops\.\w+) .*$`)

func (f *target) everything() string {
	return bystanders.ReplaceAllString(f.state(f.t), "")
}

// judge fails the test unless the answer is one that any client can live with,
// and a refusal left the log alone.
func (f *target) judge(w wild, got answer) {
	f.t.Helper()
	problem := f.wrong(w, got)
	if head := f.logHead(); got.status < 400 {
		f.head, f.snapshot, f.refusals = head, "", 0
	} else {
		f.refusals++
		if head != f.head && problem == "" {
			problem = fmt.Sprintf("a refused request moved the log: %s, before %s", head, f.head)
		}
	}
	if problem != "" {
		f.t.Fatal(report(problem, w, got))
	}
}

func report(problem string, w wild, got answer) string {
	return fmt.Sprintf("%s\nasked %v\nanswered %d %v %.3000s", problem, w, got.status, got.header, got.body)
}

// compare compares everything with what it was when the run of refusals began.
func (f *target) compare() {
	f.t.Helper()
	now := f.everything()
	if f.snapshot != "" && f.refusals > 0 && now != f.snapshot {
		f.t.Fatalf("%d refused requests changed something:\n%s\nwas\n%s", f.refusals, now, f.snapshot)
	}
	f.snapshot, f.refusals = now, 0
}

// fuzzing says how long to go on, and from where.
func fuzzing(t *testing.T) (seed uint64, duration time.Duration) {
	t.Helper()
	seed = rand.Uint64()
	if text := os.Getenv("ICECORE_FUZZ_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	duration = 4 * time.Second
	if os.Getenv("ICECORE_LONG") != "" {
		duration = 10 * time.Minute
	}
	return seed, duration
}

// TestWildRequests sends requests that the specification allows and others
// that nothing allows. Whatever comes: no server error, no answer outside the
// error model, nothing changed by what was refused, nothing told of the
// inside, and what was accepted can be read and rebuilt.
//
// ICECORE_FUZZ_SEED repeats a run; ICECORE_LONG makes it ten minutes.
func TestWildRequests(t *testing.T) {
	t.Parallel()
	seed, duration := fuzzing(t)
	f := newTarget(t)
	f.wild(t, readSpecification(t, icebergSpecification), "/catalog", 25, duration, seed)
}

// The same for the management API, by Lakekeeper's specification.
func TestWildManagementRequests(t *testing.T) {
	t.Parallel()
	seed, duration := fuzzing(t)
	f := newTarget(t)
	f.stand = func() {
		warehouse := "/management/v1/warehouse/" + strings.TrimPrefix(f.prefix, "/catalog/v1/")
		f.do("POST", warehouse+"/activate", "")
		f.do("POST", warehouse+"/rename", `{"new-name":"demo"}`)
		f.objects()
	}
	f.wild(t, readSpecification(t, managementSpec), "", 25, duration/2, seed)
}

// Many clients at once send wild requests: whatever meets whatever, nobody is
// answered with an error of the server, and the read models are those of the log.
func TestWildRequestsTogether(t *testing.T) {
	t.Parallel()
	seed, duration := fuzzing(t)
	f := newTarget(t)
	spec := readSpecification(t, icebergSpecification)
	var operations []operation
	for _, op := range spec.operations(t) {
		if f.serves("/catalog", op) {
			operations = append(operations, op)
		}
	}
	end := time.Now().Add(duration / 2)
	var clients sync.WaitGroup
	for i := range uint64(6) {
		m := &maker{Rand: rand.New(rand.NewPCG(seed, i)), spec: spec, known: f.known, places: f.places, root: "/catalog", base: f.prefix}
		conn := &connection{addr: f.conn.addr}
		clients.Go(func() {
			defer conn.close()
			for n := 0; (time.Now().Before(end) || n < 20) && !t.Failed(); n++ {
				op := operations[m.IntN(len(operations))]
				w := m.request(t, op, f.seeds[op.method+" /catalog"+op.path])
				got, err := conn.send(w)
				if err != nil {
					t.Error(err)
				} else if problem := f.wrong(w, got); problem != "" {
					t.Error(report(problem, w, got))
				}
				if i == 0 && n%8 == 0 {
					f.objects()
				}
			}
		})
	}
	clients.Wait()
	t.Logf("ICECORE_FUZZ_SEED=%d", seed)
	f.readable(wild{})
	f.stored()
}

// stored fails the test unless what is written beside the requests can be: how
// often each was asked, and the reports that were taken.
func (f *target) stored() {
	f.t.Helper()
	if err := usage.NewStore(f.db.App, clock.System{}).Flush(f.t.Context(), f.counter); err != nil {
		f.t.Error(err)
	}
	var requests int64
	if err := f.db.App.QueryRow(f.t.Context(), "SELECT COALESCE(sum(requests), 0)::bigint FROM ops.endpoint_statistics").Scan(&requests); err != nil || requests == 0 {
		f.t.Errorf("%d requests were counted, %v", requests, err)
	}
	for _, keeper := range f.keepers {
		if lost := keeper.Close(f.t.Context()); lost > 0 {
			f.t.Errorf("%d reports were lost", lost)
		}
	}
}

// wild sends requests for those operations of a specification that are served.
func (f *target) wild(t *testing.T, spec *specification, root string, least int, duration time.Duration, seed uint64) {
	t.Helper()
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 0)), spec: spec, known: f.known, places: f.places, root: root, base: f.prefix}
	var operations []operation
	for _, op := range spec.operations(t) {
		if f.serves(root, op) {
			operations = append(operations, op)
		}
	}
	if len(operations) < least {
		t.Fatalf("only %d operations of the specification are served", len(operations))
	}
	sent, statuses := 0, map[int]int{}
	defer func() { t.Logf("ICECORE_FUZZ_SEED=%d: %d requests, %v", seed, sent, statuses) }()
	for end := time.Now().Add(duration); time.Now().Before(end) || sent < 2*len(operations); sent++ {
		op := operations[m.IntN(len(operations))]
		w := m.request(t, op, f.seeds[op.method+" "+root+op.path])
		got, err := f.conn.send(w)
		if err != nil {
			t.Fatal(err)
		}
		statuses[got.status]++
		f.judge(w, got)
		if m.chance(3) && op.method != "GET" && strings.Contains(strings.Join(w.header, "\n"), "Idempotency-Key: ") {
			f.again(w, got.status)
		}
		if got.status < 400 && op.method != "GET" && op.method != "HEAD" {
			f.readable(w)
			f.stand()
			f.head = f.logHead()
		}
		if sent%40 == 0 {
			f.compare()
		}
	}
	f.compare()
	f.stored()
}

// What the specification has and this server has not is refused in the error
// model, and config does not advertise it.
func TestOperationsThatAreNotServedAreRefused(t *testing.T) {
	t.Parallel()
	f := newTarget(t)
	config := f.do("GET", "/catalog/v1/config?warehouse=demo", "").body
	for _, op := range readSpecification(t, icebergSpecification).operations(t) {
		served := f.serves("/catalog", op)
		if advertised := strings.Contains(config, quoted(op.method+" "+op.path)); strings.Contains(op.path, "{prefix}") && advertised != served {
			t.Errorf("%s %s: served %v, advertised %v", op.method, op.path, served, advertised)
		}
		if served {
			continue
		}
		path := strings.NewReplacer("/v1/{prefix}", f.prefix, "{namespace}", "n", "{table}", "t", "{view}", "v", "{plan-id}", "p").Replace(op.path)
		got := f.do(op.method, path, "{}")
		if got.status != 404 && got.status != 405 && got.status != 501 {
			t.Errorf("%s %s: %d %s", op.method, path, got.status, got.body)
		}
		errorOf(t, got)
	}
}

// again repeats a keyed request: the answer is of the same kind, and the log
// stays as it is.
func (f *target) again(w wild, status int) {
	f.t.Helper()
	got, err := f.conn.send(w)
	if err != nil {
		f.t.Fatal(err)
	}
	if got.status != status {
		f.t.Fatal(report(fmt.Sprintf("the first time it was %d", status), w, got))
	}
	if head := f.logHead(); head != f.head {
		f.t.Fatal(report(fmt.Sprintf("once more moved the log: %s, before %s", head, f.head), w, got))
	}
}

// serves reports whether a route serves an operation.
func (f *target) serves(root string, op operation) bool {
	return slices.ContainsFunc(httpapi.Routes(httpapi.Deps{}), func(r wire.Route) bool { return r.Method == op.method && r.Template == root+op.path })
}

// readable fails the test if what was accepted made something unreadable.
func (f *target) readable(w wild) {
	f.t.Helper()
	for _, path := range []string{"/namespaces", "/namespaces/n", "/namespaces/n/tables", "/namespaces/n/views", "/namespaces/n/tables/t", "/namespaces/n/tables/t?snapshots=refs", "/namespaces/n/views/v"} {
		got := f.do("GET", f.prefix+path, "")
		if got.status != 200 && got.status != 404 || got.status == 200 && !json.Valid([]byte(got.body)) || !utf8.ValidString(got.body) {
			f.t.Fatalf("after %v\n%s: %d %s", w, path, got.status, bytes.ToValidUTF8([]byte(got.body), nil))
		}
	}
}
