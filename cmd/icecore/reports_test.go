package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/icecore-catalog/icecore/internal/pgtest"
)

// A metrics report that was acknowledged is stored when the process ends at a
// signal, at once and not after the usual rest; where reports are discarded
// nothing is.
func TestShutdownStoresTheMetricsReportsThatWait(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, pgtest.Durable())
	root := filepath.Join(pgtest.Dir(t), "warehouses")
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	stored := func() (n int) {
		t.Helper()
		if err := db.App.QueryRow(t.Context(), "SELECT count(*) FROM ops.metrics_report").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	expect := func(got int, want ...int) {
		t.Helper()
		for _, w := range want {
			if got == w {
				return
			}
		}
		t.Fatalf("status %d, want %v", got, want)
	}
	const sent = 20
	for i, c := range []struct {
		setting string
		want    int
	}{{"keep", sent}, {"discard", sent}} {
		s := start(t, production(db, "ICECORE_FILE_ROOTS="+root, "ICECORE_METRICS_REPORTS="+c.setting), "serve")
		if i == 0 {
			expect(s.call(t, http.MethodPost, "/management/v1/bootstrap", `{"accept-terms-of-use":true}`, nil), 204)
			expect(s.call(t, http.MethodPost, "/management/v1/warehouse", fmt.Sprintf(`{"warehouse-name":"demo","storage-profile":{"type":"file","root":%q}}`, "file://"+root+"/demo"), nil), 201)
			p := s.catalogPath(t, "demo")
			expect(s.call(t, http.MethodPost, p+"/namespaces", `{"namespace":["n"]}`, nil), 200)
			expect(s.call(t, http.MethodPost, p+"/namespaces/n/tables", `{"name":"t","schema":{"type":"struct","fields":[{"id":1,"name":"id","required":false,"type":"long"}]}}`, nil), 200)
		}
		path := s.catalogPath(t, "demo") + "/namespaces/n/tables/t/metrics"
		for range sent {
			expect(s.call(t, http.MethodPost, path, `{"report-type":"scan-report","snapshot-id":1,"metrics":{}}`, nil), 204)
		}
		if code := s.stop(t, syscall.SIGTERM); code != 0 {
			t.Fatalf("exit code %d: %s", code, s.output())
		}
		if n := stored(); n != c.want {
			t.Errorf("%s: %d stored, want %d", c.setting, n, c.want)
		}
	}
}
