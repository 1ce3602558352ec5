package httpapi_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/authz/allowall"
	"github.com/icecore-catalog/icecore/authz/authztest"
	"github.com/icecore-catalog/icecore/httpapi"
)

const (
	scanReport = `{"report-type":"scan-report","table-name":"n.t","snapshot-id":9007199254740993,"filter":true,"schema-id":0,"projected-field-ids":[1],` +
		`"projected-field-names":["id"],"metrics":{"total-planning-duration":{"count":1,"time-unit":"nanoseconds","total-duration":264}}}`
	commitReport = `{"report-type":"commit-report","table-name":"n.t","snapshot-id":7,"sequence-number":1,"operation":"append","metrics":{}, "x" : [ 1e400 ] }`
)

type reportPage struct {
	Reports []struct {
		ID         string          `json:"id"`
		ReceivedAt string          `json:"received-at"`
		Type       string          `json:"report-type"`
		Snapshot   json.Number     `json:"snapshot-id"`
		Report     json.RawMessage `json:"report"`
	} `json:"metrics-reports"`
	Next string `json:"next-page-token"`
}

// A report that was answered with 204 is found again through the management
// API, byte for byte, by the table's id, by type and by snapshot, in pages.
func TestMetricsReportsAreKeptAndListed(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	id := tableUUID(t, expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", create("t")), 200))
	other := tableUUID(t, expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", create("other")), 200))
	before := s.events(t)
	sent := []string{scanReport, commitReport, `{"report-type":"future-report","new":1}`, scanReport, commitReport}
	for _, report := range sent {
		expect(t, s.do("POST", s.prefix+"/namespaces/n/tables/t/metrics", report), 204)
	}
	expect(t, s.do("POST", s.prefix+"/namespaces/n/tables/other/metrics", scanReport), 204)
	refused(t, s.do("POST", s.prefix+"/namespaces/n/tables/none/metrics", scanReport), 404, "NoSuchTableException")
	refused(t, s.do("POST", s.prefix+"/namespaces/none/tables/t/metrics", scanReport), 404, "NoSuchTableException")
	refused(t, s.do("POST", s.prefix+"/namespaces/n/tables/t/metrics", `{}`), 400, "BadRequestException")
	refused(t, s.do("POST", s.prefix+"/namespaces/n/tables/t/metrics", `[]`), 400, "BadRequestException")
	refused(t, s.do("POST", s.prefix+"/namespaces/n/tables/t/metrics", `{"report-type":"scan-report","x":"`+strings.Repeat("x", 1<<20)+`"}`), 413, "BadRequestException")
	refused(t, do(s.with(t, authztest.DenyAll{}), "POST", s.prefix+"/namespaces/n/tables/t/metrics", scanReport), 404, "NoSuchTableException")

	h := s.with(t, allowall.Authorizer{})
	list := func(table, query string) (page reportPage) {
		t.Helper()
		got := expect(t, do(h, "GET", s.management()+"/table/"+table+"/metrics-reports"+query, ""), 200)
		if err := json.Unmarshal([]byte(got.body), &page); err != nil {
			t.Fatal(err)
		}
		return page
	}
	s.flush(t)
	slices.Reverse(sent)
	for query, want := range map[string][]string{
		"": sent, "?reportType=scan-report": {scanReport, scanReport}, "?REPORTTYPE=Commit-Report": {commitReport, commitReport},
		"?reportType=future-report": {sent[2]}, "?snapshotId=9007199254740993": {scanReport, scanReport}, "?snapshotId=7&reportType=scan-report": nil,
	} {
		page := list(id, query)
		var got []string
		for _, r := range page.Reports {
			got = append(got, string(r.Report))
			if r.ID == "" || r.ReceivedAt == "" || !strings.Contains(string(r.Report), r.Type) {
				t.Errorf("%s: %+v", query, r)
			}
			if r.Type == "scan-report" && r.Snapshot != "9007199254740993" || r.Type == "future-report" && r.Snapshot != "" {
				t.Errorf("%s: snapshot %s of %s", query, r.Snapshot, r.Report)
			}
		}
		if !slices.Equal(got, want) || page.Next != "" {
			t.Errorf("%s: %q, next %q, want %q", query, got, page.Next, want)
		}
	}
	if page := list(other, ""); len(page.Reports) != 1 {
		t.Errorf("the other table has %d", len(page.Reports))
	}
	var paged []string
	for token, first := "", true; first || token != ""; first = false {
		page := list(id, "?pageSize=2&pageToken="+token)
		for _, r := range page.Reports {
			paged = append(paged, string(r.Report))
		}
		token = page.Next
		if token != "" {
			refused(t, do(h, "GET", s.management()+"/table/"+other+"/metrics-reports?pageToken="+token, ""), 400, "BadRequestException")
			refused(t, do(h, "GET", s.management()+"/table/"+id+"/metrics-reports?reportType=scan-report&pageToken="+token, ""), 400, "BadRequestException")
		}
	}
	if !slices.Equal(paged, sent) {
		t.Errorf("in pages: %q", paged)
	}
	for _, path := range []string{"/table/0190a000-0000-7000-8000-0000000000ff/metrics-reports", "/table/t/metrics-reports"} {
		refused(t, do(h, "GET", s.management()+path, ""), 404, "NoSuchTableException")
	}
	refused(t, do(h, "GET", "/management/v1/warehouse/demo/table/"+id+"/metrics-reports", ""), 404, "NoSuchWarehouseException")
	refused(t, do(h, "GET", s.management()+"/table/"+id+"/metrics-reports?snapshotId=x", ""), 400, "BadRequestException")
	refused(t, do(h, "GET", s.management()+"/table/"+id+"/metrics-reports?pageSize=0", ""), 400, "BadRequestException")
	refused(t, do(s.with(t, authztest.DenyAll{}), "GET", s.management()+"/table/"+id+"/metrics-reports", ""), 404, "NoSuchTableException")
	refused(t, do(s.with(t, authztest.DenyAll{Visible: true}), "GET", s.management()+"/table/"+id+"/metrics-reports", ""), 403, "ForbiddenException")
	if s.events(t) != before {
		t.Error("a report is an event")
	}
}

// A registered table has a table-uuid that is not its id: both find it.
func TestMetricsReportsAreFoundByTheTableUUID(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	s.dropTable(t, "gone")
	uuid := tableUUID(t, expect(t, s.do("POST", s.prefix+"/namespaces/n/register", fmt.Sprintf(`{"name":"t","metadata-location":%q}`, s.dropped)), 200))
	expect(t, s.do("POST", s.prefix+"/namespaces/n/tables/t/metrics", scanReport), 204)
	s.flush(t)
	var id string
	if err := s.db.App.QueryRow(t.Context(), "SELECT tabular_id::text FROM rm.tabular WHERE table_uuid = $1", uuid).Scan(&id); err != nil {
		t.Fatal(err)
	}
	if id == uuid {
		t.Fatal("the registered table has its uuid as id")
	}
	for _, table := range []string{uuid, strings.ToUpper(uuid), id} {
		if got := expect(t, s.do("GET", s.management()+"/table/"+table+"/metrics-reports", ""), 200); !strings.Contains(got.body, scanReport) {
			t.Errorf("%s: %s", table, got.body)
		}
	}
}

// Where reports are not kept clients are asked to send none; one that comes all
// the same is accepted.
func TestConfigAsksForNoReportsWhereTheyAreDiscarded(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	h := s.with(t, allowall.Authorizer{}, func(d *httpapi.Deps) { d.DiscardReports = true })
	const off = `"defaults":{"rest-metrics-reporting-enabled":"false"}`
	if got := expect(t, do(h, "GET", "/catalog/v1/config?warehouse=demo", ""), 200); !strings.Contains(got.body, off) {
		t.Errorf("%s", got.body)
	}
	if got := expect(t, s.do("GET", "/catalog/v1/config?warehouse=demo", ""), 200); strings.Contains(got.body, "rest-metrics-reporting-enabled") {
		t.Errorf("%s", got.body)
	}
}

// management is the path of the warehouse in the management API.
func (s *stack) management() string {
	return "/management/v1/warehouse/" + strings.TrimPrefix(s.prefix, "/catalog/v1/")
}

// flush has every instance write the reports that it took, and take no more.
func (s *stack) flush(t testing.TB) {
	t.Helper()
	for _, k := range s.keepers {
		if lost := k.Close(t.Context()); lost != 0 {
			t.Fatalf("%d reports were lost", lost)
		}
	}
}

// events counts the events of the log.
func (s *stack) events(t testing.TB) (n int) {
	t.Helper()
	if err := s.db.App.QueryRow(t.Context(), "SELECT count(*) FROM es.event").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
