package icebergrest

import (
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/httpapi/wire"
)

// What the specification says of a member is held where the member is there;
// what is missing, unknown or new is the client's affair.
func TestReportsAreReadLeniently(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct {
		kind     string
		snapshot int64 // 0 for none
	}{
		`{"report-type":"scan-report","table-name":"n.t","snapshot-id":9007199254740993,"filter":{"type":"eq","term":"x","value":1},"schema-id":0,
		  "projected-field-ids":[1,2],"projected-field-names":["a","b"],"metrics":{"total-planning-duration":{"count":1,"time-unit":"nanoseconds","total-duration":2644235116},
		  "result-data-files":{"unit":"count","value":1}},"metadata":{"iceberg-version":"x"}}`: {"scan-report", 9007199254740993},
		`{"report-type":"commit-report","table-name":"n.t","snapshot-id":5,"sequence-number":1,"operation":"append","metrics":{}}`: {"commit-report", 5},
		`{"report-type":"scan-report"}`:                                                         {"scan-report", 0},
		`{"report-type":"SCAN-REPORT","snapshot-id":-1,"filter":true}`:                          {"scan-report", -1},
		`{"report-type":"scan-report","snapshot-id":null,"metrics":null}`:                       {"scan-report", 0},
		`{"report-type":"scan-report","metrics":{"new":{"histogram":[1],"p":1.5},"none":null}}`: {"scan-report", 0},
		`{"report-type":"future-report","snapshot-id":"many","metrics":[]}`:                     {"future-report", 0},
		`{"report-type":"future-report","snapshot-id":7}`:                                       {"future-report", 7},
	} {
		object, err := wire.ParseObject([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		kind, snapshot, err := readReport(object)
		if err != nil || kind != want.kind || (snapshot == nil) != (want.snapshot == 0) || snapshot != nil && *snapshot != want.snapshot {
			t.Errorf("%s: %s %v, %v", body, kind, snapshot, err)
		}
	}
	for _, body := range []string{
		`{}`, `{"report-type":1}`, `{"report-type":null}`, `{"report-type":""}`, `{"report-type":"` + strings.Repeat("x", 129) + `"}`,
		`{"report-type":"scan-report","snapshot-id":"1"}`, `{"report-type":"scan-report","snapshot-id":1.5}`, `{"report-type":"scan-report","snapshot-id":9223372036854775808}`,
		`{"report-type":"scan-report","table-name":1}`, `{"report-type":"scan-report","schema-id":"0"}`, `{"report-type":"scan-report","projected-field-ids":["1"]}`,
		`{"report-type":"scan-report","projected-field-names":[1]}`, `{"report-type":"scan-report","metrics":[]}`, `{"report-type":"scan-report","metrics":{"a":1}}`,
		`{"report-type":"scan-report","metrics":{"a":{"unit":"count","value":"1"}}}`, `{"report-type":"scan-report","metrics":{"a":{"time-unit":1}}}`,
		`{"report-type":"commit-report","sequence-number":"1"}`, `{"report-type":"commit-report","operation":1}`, `{"report-type":"commit-report","metadata":{"a":1}}`,
	} {
		object, err := wire.ParseObject([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := readReport(object); err == nil || catalog.KindOf(err) != catalog.BadRequest {
			t.Errorf("%s: %v, want a BadRequest", body, err)
		}
	}
}
