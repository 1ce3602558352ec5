package httpapi_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/authz/allowall"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/httpapi"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/documents"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/queries"
	"github.com/icecore-catalog/icecore/storage"
)

const (
	warehouseID = "0190a000-0000-7000-8000-00000000000f"
	prefix      = "/catalog/v1/" + warehouseID
)

// noDatabase is a resolver that fails, panics or waits: what the HTTP side has
// to bear without a store behind it.
type noDatabase struct{ resolve func(context.Context) error }

func (n noDatabase) Resolve(ctx context.Context, _ ...projections.Query) ([]projections.Facts, error) {
	return nil, n.resolve(ctx)
}

// buffer is a log that can be read while it is written.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// lonely returns a server without a database and its log.
func lonely(t testing.TB, resolve func(context.Context) error, change ...func(*httpapi.Deps)) (http.Handler, *buffer) {
	t.Helper()
	log, resolver := &buffer{}, noDatabase{resolve}
	stores, err := storage.NewStores(storage.Config{})
	if err != nil {
		t.Fatal(err)
	}
	library := documents.NewLibrary(documents.Options{Opener: stores, Limit: 1 << 20, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() { library.Close(context.Background()) })
	deps := httpapi.Deps{
		Commands:     commands.New(commands.Deps{Resolver: resolver, Documents: library, Authorizer: allowall.Authorizer{}, Clock: clock.System{}, IDs: ids.NewV7(clock.System{})}),
		Queries:      queries.New(queries.Deps{Resolver: resolver, Documents: library, Authorizer: allowall.Authorizer{}}),
		Authorizer:   allowall.Authorizer{},
		IDs:          ids.NewV7(clock.System{}),
		Clock:        clock.System{},
		Log:          slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Metrics:      http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "up 1\n") }),
		Ready:        func(context.Context) error { return nil },
		Version:      "0.0.0",
		AuthzBackend: "allow-all",
	}
	for _, f := range change {
		f(&deps)
	}
	return httpapi.New(deps), log
}

func unreachable(context.Context) error { return errors.New("the database was asked") }

type answer struct {
	status int
	header http.Header
	body   string
}

// errorOf checks that an answer is the error model and returns its type.
func errorOf(t testing.TB, a answer) (name, message string) {
	t.Helper()
	var doc map[string]map[string]any
	if err := json.Unmarshal([]byte(a.body), &doc); err != nil || len(doc) != 1 || len(doc["error"]) != 3 {
		t.Fatalf("%d %q is not the error model: %v", a.status, a.body, err)
	}
	if got := a.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("%d has content type %q", a.status, got)
	}
	if code := doc["error"]["code"]; code != float64(a.status) {
		t.Errorf("%d has code %v", a.status, code)
	}
	name, _ = doc["error"]["type"].(string)
	message, _ = doc["error"]["message"].(string)
	if name == "" || message == "" {
		t.Errorf("%d %s: type or message is empty", a.status, a.body)
	}
	return name, message
}

func do(h http.Handler, method, target, body string, header ...string) answer {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return answer{w.Code, w.Header(), w.Body.String()}
}

