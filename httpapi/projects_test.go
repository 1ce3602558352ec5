package httpapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const defaultProject = "00000000-0000-0000-0000-000000000000"

func TestProjectsFromCreationToDeletion(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	list := func() string { return expect(t, s.do("GET", "/management/v1/project-list", ""), 200).body }
	standing := fmt.Sprintf(`{"project-id":%q,"project-name":"Default Project"}`, defaultProject)
	if got := list(); got != `{"projects":[`+standing+`]}` {
		t.Errorf("list %s", got)
	}
	if got := expect(t, s.do("GET", "/management/v1/project", ""), 200); got.body != standing {
		t.Errorf("default %s", got.body)
	}

	made := expect(t, s.do("POST", "/management/v1/project", `{"project-name":"Sales","project-id":"sales_EU-1"}`), 201)
	if made.body != `{"project-id":"sales_EU-1"}` {
		t.Errorf("made %s", made.body)
	}
	var doc map[string]string
	other := expect(t, s.do("POST", "/management/v1/project", `{"project-name":"Sales","project-id":null}`), 201)
	if err := json.Unmarshal([]byte(other.body), &doc); err != nil || len(doc["project-id"]) != 36 {
		t.Fatalf("made %s, %v", other.body, err)
	}
	for header, want := range map[string]string{"sales_EU-1": "Sales", doc["project-id"]: "Sales", defaultProject: "Default Project", "": "Default Project"} {
		got := expect(t, s.do("GET", "/management/v1/project", "", "X-Project-Id", header), 200)
		if !strings.Contains(got.body, fmt.Sprintf(`"project-name":%q`, want)) {
			t.Errorf("%q: %s", header, got.body)
		}
	}
	expect(t, s.do("POST", "/management/v1/project/rename", `{"new-name":"Vertrieb"}`, "X-Project-Id", "sales_EU-1"), 200)
	if got := expect(t, s.do("GET", "/management/v1/project/sales_EU-1", ""), 200); got.body != `{"project-id":"sales_EU-1","project-name":"Vertrieb"}` {
		t.Errorf("renamed %s", got.body)
	}
	expect(t, s.do("POST", "/management/v1/project/sales_EU-1/rename", `{"new-name":"Ventes"}`), 200)

	// A warehouse stands in its project, and only there.
	body := fmt.Sprintf(`{"warehouse-name":"demo","storage-profile":{"type":"file","root":"file://%s/sales"}}`, s.root)
	warehouse := expect(t, s.do("POST", "/management/v1/warehouse", body, "X-Project-Id", "sales_EU-1"), 201)
	if !strings.Contains(warehouse.body, `"project-id":"sales_EU-1"`) {
		t.Errorf("made %s", warehouse.body)
	}
	if got := expect(t, s.do("GET", "/management/v1/warehouse?projectId=sales_EU-1", ""), 200); got.body != `{"warehouses":[`+warehouse.body+`]}` {
		t.Errorf("list %s", got.body)
	}
	config := expect(t, s.do("GET", "/catalog/v1/config?warehouse=sales_EU-1/demo", ""), 200)
	if here := expect(t, s.do("GET", "/catalog/v1/config?warehouse=demo", ""), 200); here.body == config.body {
		t.Error("the same warehouse in both projects")
	}
	refused(t, s.do("DELETE", "/management/v1/project", "", "X-Project-Id", "sales_EU-1"), 409, "ProjectNotEmpty")

	expect(t, s.do("DELETE", "/management/v1/project", "", "X-Project-Id", doc["project-id"]), 204)
	refused(t, s.do("DELETE", "/management/v1/project/"+doc["project-id"], ""), 404, "ProjectNotFound")
	// The id is free again, the life behind it another.
	expect(t, s.do("POST", "/management/v1/project", fmt.Sprintf(`{"project-name":"again","project-id":%q}`, doc["project-id"])), 201)
	expect(t, s.do("GET", "/management/v1/project/"+doc["project-id"], ""), 200)
	if got := list(); got != `{"projects":[`+standing+`,{"project-id":"sales_EU-1","project-name":"Ventes"},{"project-id":"`+doc["project-id"]+`","project-name":"again"}]}` {
		t.Errorf("list %s", got)
	}
}

