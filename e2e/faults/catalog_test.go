package faults_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// rest is a small Iceberg REST client that reports what a server said, without
// judging it.
type rest struct {
	http   *http.Client
	base   string // http://host:port
	prefix string // /catalog/v1/<warehouse id>
}

func newREST(addr string) *rest {
	return &rest{
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: 60 * time.Second},
		base: "http://" + addr,
	}
}

// said is one answer: status and, for failures, the error model's type.
type said struct {
	status int
	kind   string
	body   []byte
}

func (r *rest) do(ctx context.Context, method, path string, body any) (said, error) {
	var reader io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return said{}, err
		}
		reader = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, r.base+path, reader)
	if err != nil {
		return said{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := r.http.Do(request)
	if err != nil {
		return said{}, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return said{}, err
	}
	s := said{status: response.StatusCode, body: answer}
	if s.status >= 400 {
		var model struct {
			Error struct {
				Type string
				Code int
			}
		}
		if err := json.Unmarshal(answer, &model); err != nil || model.Error.Type == "" || model.Error.Code != s.status {
			return s, fmt.Errorf("%s %s: %d is outside the error model: %.200s", method, path, s.status, answer)
		}
		s.kind = model.Error.Type
	}
	return s, nil
}

// must is do for set-up steps, which have to succeed.
func (r *rest) must(t *testing.T, method, path string, body any) []byte {
	t.Helper()
	s, err := r.do(t.Context(), method, path, body)
	if err != nil || s.status >= 300 {
		t.Fatalf("%s %s: %d %s %v", method, path, s.status, s.body, err)
	}
	return s.body
}

// setUp bootstraps, makes the warehouse "w" on root, the namespace "ns" and
// the tables t0 to t<n-1>.
func (r *rest) setUp(t *testing.T, root string, tables int) {
	t.Helper()
	r.must(t, "POST", "/management/v1/bootstrap", map[string]any{"accept-terms-of-use": true})
	r.must(t, "POST", "/management/v1/warehouse", map[string]any{
		"warehouse-name": "w", "storage-profile": map[string]any{"type": "file", "root": "file://" + root},
	})
	r.connect(t)
	r.must(t, "POST", r.prefix+"/namespaces", map[string]any{"namespace": []string{"ns"}})
	for i := range tables {
		r.must(t, "POST", r.prefix+"/namespaces/ns/tables", createBody(i))
	}
}

func createBody(i int) map[string]any {
	return map[string]any{
		"name": "t" + strconv.Itoa(i),
		"schema": map[string]any{"type": "struct", "schema-id": 0, "fields": []any{
			map[string]any{"id": 1, "name": "id", "required": false, "type": "long"},
		}},
		"properties": map[string]string{"seq": "0"},
	}
}

// connect learns the prefix of the warehouse "w".
func (r *rest) connect(t *testing.T) {
	t.Helper()
	var config struct{ Defaults, Overrides map[string]string }
	if err := json.Unmarshal(r.must(t, "GET", "/catalog/v1/config?warehouse=w", nil), &config); err != nil {
		t.Fatal(err)
	}
	prefix := config.Overrides["prefix"]
	if prefix == "" {
		prefix = config.Defaults["prefix"]
	}
	r.prefix = "/catalog/v1/" + prefix
}

func (r *rest) tablePath(i int) string { return r.prefix + "/namespaces/ns/tables/t" + strconv.Itoa(i) }

type tableState struct {
	seq      int
	location string // metadata location
}

func (r *rest) load(ctx context.Context, i int) (tableState, said, error) {
	s, err := r.do(ctx, "GET", r.tablePath(i), nil)
	if err != nil || s.status != http.StatusOK {
		return tableState{}, s, err
	}
	state, err := parseState(s.body)
	return state, s, err
}

func parseState(body []byte) (tableState, error) {
	var answer struct {
		MetadataLocation string `json:"metadata-location"`
		Metadata         struct {
			Properties map[string]string `json:"properties"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return tableState{}, err
	}
	seq, err := strconv.Atoi(answer.Metadata.Properties["seq"])
	return tableState{seq, answer.MetadataLocation}, err
}

// setSeq commits the property seq with an assertion on the table's identity
// only, so that the server may retry it.
func (r *rest) setSeq(ctx context.Context, i, seq int) (said, error) {
	return r.do(ctx, "POST", r.tablePath(i), map[string]any{
		"requirements": []any{},
		"updates":      []any{map[string]any{"action": "set-properties", "updates": map[string]string{"seq": strconv.Itoa(seq)}}},
	})
}

// ledger is what the clients know of one table: each number is sent once.
type ledger struct {
	mu           sync.Mutex
	sent         int
	acknowledged map[int]bool
	refused      map[int]bool // a clean failure was answered: it must never be there
}

// load keeps writers and readers busy until stop is closed, and notes every
// answer. It returns the ledgers, one for each table (and writer).
type load struct {
	ledgers []*ledger
	bad     []string // answers that can't be right
	mu      sync.Mutex
	stop    chan struct{}
	group   sync.WaitGroup
}

func newLoad(tables int) *load {
	l := &load{}
	for range tables {
		l.ledgers = append(l.ledgers, &ledger{acknowledged: map[int]bool{}, refused: map[int]bool{}})
	}
	return l
}

// start lets one writer a table commit through r until halt.
func (l *load) start(ctx context.Context, r *rest) { l.startFrom(ctx, r, 0) }

// startFrom is start for the tables from t<first> on.
func (l *load) startFrom(ctx context.Context, r *rest, first int) {
	l.stop = make(chan struct{})
	for n, book := range l.ledgers {
		i := first + n
		l.group.Go(func() {
			for {
				select {
				case <-l.stop:
					return
				default:
				}
				l.step(ctx, r, i, book)
			}
		})
	}
}

// total is the number of acknowledged commits so far.
func (l *load) total() int {
	sum := 0
	for _, book := range l.ledgers {
		book.mu.Lock()
		sum += len(book.acknowledged)
		book.mu.Unlock()
	}
	return sum
}

func (l *load) halt() {
	close(l.stop)
	l.group.Wait()
}

func (l *load) step(ctx context.Context, r *rest, i int, book *ledger) {
	book.mu.Lock()
	book.sent++
	seq := book.sent
	book.mu.Unlock()
	s, err := r.setSeq(ctx, i, seq)
	book.mu.Lock()
	defer book.mu.Unlock()
	switch {
	case err != nil && s.status != 0:
		l.complain("%v", err)
	case err != nil: // the connection broke: unknown, as for every client
	case s.status == http.StatusOK:
		book.acknowledged[seq] = true
		if state, err := parseState(s.body); err != nil || state.seq != seq {
			l.complain("t%d: commit %d was acknowledged with state %d (%v)", i, seq, state.seq, err)
		}
	case s.kind == "CommitStateUnknownException" && s.status == http.StatusInternalServerError:
	case s.status == http.StatusServiceUnavailable || s.status == http.StatusConflict:
		book.refused[seq] = true // nothing happened, says the server
	default:
		l.complain("t%d: commit %d: %d %s %.200s", i, seq, s.status, s.kind, s.body)
	}
}

func (l *load) complain(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.bad) < 20 {
		l.bad = append(l.bad, fmt.Sprintf(format, args...))
	}
}

// check compares the ledgers with the log: per table the numbers ascend, each
// acknowledged one is there once, no refused one and no number that was never
// sent.
func (l *load) check(t *testing.T, events []event) {
	t.Helper()
	for _, text := range l.bad {
		t.Error(text)
	}
	seen := make([]map[int]int, len(l.ledgers))
	last := make([]int, len(l.ledgers))
	for i := range seen {
		seen[i] = map[int]int{}
	}
	for _, e := range events {
		if e.Type != "dev.icecore.table.committed" {
			continue
		}
		i, seq := e.seq(t)
		if i < 0 {
			continue
		}
		seen[i][seq]++
		if seq <= last[i] {
			t.Errorf("t%d: commit %d comes after %d in the log", i, seq, last[i])
		}
		last[i] = seq
	}
	acknowledged := 0
	for i, book := range l.ledgers {
		for seq := range book.acknowledged {
			acknowledged++
			if seen[i][seq] != 1 {
				t.Errorf("t%d: acknowledged commit %d is in the log %d times", i, seq, seen[i][seq])
			}
		}
		for seq, n := range seen[i] {
			if seq > book.sent || n > 1 {
				t.Errorf("t%d: commit %d is in the log %d times; sent were 1 to %d", i, seq, n, book.sent)
			}
			if book.refused[seq] {
				t.Errorf("t%d: commit %d was cleanly refused and is in the log", i, seq)
			}
		}
	}
	t.Logf("%d commits acknowledged, %d in the log", acknowledged, len(events))
}

// event is the part of a CloudEvent that these tests look at.
type event struct {
	Type     string
	Subject  string
	Sequence string
	Data     struct {
		MetadataLocation string `json:"metadata-location"`
		Updates          []struct {
			Action  string
			Updates map[string]string
		}
	}
}

// seq finds the table's number and the commit's in a table.committed event;
// the table is told by its location, which ends in "/t<i>-<uuid>/metadata/…".
func (e event) seq(t *testing.T) (table, seq int) {
	t.Helper()
	for _, u := range e.Data.Updates {
		if text, ok := u.Updates["seq"]; ok {
			n, err := strconv.Atoi(text)
			if err != nil {
				t.Fatalf("event %s: %v", e.Sequence, err)
			}
			folder := strings.Split(e.Data.MetadataLocation, "/metadata/")[0]
			name := folder[strings.LastIndexByte(folder, '/')+1:]
			number, _, _ := strings.Cut(strings.TrimPrefix(name, "t"), "-")
			i, err := strconv.Atoi(number)
			if err != nil {
				t.Fatalf("event %s: no table in %q", e.Sequence, e.Data.MetadataLocation)
			}
			return i, n
		}
	}
	return -1, 0
}

func parseEvents(t *testing.T, lines []byte) []event {
	t.Helper()
	var events []event
	for line := range bytes.Lines(lines) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		events = append(events, e)
	}
	return events
}