func TestErrorModelOnEveryPath(t *testing.T) {
	t.Parallel()
	h, _ := lonely(t, unreachable, func(d *httpapi.Deps) { d.MaxBody = 3000 })
	deep := `{"namespace":["a"],"x":` + strings.Repeat("[", 1001) + strings.Repeat("]", 1001) + "}"
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		kind                     string
	}{
		{"unknown root", "GET", "/nothing", "", 404, "BadRequestException"},
		{"unknown route", "GET", prefix + "/nothing", "", 404, "BadRequestException"},
		{"function in the empty namespace", "GET", prefix + "/namespaces//functions/f", "", 404, "NoSuchNamespaceException"},
		{"credentials in the empty namespace", "GET", prefix + "/namespaces//tables/t/credentials", "", 404, "NoSuchTableException"},
		{"unserved management", "GET", "/management/v1/role", "", 404, "BadRequestException"},
		{"trailing slash", "GET", prefix + "/namespaces/a/tables/b/", "", 404, "BadRequestException"},
		{"double slash", "GET", "/catalog//v1/config", "", 404, "BadRequestException"},
		{"dot segments are not cleaned", "GET", "/catalog/x/../v1/config", "", 404, "BadRequestException"},
		{"slash in a name is another route", "GET", prefix + "/namespaces/a/tables/b/c", "", 404, "BadRequestException"},
		{"no prefix", "DELETE", "/catalog/v1/namespaces/a/tables/b", "", 404, "BadRequestException"},
		{"wrong method", "PUT", prefix + "/namespaces/a", "", 405, "BadRequestException"},
		{"wrong method on config", "POST", "/catalog/v1/config", "{}", 405, "BadRequestException"},
		{"unknown method", "BREW", prefix + "/namespaces", "", 405, "BadRequestException"},
		{"body too large", "POST", prefix + "/namespaces", strings.Repeat("x", 3001), 413, "BadRequestException"},
		{"body too large, unknown route", "POST", "/nothing", strings.Repeat("x", 3001), 413, "BadRequestException"},
		{"empty body", "POST", prefix + "/namespaces", "", 400, "BadRequestException"},
		{"bad JSON", "POST", prefix + "/namespaces", "{", 400, "BadRequestException"},
		{"not an object", "POST", prefix + "/namespaces/a/tables", "[]", 400, "BadRequestException"},
		{"repeated name", "POST", prefix + "/namespaces", `{"namespace":["a"],"namespace":["b"]}`, 400, "BadRequestException"},
		{"deep nesting", "POST", prefix + "/namespaces", deep, 400, "BadRequestException"},
		{"wrong type", "POST", prefix + "/namespaces", `{"namespace":"a"}`, 400, "BadRequestException"},
		{"namespace missing", "POST", prefix + "/namespaces", `{}`, 400, "BadRequestException"},
		{"properties of numbers", "POST", prefix + "/namespaces", `{"namespace":["a"],"properties":{"k":1}}`, 400, "BadRequestException"},
		{"updates no array", "POST", prefix + "/namespaces/a/tables/t", `{"updates":{}}`, 400, "BadRequestException"},
		{"rename without destination", "POST", prefix + "/tables/rename", `{"source":{"namespace":["a"],"name":"t"}}`, 400, "BadRequestException"},
		{"rename without name", "POST", prefix + "/tables/rename", `{"source":{"namespace":["a"]},"destination":{"namespace":["a"],"name":"t"}}`, 400, "BadRequestException"},
		{"transaction without changes", "POST", prefix + "/transactions/commit", `{}`, 400, "BadRequestException"},
		{"change without identifier", "POST", prefix + "/transactions/commit", `{"table-changes":[{"updates":[]}]}`, 400, "BadRequestException"},
		{"register without location", "POST", prefix + "/namespaces/a/register", `{"name":"t"}`, 400, "BadRequestException"},
		{"prefix is no id", "GET", "/catalog/v1/demo/namespaces", "", 404, "NoSuchWarehouseException"},
		{"namespace is not UTF-8", "GET", prefix + "/namespaces/%ff", "", 400, "BadRequestException"},
		{"NUL in a name", "GET", prefix + "/namespaces/a/tables/%00", "", 400, "BadRequestException"},
		{"NUL in a body", "POST", prefix + "/namespaces", `{"namespace":["a\u0000"]}`, 400, "BadRequestException"},
		{"table in the empty namespace", "GET", prefix + "/namespaces//tables/t", "", 404, "NoSuchTableException"},
		{"empty namespace", "GET", prefix + "/namespaces/", "", 404, "NoSuchNamespaceException"},
		{"empty level of parent", "GET", prefix + "/namespaces?parent=a%1F", "", 404, "NoSuchNamespaceException"},
		{"page size 0", "GET", prefix + "/namespaces?pageToken=&pageSize=0", "", 400, "BadRequestException"},
		{"bad escape in the query", "GET", prefix + "/namespaces?parent=%zz", "", 400, "BadRequestException"},
		{"purgeRequested", "DELETE", prefix + "/namespaces/a/tables/t?purgeRequested=maybe", "", 400, "BadRequestException"},
		{"config without warehouse", "GET", "/catalog/v1/config", "", 400, "BadRequestException"},
		{"config with empty warehouse", "GET", "/catalog/v1/config?warehouse=", "", 400, "BadRequestException"},
		{"warehouse id", "GET", "/management/v1/warehouse/demo", "", 404, "NoSuchWarehouseException"},
		{"warehouse without name", "POST", "/management/v1/warehouse", `{}`, 400, "BadRequestException"},
		{"warehouse without profile", "POST", "/management/v1/warehouse", `{"warehouse-name":"w"}`, 400, "BadRequestException"},
		{"soft deletion", "POST", "/management/v1/warehouse", `{"warehouse-name":"w","storage-profile":{"type":"file"},"delete-profile":{"type":"soft"}}`, 400, "BadRequestException"},
		{"bootstrap without terms", "POST", "/management/v1/bootstrap", `{}`, 400, "BadRequestException"},
		{"warehouse status", "GET", "/management/v1/warehouse?warehouseStatus=gone", "", 400, "BadRequestException"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := do(h, c.method, c.path, c.body)
			if kind, _ := errorOf(t, got); got.status != c.status || kind != c.kind {
				t.Errorf("%d %s, want %d %s", got.status, got.body, c.status, c.kind)
			}
			if got.header.Get("X-Request-Id") == "" {
				t.Error("no request id")
			}
		})
	}
}

