package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/icecore-catalog/icecore/httpapi"
	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/projections/projectionstest"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

const icebergSpecification = "../schema/openapi/iceberg-rest.yaml"

// target is a server that is fuzzed, with what is needed to judge its answers.
type target struct {
	*stack
	t        testing.TB
	conn     *connection
	errors   *buffer // log of net/http: panics that no middleware caught
	seeds    map[string]string
	known    map[string][]string
	head     string // of the log, after the last request
	snapshot string // of everything, when the run of refusals began; empty if unknown
	refusals int    // since then
}

func newTarget(t testing.TB) *target {
	s := newStack(t)
	f := &target{stack: s, t: t, errors: &buffer{}, seeds: map[string]string{}}
	server := httptest.NewUnstartedServer(s.handler)
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
	uuids := f.stand()
	s.table = uuids[0]
	for key, request := range requests(s) {
		f.seeds[key] = request[1]
	}
	below := "file://" + s.root + "/demo"
	f.known = map[string][]string{
		"namespace": {`["n"]`, `["n"]`, `["n","m"]`, `["new"]`, `["x","y"]`}, "name": {`"t"`, `"t"`, `"u"`, `"v"`, `"w"`, `"new"`}, "default-namespace": {`["n"]`, `[]`}, "parent": {"n", "n\x1fm", "x"},
		"type":      {`"long"`, `"string"`, `"int"`, `"decimal(9,2)"`, `"timestamptz"`, `"fixed[4]"`, `"geometry"`, `"variant"`, `"branch"`, `"sql"`},
		"transform": {`"identity"`, `"bucket[4]"`, `"day"`, `"void"`, `"truncate[2]"`, `"other"`}, "uuid": {quoted(uuids[0]), quoted(uuids[1])},
		"metadata-location": {quoted(s.dropped), quoted(below + "/n/none/metadata/v1.metadata.json"), quoted(below)},
		"location":          {"null", quoted(below + "/n/new"), quoted(below + "/a b"), quoted(below + "/n/new/"), quoted(below)},
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

// stand puts back what requests like to remove, and returns the uuids of the
// table t and the view v where they stand.
func (f *target) stand() [2]string {
	f.t.Helper()
	for _, ns := range []string{`["n"]`, `["n","m"]`, `["empty"]`} {
		f.do("POST", f.prefix+"/namespaces", `{"namespace":`+ns+`}`)
	}
	f.do("POST", f.prefix+"/namespaces/n/tables", create("t"))
	f.do("POST", f.prefix+"/namespaces/n/tables", create("u"))
	f.do("POST", f.prefix+"/namespaces/n/views", createView("v"))
	var uuids [2]string
	for i, path := range []string{"/namespaces/n/tables/t", "/namespaces/n/views/v"} {
		if found := regexp.MustCompile(`"(?:table|view)-uuid":"([^"]*)"`).FindStringSubmatch(f.do("GET", f.prefix+path, "").body); found != nil {
			uuids[i] = found[1]
		}
	}
	return uuids
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

// internals are texts that no client may read.
var internals = regexp.MustCompile(`(?i)SQLSTATE|\bpgx\b|\bpq:|\bSELECT .* FROM\b|\bINSERT INTO\b|\bUPDATE \w+\.\w+ SET\b|duplicate key value|violates|relation "|syntax error at|goroutine \d|\.go:\d|panic|runtime error|nil pointer|index out of range|0x[0-9a-f]{8}|no such file|permission denied|not a directory|file name too long|\blstat\b|\bmkdir\b|\bopen /|json: (?:cannot unmarshal|unsupported|invalid)|strconv\.|invalid character|unexpected end of JSON|gzip: |yaml:|context deadline|context canceled|connection refused|%!`)

// judge fails the test unless the answer is one that any client can live with.
func (f *target) judge(w wild, got answer) {
	t := f.t
	t.Helper()
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("%s\nasked %v\nanswered %d %v %.3000s", fmt.Sprintf(format, args...), w, got.status, got.header, got.body)
	}
	if log := f.errors.String(); strings.Contains(log, "panic") {
		fail("the server panicked: %s", log)
	}
	if got.status < 400 {
		f.head, f.snapshot, f.refusals = f.logHead(), "", 0
		if !slices.Contains(w.op.successes, strconv.Itoa(got.status)) && got.status != http.StatusNotModified {
			fail("not a documented success")
		}
		if (got.body == "") != (got.status != 200 || w.op.method == "HEAD") {
			fail("a body that should not be there, or none")
		}
		if got.body != "" && got.header.Get("Content-Encoding") == "" && !json.Valid([]byte(got.body)) {
			fail("not JSON")
		}
		return
	}
	if got.status >= 500 {
		fail("an error of the server")
	}
	if head := f.logHead(); head != f.head {
		fail("a refused request moved the log: %s, before %s", head, f.head)
	}
	f.refusals++
	if w.op.method == "HEAD" {
		if got.body != "" {
			fail("a body")
		}
		return
	}
	if strings.HasSuffix(strings.SplitN(w.target, "?", 2)[0], "/oauth/tokens") && got.status == 400 && strings.Contains(got.body, `"error_description"`) {
		return // the error form of OAuth
	}
	_, message := errorOf(t, got)
	if !utf8.ValidString(got.body) || t.Failed() {
		fail("not the error model")
	}
	// Clients know their warehouse; long texts of theirs are cut short.
	own := regexp.MustCompile(regexp.QuoteMeta(f.root)+`(/demo|/?d?e?m?…)`).ReplaceAllString(message, "")
	if strings.Contains(own, f.root) {
		fail("a path outside of the warehouse is told")
	}
	for _, leak := range internals.FindAllString(own, -1) {
		if !strings.Contains(w.body+w.target, leak) {
			fail("internals are told: %q", leak)
		}
	}
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

// TestWildRequests sends requests that the specification allows and others
// that nothing allows. Whatever comes: no server error, no answer outside the
// error model, nothing changed by what was refused, nothing told of the
// inside, and what was accepted can be read and rebuilt.
//
// ICECORE_FUZZ_SEED repeats a run; ICECORE_LONG makes it ten minutes.
func TestWildRequests(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	if text := os.Getenv("ICECORE_FUZZ_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	duration := 4 * time.Second
	if os.Getenv("ICECORE_LONG") != "" {
		duration = 10 * time.Minute
	}
	f := newTarget(t)
	spec := readSpecification(t, icebergSpecification)
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 0)), spec: spec, known: f.known}
	var operations []operation
	for _, op := range spec.operations(t) {
		if f.serves(op) {
			operations = append(operations, op)
		}
	}
	if len(operations) < 25 {
		t.Fatalf("only %d operations of the specification are served", len(operations))
	}
	sent, statuses := 0, map[int]int{}
	defer func() { t.Logf("ICECORE_FUZZ_SEED=%d: %d requests, %v", seed, sent, statuses) }()
	for end := time.Now().Add(duration); time.Now().Before(end) || sent < len(operations); sent++ {
		op := operations[m.IntN(len(operations))]
		w := m.request(t, op, f.prefix, f.seeds[op.method+" /catalog"+op.path])
		got := f.conn.send(t, w)
		statuses[got.status]++
		f.judge(w, got)
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
	projectionstest.RequireRebuildEqual(t, f.db.App)
}

// What the specification has and this server has not is refused in the error
// model, and config does not advertise it.
func TestOperationsThatAreNotServedAreRefused(t *testing.T) {
	t.Parallel()
	f := newTarget(t)
	config := f.do("GET", "/catalog/v1/config?warehouse=demo", "").body
	for _, op := range readSpecification(t, icebergSpecification).operations(t) {
		served := f.serves(op)
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

// serves reports whether a route serves an operation.
func (f *target) serves(op operation) bool {
	return slices.ContainsFunc(httpapi.Routes(httpapi.Deps{}), func(r wire.Route) bool { return r.Method == op.method && r.Template == "/catalog"+op.path })
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
