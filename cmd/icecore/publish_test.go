package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/internal/pgtest"
)

// A server publishes what is committed, to a file and to its standard output, and
// says how far it has come.
func TestServePublishesTheLog(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, pgtest.Durable())
	out, root := t.TempDir(), pgtest.Dir(t)
	s := start(t, production(db, "ICECORE_FILE_ROOTS="+root, "ICECORE_DESTINATION_FOLDER="+out, "ICECORE_LISTEN=127.0.0.1:0", "ICECORE_PUBLIC_URL=https://catalog.example.com/"), "serve")
	makeWarehouse(t, s, root)
	for _, body := range []string{
		`{"name":"file","kind":"log","settings":{"target":"file","file":"events.jsonl","max-message-bytes":"10000"}}`,
		`{"name":"out","kind":"log","filter":{"entities":["namespace"]}}`,
	} {
		if status := s.call(t, http.MethodPost, "/management/v1/destinations", body, nil); status != http.StatusCreated {
			t.Fatalf("create: %d", status)
		}
	}
	large := strings.Repeat("x", 20_000)
	var names []string
	for i := range 3 {
		names = append(names, fmt.Sprintf("published%d", i))
		body := fmt.Sprintf(`{"namespace":[%q],"properties":{"large":%q}}`, names[i], large[:i*10_000])
		if status := s.call(t, http.MethodPost, s.catalogPath(t, "w")+"/namespaces", body, nil); status != http.StatusOK {
			t.Fatalf("namespace: %d", status)
		}
	}
	var metrics string
	until(t, func() bool {
		data, _ := os.ReadFile(filepath.Join(out, "events.jsonl"))
		response, err := http.Get(s.url + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		_, _ = text.ReadFrom(response.Body)
		_ = response.Body.Close()
		metrics = text.String()
		return bytes.Count(data, []byte(`"dev.icecore.namespace.created"`)) == 3 && strings.Count(s.output(), `"dev.icecore.namespace.created"`) == 3 &&
			strings.Contains(metrics, `icecore_destination_lag_events{destination="file",kind="log"} 0`) &&
			strings.Contains(metrics, `icecore_destination_lag_events{destination="out",kind="log"} 0`) &&
			strings.Contains(metrics, `icecore_destination_batch_seconds_count{destination="out",kind="log"}`)
	})
	if strings.Contains(s.output(), `"dev.icecore.warehouse.created"`) {
		t.Error("what the filter leaves out was published")
	}
	for _, want := range []string{
		`icecore_destination_published_total{destination="file",kind="log"}`, `icecore_destination_halted{destination="out",kind="log"} 0`,
		`icecore_destination_lag_seconds{destination="out",kind="log"} 0`, `icecore_destination_batch_seconds_count{destination="out",kind="log"}`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no metric %s", want)
		}
	}
	// The large one went by reference, and can be had there.
	data, err := os.ReadFile(filepath.Join(out, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	_, reference, found := strings.Cut(string(data), `"dataref":"https://catalog.example.com`)
	if !found || strings.Contains(string(data), large) {
		t.Fatalf("the large event has no reference, or its data")
	}
	reference, _, _ = strings.Cut(reference, `"`)
	var payload map[string]any
	if status := s.call(t, http.MethodGet, reference, "", &payload); status != http.StatusOK || fmt.Sprint(payload) == "map[]" || !strings.Contains(fmt.Sprint(payload), large[:10_000]) {
		t.Errorf("%s: %d", reference, status)
	}
	if code := s.stop(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d: %s", code, s.output())
	}
}

// until asks again and again, for as long as a wait for a process may take.
func until(t *testing.T, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(deadline); !holds(); {
		select {
		case <-tick.C:
		case <-end:
			t.Fatal("waited in vain")
		}
	}
}