func TestConfigWithoutWarehouseNamesTheParameter(t *testing.T) {
	t.Parallel()
	h, _ := lonely(t, unreachable)
	if _, message := errorOf(t, do(h, "GET", "/catalog/v1/config", "")); !strings.Contains(message, "warehouse") {
		t.Error(message)
	}
}

func TestWrongMethodTellsTheRightOnes(t *testing.T) {
	t.Parallel()
	h, _ := lonely(t, unreachable)
	for path, want := range map[string]string{
		prefix + "/namespaces/a/tables/t": "DELETE, GET, HEAD, POST",
		prefix + "/namespaces/a/tables":   "GET, POST",
		prefix + "/namespaces/a":          "DELETE, GET, HEAD",
		prefix + "/tables/rename":         "POST",
		"/catalog/v1/config":              "GET",
		"/management/v1/warehouse":        "GET, POST",
		"/health":                         "GET, HEAD",
	} {
		if got := do(h, "PATCH", path, ""); got.status != 405 || got.header.Get("Allow") != want {
			t.Errorf("%s: %d, Allow %q, want %q", path, got.status, got.header.Get("Allow"), want)
		}
	}
}

func TestPanicIsAnInternalErrorWithoutDetails(t *testing.T) {
	t.Parallel()
	h, log := lonely(t, unreachable, func(d *httpapi.Deps) {
		d.Ready = func(context.Context) error { panic("password=hunter2") }
	})
	got := do(h, "GET", "/ready", "", "X-Request-Id", warehouseID)
	if kind, message := errorOf(t, got); got.status != 500 || kind != "InternalServerError" || !strings.Contains(message, warehouseID) || strings.Contains(got.body, "hunter2") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if !strings.Contains(log.String(), "probes.go") {
		t.Error("the stack is not in the log")
	}
}

