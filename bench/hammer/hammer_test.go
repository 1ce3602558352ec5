package hammer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/bench/hammer"
)

// liar is a catalog in memory that can be told to lie: what the hammer exists
// to find out.
type liar struct {
	mu      sync.Mutex
	tables  map[string]string
	commits int
	// forgetEvery acknowledges each n-th commit without doing it.
	forgetEvery int
	// staleEvery answers each n-th load with the state "0".
	staleEvery int
	loads      int
	// stuckEvery answers each n-th load with a tag with 304, whatever the tag.
	stuckEvery int
	asked      int
	// refuseEvery answers each n-th commit with 409; secretly does it, too.
	refuseEvery int
	secretly    bool
}

func (l *liar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	state := func(seq string) {
		fmt.Fprintf(w, `{"metadata":{"properties":{"hammer.seq":"%s"}}}`, seq)
	}
	switch {
	case r.URL.Path == "/v1/config":
		_, _ = io.WriteString(w, `{"defaults":{},"overrides":{"prefix":"p"}}`)
	case len(parts) == 3 && r.Method == http.MethodPost: // v1/p/namespaces
		_, _ = io.WriteString(w, `{}`)
	case len(parts) == 5 && r.Method == http.MethodPost: // …/tables
		var body struct{ Name string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		l.tables[body.Name] = "0"
		_, _ = io.WriteString(w, `{}`)
	case len(parts) == 5 && r.Method == http.MethodGet:
		_, _ = io.WriteString(w, `{"identifiers":[`+strings.TrimSuffix(strings.Repeat("{},", len(l.tables)), ",")+`]}`)
	case len(parts) == 6 && r.Method == http.MethodGet:
		l.loads++
		if l.staleEvery > 0 && l.loads%l.staleEvery == 0 {
			state("0")
			return
		}
		tag := `"` + l.tables[parts[5]] + `"`
		if given := r.Header.Get("If-None-Match"); given != "" {
			if l.asked++; given == tag || l.stuckEvery > 0 && l.asked%l.stuckEvery == 0 {
				w.WriteHeader(http.StatusNotModified)
				return
			}
		}
		w.Header().Set("ETag", tag)
		state(l.tables[parts[5]])
	case len(parts) == 6 && r.Method == http.MethodPost:
		var body struct {
			Updates []struct{ Updates map[string]string }
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		seq := body.Updates[0].Updates["hammer.seq"]
		if l.refuseEvery > 0 && (l.commits+1)%l.refuseEvery == 0 {
			if l.commits++; l.secretly {
				l.tables[parts[5]] = seq
			}
			w.WriteHeader(http.StatusConflict)
			return
		}
		if l.commits++; l.forgetEvery == 0 || l.commits%l.forgetEvery != 0 {
			l.tables[parts[5]] = seq
		}
		state(seq)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

func run(t *testing.T, l *liar) hammer.Report {
	t.Helper()
	l.tables = map[string]string{}
	server := httptest.NewServer(l)
	defer server.Close()
	mix, err := hammer.ParseMix("load=50,notmodified=20,commit=20,list=10")
	if err != nil {
		t.Fatal(err)
	}
	report, err := hammer.Run(context.Background(), hammer.Options{
		URI: server.URL, Warehouse: "w", Workers: 4, Tables: 8, Duration: 200 * time.Millisecond, Mix: mix, Seed: 1,
	}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestHonestCatalogIsClean(t *testing.T) {
	t.Parallel()
	report := run(t, &liar{})
	if !report.Clean() || len(report.Examples) > 0 || len(report.Figures) != 4 {
		t.Fatalf("%+v", report)
	}
	for _, f := range report.Figures {
		if f.Requests == 0 || f.PerSecond <= 0 {
			t.Errorf("%s was never measured: %+v", f.Operation, f)
		}
	}
}

func TestForgottenCommitIsFound(t *testing.T) {
	t.Parallel()
	if report := run(t, &liar{forgetEvery: 5}); report.Clean() {
		t.Fatalf("a catalog that forgets acknowledged commits passed: %+v", report)
	}
}

func TestStaleLoadIsFound(t *testing.T) {
	t.Parallel()
	if report := run(t, &liar{staleEvery: 7}); report.Clean() {
		t.Fatalf("a catalog that shows old states passed: %+v", report)
	}
}

func TestFalseNotModifiedIsFound(t *testing.T) {
	t.Parallel()
	report := run(t, &liar{stuckEvery: 2})
	for _, f := range report.Figures {
		if wrong := f.Wrong > 0; wrong != (f.Operation == hammer.NotModified) {
			t.Errorf("%+v", f)
		}
	}
	if report.Clean() {
		t.Error("a catalog that says 304 to an old tag passed")
	}
}

func TestRefusedCommitMayNotAppear(t *testing.T) {
	t.Parallel()
	if report := run(t, &liar{refuseEvery: 3}); !report.Clean() {
		t.Errorf("a catalog that refuses was called wrong: %+v", report)
	}
	report := run(t, &liar{refuseEvery: 3, secretly: true})
	if report.Clean() || !strings.Contains(strings.Join(report.Examples, "\n"), "was refused") && report.Phantoms == 0 {
		t.Errorf("a catalog that does what it refused passed: %+v", report)
	}
}

func TestParseMix(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "load", "load=x", "load=-1", "fly=3", "load=0"} {
		if _, err := hammer.ParseMix(bad); err == nil {
			t.Errorf("ParseMix(%q) passed", bad)
		}
	}
}
