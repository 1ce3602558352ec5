package httpapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestManagementFromBootstrapToWarehouse(t *testing.T) {
	t.Parallel()
	s := newBareStack(t)
	info := expect(t, s.do("GET", "/management/v1/info", ""), 200)
	if !strings.Contains(info.body, `"bootstrapped":false`) {
		t.Errorf("info %s", info.body)
	}
	expect(t, s.do("POST", "/management/v1/bootstrap", `{"accept-terms-of-use":true,"is-operator":true,"user-name":"x"}`), 204)
	if got := s.do("POST", "/management/v1/bootstrap", `{"accept-terms-of-use":true}`); got.status < 400 || got.status > 499 {
		t.Errorf("bootstrap twice: %d %s", got.status, got.body)
	}
	info = expect(t, s.do("GET", "/management/v1/info", ""), 200)
	var doc map[string]any
	if err := json.Unmarshal([]byte(info.body), &doc); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"version", "lakekeeper-version", "bootstrapped", "server-id", "default-project-id", "authz-backend",
		"aws-system-identities-enabled", "azure-system-identities-enabled", "gcp-system-identities-enabled", "queues", "license-status"} {
		if doc[name] == nil {
			t.Errorf("info lacks %s: %s", name, info.body)
		}
	}
	body := fmt.Sprintf(`{"warehouse-name":"W 1","storage-profile":{"type":"file","root":%q}}`, "file://"+s.root+"/w1")
	made := expect(t, s.do("POST", "/management/v1/warehouse", body), 201)
	if err := json.Unmarshal([]byte(made.body), &doc); err != nil {
		t.Fatal(err)
	}
	id, _ := doc["warehouse-id"].(string)
	if doc["name"] != "W 1" || doc["status"] != "active" || doc["project-id"] == nil || doc["default-format-version"] != float64(2) {
		t.Errorf("made %s", made.body)
	}
	got := expect(t, s.do("GET", "/management/v1/warehouse/"+id, ""), 200)
	if got.body != made.body {
		t.Errorf("made %s, then %s", made.body, got.body)
	}
	if list := expect(t, s.do("GET", "/management/v1/warehouse", ""), 200); list.body != `{"warehouses":[`+got.body+`]}` {
		t.Errorf("list %s", list.body)
	}
	if list := expect(t, s.do("GET", "/management/v1/warehouse?warehouseStatus=inactive", ""), 200); list.body != `{"warehouses":[]}` {
		t.Errorf("inactive %s", list.body)
	}
	refused(t, s.do("POST", "/management/v1/warehouse", strings.Replace(body, "W 1", "w 1", 1)), 409, "WarehouseAlreadyExists")
	refused(t, s.do("GET", "/management/v1/warehouse/0190a000-0000-7000-8000-00000000000f", ""), 404, "NoSuchWarehouseException")
	expect(t, s.do("GET", "/catalog/v1/config?warehouse=W+1", ""), 200)
	project, _ := doc["project-id"].(string)
	expect(t, s.do("GET", "/catalog/v1/config?warehouse="+project+"/W%201", ""), 200)
	if got := s.do("POST", "/management/v1/warehouse", `{"warehouse-name":"evil","storage-profile":{"type":"file","root":"file:///etc"}}`); got.status < 400 || got.status > 499 {
		t.Errorf("a root that is not allowed: %d %s", got.status, got.body)
	}
	if got := s.do("POST", "/management/v1/warehouse", `{"warehouse-name":"s3","storage-profile":{"type":"s3","bucket":"b"}}`); got.status < 400 || got.status > 499 {
		t.Errorf("a profile that is not supported: %d %s", got.status, got.body)
	}
	// The warehouse's name stands in event subjects and in config requests.
	for i, name := range []string{"two words", "dots.in.it", "star*", "ünïcode", "line\nbreak", ""} {
		body := fmt.Sprintf(`{"warehouse-name":%s,"storage-profile":{"type":"file","root":%q}}`, quoted(name), fmt.Sprintf("file://%s/x%d", s.root, i))
		if got := s.do("POST", "/management/v1/warehouse", body); got.status != 201 && got.status != 400 {
			t.Errorf("%q: %d %s", name, got.status, got.body)
		}
	}
}
