package httpapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// warehouse is where the management API has the warehouse demo.
func (s *stack) warehouse() string {
	return "/management/v1/warehouse/" + strings.TrimPrefix(s.prefix, "/catalog/v1/")
}

func decoded(t *testing.T, body string) map[string]any {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal([]byte(body), &doc); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return doc
}

func TestWarehouseChangesAreShownAndKept(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	profile := fmt.Sprintf(`{"type":"file","root":"file://%s/demo"}`, s.root)
	for _, c := range []struct{ path, body, member, want string }{
		{"/rename", `{"new-name":"Demo 2"}`, "name", `"Demo 2"`},
		{"/rename", `{"new-name":"demo 2"}`, "name", `"demo 2"`},
		{"/delete-profile", `{"delete-profile":{"type":"hard"}}`, "delete-profile", `{"type":"hard"}`},
		{"/undo-window", `{"undo-window-seconds":3600}`, "undo-window-seconds", `3600`},
		{"/undo-window", `{"undo-window-seconds":0}`, "undo-window-seconds", `0`},
		{"/format-version-policy", `{"allowed-format-versions":[3,1]}`, "allowed-format-versions", `[1,3]`},
		{"/format-version-policy", `{"allowed-format-versions":[3,1]}`, "default-format-version", `3`},
		{"/format-version-policy", `{"allowed-format-versions":[1,2,3],"default-format-version":1}`, "default-format-version", `1`},
		{"/storage", `{"storage-profile":` + profile + `}`, "storage-profile", `{"root":"file://` + s.root + `/demo","type":"file"}`},
		{"/storage-credential", `{"new-storage-credential":null}`, "status", `"active"`},
	} {
		for range 2 { // the second changes nothing
			got := expect(t, s.do("POST", s.warehouse()+c.path, c.body), 200)
			printed, err := json.Marshal(decoded(t, got.body)[c.member])
			if err != nil || string(printed) != c.want {
				t.Errorf("%s %s: %s is %s, %v", c.path, c.body, c.member, printed, err)
			}
			if stored := expect(t, s.do("GET", s.warehouse(), ""), 200); stored.body != got.body {
				t.Errorf("%s %s: answered %s, stored %s", c.path, c.body, got.body, stored.body)
			}
		}
	}
	var events int
	if err := s.db.App.QueryRow(t.Context(), "SELECT count(*) FROM es.event WHERE stream_type = 'warehouse'").Scan(&events); err != nil || events != 1+2+2+2 {
		t.Errorf("%d events, %v: a change that changes nothing is none", events, err)
	}
	expect(t, s.do("GET", "/catalog/v1/config?warehouse=DEMO%202", ""), 200)
	refused(t, s.do("GET", "/catalog/v1/config?warehouse=demo", ""), 404, "NoSuchWarehouseException")
	// The new default counts for the next table.
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	if got := expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", create("t")), 200); !strings.Contains(got.body, `"format-version":1`) {
		t.Error(got.body)
	}
}

// A warehouse says what a drop in it means, from its creation on or later.
func TestDeleteProfiles(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	const soft, hard = `"delete-profile":{"type":"soft","expiration-seconds":60}`, `"delete-profile":{"type":"hard"}`
	made := expect(t, s.do("POST", "/management/v1/warehouse",
		fmt.Sprintf(`{"warehouse-name":"soft","storage-profile":{"type":"file","root":"file://%s/soft"},%s}`, s.root, soft)), 201)
	path := "/management/v1/warehouse/" + member(t, made, "warehouse-id")
	for _, body := range []string{made.body, expect(t, s.do("GET", path, ""), 200).body, expect(t, s.do("GET", "/management/v1/warehouse", ""), 200).body} {
		if !strings.Contains(body, soft) {
			t.Error(body)
		}
	}
	for _, profile := range []string{hard, hard, soft, soft, `"delete-profile":{"type":"soft","expiration-seconds":0}`} {
		got := expect(t, s.do("POST", path+"/delete-profile", "{"+profile+"}"), 200)
		if shown := expect(t, s.do("GET", path, ""), 200); !strings.Contains(got.body, profile) || shown.body != got.body {
			t.Errorf("%s: %s, then %s", profile, got.body, shown.body)
		}
	}
}