func TestPanicInsideAnAnswerBreaksTheConnection(t *testing.T) {
	t.Parallel()
	h, log := lonely(t, unreachable, func(d *httpapi.Deps) {
		d.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
			panic("boom")
		})
	})
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	response, err := http.Get(server.URL + "/metrics")
	if err == nil {
		_, err = io.ReadAll(response.Body)
		_ = response.Body.Close()
	}
	if err == nil {
		t.Error("the answer ended as if it were whole")
	}
	if !strings.Contains(log.String(), "boom") {
		t.Error("the panic is not in the log")
	}
}

func TestSlowBodyIsUnavailableBeforeAnythingHappened(t *testing.T) {
	t.Parallel()
	h, _ := lonely(t, unreachable, func(d *httpapi.Deps) { d.Timeout = 50 * time.Millisecond })
	got := overSocket(t, h, "POST "+prefix+"/namespaces HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{\"names")
	if got.status != 503 || got.header.Get("Retry-After") == "" {
		t.Errorf("%d %v %s", got.status, got.header, got.body)
	}
	errorOf(t, got)
}

// As long as nothing can have happened, a request that takes too long is
// refused in a way that lets clients try again, whatever it wanted.
func TestTimeoutBeforeAnySideEffectIsUnavailable(t *testing.T) {
	t.Parallel()
	h, _ := lonely(t, func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}, func(d *httpapi.Deps) { d.Timeout = 20 * time.Millisecond })
	for _, c := range [][3]string{
		{"GET", prefix + "/namespaces/a/tables/t", ""},
		{"GET", prefix + "/namespaces", ""},
		{"POST", prefix + "/namespaces", `{"namespace":["a"]}`},
		{"POST", prefix + "/namespaces/a/tables/t", `{"updates":[]}`},
		{"DELETE", prefix + "/namespaces/a/tables/t", ""},
	} {
		got := do(h, c[0], c[1], c[2])
		if kind, _ := errorOf(t, got); got.status != 503 || kind != "ServiceUnavailableException" || got.header.Get("Retry-After") == "" {
			t.Errorf("%s %s: %d %v %s", c[0], c[1], got.status, got.header, got.body)
		}
	}
}

func TestRequestIDIsKeptOrMade(t *testing.T) {
	t.Parallel()
	h, log := lonely(t, unreachable)
	if got := do(h, "GET", "/health", "", "X-Request-Id", strings.ToUpper(warehouseID)); got.header.Get("X-Request-Id") != warehouseID {
		t.Errorf("a UUID was not kept: %v", got.header)
	}
	for _, sent := range []string{"", "x", "evil\" log=1", "00000000-0000-0000-0000-000000000000"} {
		got := do(h, "GET", "/health", "", "X-Request-Id", sent)
		id, err := ids.Parse(got.header.Get("X-Request-Id"))
		if err != nil || id[6]>>4 != 7 {
			t.Errorf("%q: %v", sent, got.header)
		}
	}
	if strings.Contains(log.String(), "evil") {
		t.Error("a foreign id reached the log")
	}
}

func TestAccessLogHoldsNoHeaderAndNoQuery(t *testing.T) {
	t.Parallel()
	h, log := lonely(t, unreachable)
	do(h, "GET", prefix+"/nothing?token=s3cret", "", "Authorization", "Bearer s3cret", "Cookie", "s3cret", "Traceparent", "00-s3cret")
	do(h, "GET", "/catalog/v1/config?client_secret=s3cret", "", "Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if strings.Contains(log.String(), "s3cret") {
		t.Errorf("log: %s", log)
	}
	for _, want := range []string{"route=unmatched", "route=/catalog/v1/config", "status=400", "status=404", "request_id=", "traceparent=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %s in the log: %s", want, log)
		}
	}
}

