package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/internal/pgtest"
)

// A running server has its search and its statistics follow the log, and
// stores what was asked of it before it ends.
func TestServedCatalogIsSearchedAndCounted(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, pgtest.Durable())
	root := pgtest.Dir(t)
	s := start(t, production(db, "ICECORE_FILE_ROOTS="+root), "serve")
	must := func(path, body string, answer any) {
		t.Helper()
		if status := s.call(t, http.MethodPost, path, body, answer); status >= 300 {
			t.Fatalf("%s: %d\n%s", path, status, s.output())
		}
	}
	must("/management/v1/bootstrap", `{"accept-terms-of-use":true}`, nil)
	var warehouse struct {
		ID string `json:"warehouse-id"`
	}
	must("/management/v1/warehouse", fmt.Sprintf(`{"warehouse-name":"demo","storage-profile":{"type":"file","root":"file://%s/demo"}}`, root), &warehouse)
	catalog, management := "/catalog/v1/"+warehouse.ID, "/management/v1/warehouse/"+warehouse.ID
	must(catalog+"/namespaces", `{"namespace":["sales"]}`, nil)
	must(catalog+"/namespaces/sales/tables", `{"name":"orders","schema":{"type":"struct","fields":[]}}`, nil)

	var found struct {
		Tabulars []struct {
			Name string `json:"tabular-name"`
		}
	}
	var statistics struct {
		Stats []struct {
			Tables int64 `json:"number-of-tables"`
		}
	}
	until := time.Now().Add(deadline)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for len(found.Tabulars) == 0 || len(statistics.Stats) == 0 || statistics.Stats[0].Tables == 0 {
		if time.Now().After(until) {
			t.Fatalf("found %+v, counted %+v\n%s", found, statistics, s.output())
		}
		<-tick.C
		must(management+"/search-tabular", `{"search":"sales orders"}`, &found)
		s.call(t, http.MethodGet, management+"/statistics", "", &statistics)
	}
	// Headers that no database takes, or that are too large, spoil nothing.
	for project, want := range map[string]int{"\xff": http.StatusOK, strings.Repeat("x", 128<<10): http.StatusRequestHeaderFieldsTooLarge} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/management/v1/info", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Project-Id", project)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != want || !json.Valid(text) {
			t.Errorf("a project of %d bytes: %d %s, %v", len(project), response.StatusCode, text, err)
		}
		_ = response.Body.Close()
	}
	if code := s.stop(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d: %s", code, s.output())
	}
	var requests int64
	err := db.App.QueryRow(t.Context(), `SELECT sum(requests)::bigint FROM ops.endpoint_statistics
		WHERE warehouse_id = $1 AND route = 'POST /catalog/v1/{prefix}/namespaces/{namespace}/tables' AND status = 200`, warehouse.ID).Scan(&requests)
	if err != nil || requests != 1 {
		t.Errorf("%d creations were counted, %v", requests, err)
	}
}