func TestProjectsAreRefusedAsLakekeeperDoes(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	expect(t, s.do("POST", "/management/v1/project", `{"project-name":"p","project-id":"p"}`), 201)
	for _, c := range []struct {
		method, path, body, project string
		status                      int
		kind, text                  string
	}{
		{"POST", "", `{"project-name":"q","project-id":"p"}`, "", 409, "ProjectIdAlreadyExists", "Project with this id already exists"},
		{"POST", "", `{"project-name":"q","project-id":"` + defaultProject + `"}`, "", 409, "ProjectIdAlreadyExists", "Project with this id already exists"},
		{"POST", "", `{"project-name":""}`, "", 400, "BadRequestException", "Project name cannot be empty"},
		{"POST", "", `{"project-name":"` + strings.Repeat("x", 129) + `"}`, "", 400, "BadRequestException", "Project name must be shorter than 128 chars"},
		{"POST", "", `{"project-name":"q","project-id":"a b"}`, "", 400, "BadRequestException", ""},
		{"POST", "", `{"project-name":"q","project-id":"grants"}`, "", 400, "BadRequestException", ""},
		{"POST", "", `{}`, "", 400, "BadRequestException", ""},
		{"GET", "", "", "no", 404, "ProjectNotFound", "Project not found"},
		{"GET", "", "", "a b\x01", 404, "ProjectNotFound", "Project not found"},
		{"GET", "/no", "", "", 404, "ProjectNotFound", "Project not found"},
		{"POST", "/rename", `{"new-name":"q"}`, "no", 404, "ProjectNotFound", "Project not found"},
		{"POST", "/rename", `{"new-name":""}`, "p", 400, "BadRequestException", "Project name cannot be empty"},
		{"POST", "/rename", `{"name":"q"}`, "p", 400, "BadRequestException", ""},
		{"DELETE", "", "", "no", 404, "ProjectNotFound", "Project not found"},
		{"DELETE", "", "", "", 400, "BadRequestException", "The default project cannot be deleted"},
	} {
		got := s.do(c.method, "/management/v1/project"+c.path, c.body, "X-Project-Id", c.project)
		refused(t, got, c.status, c.kind)
		if c.text != "" && !strings.Contains(got.body, quoted(c.text)) {
			t.Errorf("%s %s %s: %s", c.method, c.path, c.body, got.body)
		}
	}
}

// A key answers the same again, whatever became of the project since.
func TestProjectRequestsAreRepeatable(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	const key = "0190a000-0000-7000-8000-00000000000"
	first := expect(t, s.do("POST", "/management/v1/project", `{"project-name":"p"}`, "Idempotency-Key", key+"1"), 201)
	again := expect(t, s.do("POST", "/management/v1/project", `{"project-name":"p"}`, "Idempotency-Key", key+"1"), 201)
	if first.body != again.body {
		t.Errorf("%s, then %s", first.body, again.body)
	}
	expect(t, s.do("POST", "/management/v1/project", `{"project-name":"q","project-id":"q"}`), 201)
	for range 2 {
		expect(t, s.do("POST", "/management/v1/project/q/rename", `{"new-name":"r"}`, "Idempotency-Key", key+"2"), 200)
	}
	expect(t, s.do("DELETE", "/management/v1/project/q", "", "Idempotency-Key", key+"3"), 204)
	expect(t, s.do("POST", "/management/v1/project", `{"project-name":"new","project-id":"q"}`), 201)
	if got := expect(t, s.do("GET", "/management/v1/project/q", ""), 200); !strings.Contains(got.body, "new") {
		t.Error(got.body)
	}
}