func TestWarehouseChangesAreRefused(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	other := fmt.Sprintf(`{"warehouse-name":"other","storage-profile":{"type":"file","root":"file://%s/other"}}`, s.root)
	expect(t, s.do("POST", "/management/v1/warehouse", other), 201)
	const gone = "/management/v1/warehouse/0190a000-0000-7000-8000-00000000000f"
	for _, c := range []struct {
		method, path, body string
		status             int
		kind, text         string
	}{
		{"POST", s.warehouse() + "/rename", `{"new-name":"OTHER"}`, 409, "WarehouseAlreadyExists", "A warehouse with the name 'OTHER' already exists in project with id '00000000-0000-0000-0000-000000000000'"},
		{"POST", s.warehouse() + "/rename", `{"new-name":""}`, 400, "BadRequestException", "Warehouse name cannot be empty"},
		{"POST", s.warehouse() + "/rename", `{"new-name":"` + strings.Repeat("x", 129) + `"}`, 400, "BadRequestException", "Warehouse must be shorter than 128 chars"},
		{"POST", s.warehouse() + "/rename", `{"new-name":"a/b"}`, 400, "BadRequestException", ""},
		{"POST", s.warehouse() + "/storage", `{"storage-profile":{"type":"file","root":"file://` + s.root + `/elsewhere"}}`, 400, "BadRequestException", "Field `root` cannot be updated to prevent loss of data."},
		{"POST", s.warehouse() + "/storage", `{"storage-profile":{"type":"s3","bucket":"b"}}`, 400, "BadRequestException", ""},
		{"POST", s.warehouse() + "/storage", `{"storage-profile":{"type":"file","root":"file://` + s.root + `/demo"},"storage-credential":{"type":"s3"}}`, 406, "UnsupportedOperationException", ""},
		{"POST", s.warehouse() + "/storage", `{}`, 400, "BadRequestException", ""},
		{"POST", s.warehouse() + "/storage-credential", `{"new-storage-credential":{"type":"s3"}}`, 406, "UnsupportedOperationException", "new-storage-credential is not supported: local files need none"},
		{"POST", s.warehouse() + "/delete-profile", `{}`, 400, "BadRequestException", ""},
		{"POST", s.warehouse() + "/delete-profile", `{"delete-profile":{"type":"soft"}}`, 400, "BadRequestException", ""},
		{"POST", s.warehouse() + "/delete-profile", `{"delete-profile":{"type":"soft","expiration-seconds":-1}}`, 400, "BadRequestException", ""},
		{"POST", s.warehouse() + "/delete-profile", `{"delete-profile":{"type":"soft","expiration-seconds":99999999999}}`, 400, "BadRequestException", "expiration-seconds must be between 0 and 3162240000"},
		{"POST", s.warehouse() + "/delete-profile", `{"delete-profile":{"type":"firm"}}`, 400, "BadRequestException", ""},
		{"POST", s.warehouse() + "/undo-window", `{}`, 400, "BadRequestException", ""},
		{"POST", s.warehouse() + "/undo-window", `{"undo-window-seconds":"7d"}`, 400, "BadRequestException", ""},
		{"POST", s.warehouse() + "/undo-window", `{"undo-window-seconds":-1}`, 400, "BadRequestException", "undo-window-seconds must be between 0 and 3162240000"},
		{"POST", s.warehouse() + "/format-version-policy", `{"allowed-format-versions":[]}`, 400, "BadRequestException", "allowed_format_versions must contain at least one format version."},
		{"POST", s.warehouse() + "/format-version-policy", `{"allowed-format-versions":[4]}`, 400, "BadRequestException", ""},
		{"POST", s.warehouse() + "/format-version-policy", `{"allowed-format-versions":[1],"default-format-version":2}`, 400, "BadRequestException", "default_format_version '2' is not in allowed_format_versions"},
		{"POST", s.warehouse() + "/format-version-policy", `{"default-format-version":2}`, 400, "BadRequestException", ""},
		{"POST", s.warehouse() + "/protection", `{}`, 400, "BadRequestException", ""},
		{"DELETE", s.warehouse() + "?force=perhaps", "", 400, "BadRequestException", ""},
		{"POST", gone + "/rename", `{"new-name":"x"}`, 404, "NoSuchWarehouseException", ""},
		{"POST", gone + "/deactivate", "", 404, "NoSuchWarehouseException", ""},
		{"POST", gone + "/protection", `{"protected":true}`, 404, "NoSuchWarehouseException", ""},
		{"DELETE", gone, "", 404, "NoSuchWarehouseException", ""},
		{"DELETE", "/management/v1/warehouse/demo", "", 404, "NoSuchWarehouseException", ""},
	} {
		got := s.do(c.method, c.path, c.body)
		refused(t, got, c.status, c.kind)
		if c.text != "" && !strings.Contains(got.body, quoted(c.text)) {
			t.Errorf("%s %s: %s", c.path, c.body, got.body)
		}
	}
}

