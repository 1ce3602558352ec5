package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/httpapi/wire"
	"github.com/icecore-catalog/icecore/internal/ids"
)

var update = flag.Bool("update", false, "rewrite golden files")

var requestID = ids.MustParse("0190a000-0000-7000-8000-00000000000f")

// etagName is spelled so on the wire, which is not the canonical form.
var etagName = "ETag"

func rendered(t *testing.T, method string, err error) (*httptest.ResponseRecorder, string) {
	t.Helper()
	var log bytes.Buffer
	f := failures{log: slog.New(slog.NewTextHandler(&log, nil))}
	r := httptest.NewRequest(method, "/x", nil)
	r = r.WithContext(wire.WithInfo(r.Context(), &wire.Info{RequestID: requestID}))
	w := httptest.NewRecorder()
	f.write(w, r, err)
	return w, log.String()
}

// Every kind of failure has one answer, byte for byte.
func TestEachKindHasItsAnswer(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	for kind := catalog.Internal; kind <= catalog.CommitStateUnknown; kind++ {
		if _, ok := outcomes[kind]; !ok {
			t.Errorf("kind %d has no outcome", kind)
		}
		w, _ := rendered(t, http.MethodPost, fmt.Errorf("context: %w", &catalog.Error{
			Kind: kind, Message: `The "message"`, RetryAfter: 1500 * time.Millisecond, Cause: errors.New("secret cause"),
		}))
		fmt.Fprintf(&got, "%d %s", w.Code, w.Body)
		for _, name := range []string{"Content-Type", "Retry-After", "WWW-Authenticate", "Connection"} {
			if value := w.Header().Get(name); value != "" {
				fmt.Fprintf(&got, " | %s: %s", name, value)
			}
		}
		got.WriteByte('\n')

		var doc struct {
			Error struct {
				Message, Type string
				Code          int
			}
		}
		if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || doc.Error.Code != w.Code || doc.Error.Type == "" || doc.Error.Message == "" {
			t.Errorf("kind %d: %s, %v", kind, w.Body, err)
		}
		if strings.Contains(w.Body.String(), "secret") {
			t.Errorf("kind %d shows its cause", kind)
		}
	}
	if len(outcomes) != int(catalog.CommitStateUnknown)+1 {
		t.Errorf("%d outcomes for %d kinds", len(outcomes), catalog.CommitStateUnknown+1)
	}
	const golden = "testdata/errors.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("answers changed (run with -update if that is meant):\n%s", got.String())
	}
}

func TestUntypedErrorsShowTheRequestIDAlone(t *testing.T) {
	t.Parallel()
	w, log := rendered(t, http.MethodGet, fmt.Errorf("wrapped: %w", errors.New("password=hunter2")))
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "hunter2") || !strings.Contains(w.Body.String(), requestID.String()) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if !strings.Contains(log, requestID.String()) || !strings.Contains(log, "level=ERROR") {
		t.Errorf("log: %s", log)
	}
}

// An expired deadline is a clean failure only where nothing can have happened.
func TestExpiredDeadlineIsUnavailableOnReadsOnly(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]int{
		http.MethodGet: 503, http.MethodHead: 503, http.MethodPost: 500, http.MethodDelete: 500,
	} {
		w, _ := rendered(t, method, fmt.Errorf("query: %w", context.DeadlineExceeded))
		if w.Code != want {
			t.Errorf("%s: %d, want %d", method, w.Code, want)
		}
		if retry := w.Header().Get("Retry-After"); (retry != "") != (want == 503) {
			t.Errorf("%s: Retry-After %q", method, retry)
		}
	}
	w, _ := rendered(t, http.MethodPost, fmt.Errorf("append: %w", &eventstore.UnknownError{CommitID: requestID, Cause: io.EOF}))
	if w.Code != 500 || !strings.Contains(w.Body.String(), "CommitStateUnknownException") {
		t.Errorf("unknown fate: %d %s", w.Code, w.Body)
	}
}

func TestRefusalsAreNotLoggedAsFailures(t *testing.T) {
	t.Parallel()
	if _, log := rendered(t, http.MethodGet, &catalog.Error{Kind: catalog.NoSuchTable, Message: "Table does not exist: a.b"}); log != "" {
		t.Errorf("log: %s", log)
	}
	if _, log := rendered(t, http.MethodGet, &catalog.Error{Kind: catalog.Unavailable, Message: "busy", Cause: errors.New("pool is empty")}); !strings.Contains(log, "level=WARN") || !strings.Contains(log, "pool is empty") {
		t.Errorf("log: %s", log)
	}
}

func TestErrorDropsHeadersOfTheSuccess(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodGet, "/x", nil)
	w := httptest.NewRecorder()
	wire.SetETag(w.Header(), `"x"`)
	w.Header().Set("Content-Encoding", "gzip")
	failures{log: slog.New(slog.DiscardHandler)}.write(w, r, &catalog.Error{Kind: catalog.BadRequest, Message: "no"})
	if h := w.Header(); h[etagName] != nil || h.Get("Content-Encoding") != "" || h.Get("Content-Length") == "" {
		t.Errorf("headers %v", h)
	}
}