func TestProbes(t *testing.T) {
	t.Parallel()
	var down error
	h, _ := lonely(t, unreachable, func(d *httpapi.Deps) { d.Ready = func(context.Context) error { return down } })
	for _, path := range []string{"/", "/health", "/ready", "/metrics"} {
		if got := do(h, "GET", path, ""); got.status != 200 || got.body == "" {
			t.Errorf("%s: %d %q", path, got.status, got.body)
		}
	}
	down = errors.New("host db.internal is away")
	got := do(h, "GET", "/ready", "")
	if _, message := errorOf(t, got); got.status != 503 || message != "Not ready" {
		t.Errorf("%d %s", got.status, got.body)
	}
	down = &catalog.Error{Kind: catalog.Unavailable, Message: "No spare partition"}
	if _, message := errorOf(t, do(h, "GET", "/ready", "")); message != "No spare partition" {
		t.Error(message)
	}
}

// overSocket sends bytes as they are and reads one answer.
func overSocket(t testing.TB, h http.Handler, request string) answer {
	t.Helper()
	raw := rawAnswer(t, h, request)
	response, err := http.ReadResponse(bufio.NewReader(strings.NewReader(raw)), nil)
	if err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	return answer{response.StatusCode, response.Header, string(body)}
}

// rawAnswer returns all that the server sends until it closes the connection,
// which "Connection: close" in the request or a refusal makes it do.
func rawAnswer(t testing.TB, h http.Handler, request string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 200 * time.Millisecond, MaxHeaderBytes: httpapi.MaxHeaders}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(httpapi.Listener(listener)); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve: %v", err)
		}
	}()
	defer func() {
		_ = server.Close()
		<-done
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(conn)
	if err != nil && len(raw) == 0 {
		t.Fatal(err)
	}
	return string(raw)
}

// What net/http refuses by itself is the error model too.
func TestRefusalsOfHTTPItselfAreTheErrorModel(t *testing.T) {
	t.Parallel()
	h, _ := lonely(t, unreachable)
	for name, request := range map[string]string{
		"invalid escape":    "GET " + prefix + "/namespaces/%zz HTTP/1.1\r\nHost: x\r\n\r\n",
		"control character": "GET " + prefix + "/namespaces/a\x1fb HTTP/1.1\r\nHost: x\r\n\r\n",
		"raw NUL":           "GET " + prefix + "/namespaces/\x00 HTTP/1.1\r\nHost: x\r\n\r\n",
		"space in the path": "GET " + prefix + "/namespaces/a b HTTP/1.1\r\nHost: x\r\n\r\n",
		"no host":           "GET /health HTTP/1.1\r\n\r\n",
		"an expectation":    "POST /health HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\nContent-Length: 2\r\n\r\n{}",
		"nonsense":          "hello\r\n\r\n",
		"transfer encoding": "POST /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: rot13\r\n\r\n",
		"huge header":       "GET /health HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 2<<20) + "\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := overSocket(t, h, request)
			if got.status < 400 {
				t.Errorf("%d %s", got.status, got.body)
			}
			errorOf(t, got)
		})
	}
}

func TestRawBytesInPathsAreRouted(t *testing.T) {
	t.Parallel()
	h, _ := lonely(t, unreachable)
	// The name is decoded and looked for: no refusal by HTTP, no other route.
	got := overSocket(t, h, "GET "+prefix+"/namespaces/a%2Fb/tables/\xc3\xa9\"| HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if kind, _ := errorOf(t, got); got.status == 404 || kind == "BadRequestException" {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestHeadAndEmptyAnswersHaveNoBody(t *testing.T) {
	t.Parallel()
	h, _ := lonely(t, unreachable)
	for _, path := range []string{"/health", "/nothing", prefix + "/namespaces/%ff", "/ready"} {
		raw := rawAnswer(t, h, fmt.Sprintf("HEAD %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path))
		head, body, ok := strings.Cut(raw, "\r\n\r\n")
		if !ok || body != "" {
			t.Errorf("HEAD %s: body %q after %q", path, body, head)
		}
		if !strings.Contains(head, "Content-Type: application/json") {
			t.Errorf("HEAD %s: %q", path, head)
		}
	}
}