// To its clients a deactivated warehouse does not exist; who manages it sees
// it, and nothing in it is lost.
func TestDeactivatedWarehouseIsHiddenFromItsClients(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", create("t")), 200)
	for range 2 {
		if got := expect(t, s.do("POST", s.warehouse()+"/deactivate", ""), 200); got.body != "" {
			t.Errorf("answered %s", got.body)
		}
	}
	for _, r := range [][3]string{
		{"GET", "/catalog/v1/config?warehouse=demo", ""}, {"GET", s.prefix + "/namespaces", ""}, {"GET", s.prefix + "/namespaces/n", ""},
		{"POST", s.prefix + "/namespaces", `{"namespace":["m"]}`}, {"GET", s.prefix + "/namespaces/n/tables", ""},
		{"GET", s.prefix + "/namespaces/n/tables/t", ""}, {"POST", s.prefix + "/namespaces/n/tables", create("u")},
		{"POST", s.prefix + "/namespaces/n/tables/t", `{"updates":[{"action":"set-properties","updates":{"a":"b"}}]}`},
		{"DELETE", s.prefix + "/namespaces/n/tables/t", ""},
	} {
		got := s.do(r[0], r[1], r[2])
		refused(t, got, 404, "NoSuchWarehouseException")
		text := "A warehouse with id '" + strings.TrimPrefix(s.prefix, "/catalog/v1/") + "' does not exist"
		if strings.Contains(r[1], "/config") {
			text = "A warehouse 'demo' does not exist"
		}
		if !strings.Contains(got.body, quoted(text)) {
			t.Error(got.body)
		}
	}
	shown := expect(t, s.do("GET", s.warehouse(), ""), 200)
	if !strings.Contains(shown.body, `"status":"inactive"`) {
		t.Error(shown.body)
	}
	if list := expect(t, s.do("GET", "/management/v1/warehouse", ""), 200); list.body != `{"warehouses":[]}` {
		t.Error(list.body)
	}
	if list := expect(t, s.do("GET", "/management/v1/warehouse?warehouseStatus=inactive", ""), 200); list.body != `{"warehouses":[`+shown.body+`]}` {
		t.Error(list.body)
	}
	expect(t, s.do("POST", s.warehouse()+"/rename", `{"new-name":"later"}`), 200)
	expect(t, s.do("POST", s.warehouse()+"/activate", ""), 200)
	expect(t, s.do("GET", s.prefix+"/namespaces/n/tables/t", ""), 200)
}

func TestWarehouseIsDeletedOnlyWhenEmptyAndFree(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	const (
		notEmpty  = "Warehouse is not empty. Cannot delete a non-empty warehouse."
		protected = "Warehouse is protected and force flag not set. Cannot delete protected warehouse."
		busy      = "Warehouse has unfinished tasks. Cannot delete warehouse until all tasks are finished."
	)
	says := func(got answer, kind, text string) {
		t.Helper()
		refused(t, got, 409, kind)
		if !strings.Contains(got.body, quoted(text)) {
			t.Error(got.body)
		}
	}
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	says(s.do("DELETE", s.warehouse(), ""), "WarehouseNotEmpty", notEmpty)
	says(s.do("DELETE", s.warehouse()+"?force=true", ""), "WarehouseNotEmpty", notEmpty)
	expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", create("t")), 200)
	expect(t, s.do("DELETE", s.prefix+"/namespaces/n/tables/t?purgeRequested=true", ""), 204)
	expect(t, s.do("DELETE", s.prefix+"/namespaces/n", ""), 204)
	says(s.do("DELETE", s.warehouse(), ""), "WarehouseHasUnfinishedTasks", busy)

	body := fmt.Sprintf(`{"warehouse-name":"empty","storage-profile":{"type":"file","root":"file://%s/empty"}}`, s.root)
	id, _ := decoded(t, expect(t, s.do("POST", "/management/v1/warehouse", body), 201).body)["warehouse-id"].(string)
	path := "/management/v1/warehouse/" + id
	got := expect(t, s.do("POST", path+"/protection", `{"protected":true}`), 200)
	if doc := decoded(t, got.body); doc["protected"] != true || doc["updated_at"] == nil {
		t.Error(got.body)
	}
	if shown := expect(t, s.do("GET", path, ""), 200); !strings.Contains(shown.body, `"protected":true`) {
		t.Error(shown.body)
	}
	says(s.do("DELETE", path, ""), "WarehouseProtected", protected)
	says(s.do("DELETE", path+"?force=False", ""), "WarehouseProtected", protected)
	for range 2 { // the same key, the same answer
		expect(t, s.do("DELETE", path+"?force=True", "", "Idempotency-Key", "0190a000-0000-7000-8000-000000000001"), 204)
	}
	refused(t, s.do("GET", path, ""), 404, "NoSuchWarehouseException")
	refused(t, s.do("POST", "/catalog/v1/"+id+"/namespaces", `{"namespace":["n"]}`), 404, "NoSuchWarehouseException")
	expect(t, s.do("POST", "/management/v1/warehouse", body), 201) // the name is free
}
