package httpapi_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"github.com/icecore-catalog/icecore/authz/authztest"
	"github.com/icecore-catalog/icecore/httpapi"
)

const managementSpec = "../schema/openapi/lakekeeper-management.yaml"

// managed is one operation of Lakekeeper's management API.
type managed struct {
	method, path string // path as the specification spells it
	summary      string
	deprecated   bool
	request      string            // name or pointer of the schema of the body; empty for none
	responses    map[string]string // by status: pointer of the schema of the body, empty for none
}

// name is how a route table says it.
func (m managed) name() string { return m.method + " " + m.path }

// managementSpecification reads the specification: its operations in the order
// of their paths, and the document for a validator, with our own kind of
// storage profile among Lakekeeper's.
func managementSpecification(t *testing.T) (operations []managed, document map[string]any) {
	t.Helper()
	text, err := os.ReadFile(managementSpec)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	paths, _ := document["paths"].(map[string]any)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item, _ := paths[path].(map[string]any)
		for _, method := range []string{"get", "post", "put", "delete"} {
			operation, ok := item[method].(map[string]any)
			if !ok {
				continue
			}
			pointer := "#/paths/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(path) + "/" + method
			m := managed{method: strings.ToUpper(method), path: path, responses: map[string]string{}}
			m.summary, _ = operation["summary"].(string)
			m.deprecated, _ = operation["deprecated"].(bool)
			if body, ok := operation["requestBody"].(map[string]any); ok && body["content"] != nil {
				m.request = pointer + "/requestBody/content/application~1json/schema"
			}
			responses, _ := operation["responses"].(map[string]any)
			for status, response := range responses {
				m.responses[status] = ""
				if content, ok := response.(map[string]any)["content"]; ok && content != nil {
					m.responses[status] = pointer + "/responses/" + status + "/content/application~1json/schema"
				}
			}
			operations = append(operations, m)
		}
	}
	if len(operations) < 150 {
		t.Fatalf("only %d operations are specified", len(operations))
	}
	schemas := document["components"].(map[string]any)["schemas"].(map[string]any)
	profile := schemas["StorageProfile"].(map[string]any)
	profile["oneOf"] = append(profile["oneOf"].([]any), map[string]any{
		"type": "object", "required": []any{"type", "root"}, "additionalProperties": false,
		"properties": map[string]any{"type": map[string]any{"const": "file"}, "root": map[string]any{"type": "string"}},
	})
	return operations, document
}

// specValidator holds texts against schemas of a document.
type specValidator struct {
	compiler *jsonschema.Compiler
}

const specURL = "urn:lakekeeper:management"

func newSpecValidator(t *testing.T, document map[string]any) *specValidator {
	t.Helper()
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020) // OpenAPI 3.1
	compiler.AssertFormat()
	if err := compiler.AddResource(specURL, plain); err != nil {
		t.Fatal(err)
	}
	return &specValidator{compiler}
}

// check holds a text against the schema at a pointer.
func (v *specValidator) check(t *testing.T, what, pointer, text string) {
	t.Helper()
	schema, err := v.compiler.Compile(specURL + pointer)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err == nil {
		err = schema.Validate(doc)
	}
	if err != nil {
		t.Errorf("%s: %s: %v", what, text, err)
	}
}

// served are the routes of the management API, by name.
func servedManagement() map[string]bool {
	served := map[string]bool{}
	for _, route := range httpapi.Routes(httpapi.Deps{}) {
		if strings.HasPrefix(route.Template, managementRoot+"/") {
			served[route.Method+" "+route.Template] = true
		}
	}
	return served
}

// Each served route takes a request by the specification, and answers it and
// its refusal by the specification's schemas.
func TestManagementAnswersByLakekeepersSchemas(t *testing.T) {
	t.Parallel()
	operations, document := managementSpecification(t)
	validator := newSpecValidator(t, document)
	s := newCounted(t)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", create("t")), 200)
	expect(t, s.do("POST", s.prefix+"/namespaces/n/views", createView("v")), 200)
	s.jobs(t)
	s.softDropped(t, "n", "hidden")
	s.follow(t)
	s.calls(t, `{"warehouse":{"type":"all"}}`) // stores what was counted
	for _, id := range []string{"p", "q"} {
		expect(t, s.do("POST", "/management/v1/project", `{"project-name":"p","project-id":"`+id+`"}`), 201)
	}
	made := expect(t, s.do("POST", "/management/v1/warehouse", `{"warehouse-name":"empty","storage-profile":{"type":"file","root":"file://`+s.root+`/empty"}}`), 201)
	empty, _ := decoded(t, made.body)["warehouse-id"].(string)
	bare := newBareStack(t)
	asked := managementRequests(s.stack)
	// Requests that need an object of their own to succeed.
	special := map[string]func(request [2]string) answer{
		"POST /management/v1/bootstrap": func(r [2]string) answer { return bare.do("POST", r[0], r[1]) },
		"POST /management/v1/warehouse/{warehouse_id}/deactivate": func(r [2]string) answer {
			defer s.do("POST", s.warehouse()+"/activate", "")
			return s.do("POST", r[0], "")
		},
		"DELETE /management/v1/project":                  func(r [2]string) answer { return s.do("DELETE", r[0], "", "X-Project-Id", "p") },
		"DELETE /management/v1/project/{project_id}":     func([2]string) answer { return s.do("DELETE", "/management/v1/project/q", "") },
		"DELETE /management/v1/warehouse/{warehouse_id}": func([2]string) answer { return s.do("DELETE", "/management/v1/warehouse/"+empty, "") },
	}
	denied := s.with(t, authztest.DenyAll{Visible: true})
	served := servedManagement()
	checked := 0
	for _, m := range operations {
		if !served[m.name()] {
			continue
		}
		request := asked[m.name()]
		if m.request != "" {
			validator.check(t, m.name()+", request", m.request, request[1])
		}
		ask := special[m.name()]
		if ask == nil {
			ask = func(r [2]string) answer { return s.do(m.method, r[0], r[1]) }
		}
		got := ask(request)
		pointer, specified := m.responses[strconv.Itoa(got.status)]
		switch {
		case !specified || got.status >= 300:
			t.Errorf("%s: %d %s", m.name(), got.status, got.body)
		case pointer != "":
			validator.check(t, m.name(), pointer, got.body)
		case got.body != "":
			t.Errorf("%s: a body that is not specified: %s", m.name(), got.body)
		}
		refusal := do(denied, m.method, request[0], request[1])
		if refusal.status != http.StatusForbidden {
			t.Errorf("%s: %d %s", m.name(), refusal.status, refusal.body)
		}
		validator.check(t, m.name()+", refused", m.responses["4XX"], refusal.body)
		checked++
	}
	if checked < 30 {
		t.Errorf("only %d routes were checked", checked)
	}
	before := expect(t, newBareStack(t).do("GET", "/management/v1/info", ""), 200)
	validator.check(t, "info before bootstrap", "#/components/schemas/ServerInfo", before.body)
}

var placeholder = regexp.MustCompile(`\{[^}]*\}`)

// What is not served says so in the error model, and touches nothing.
func TestUnservedManagementSaysSo(t *testing.T) {
	t.Parallel()
	operations, _ := managementSpecification(t)
	s := newStack(t)
	before := s.state(t)
	served := servedManagement()
	for _, m := range operations {
		if served[m.name()] {
			continue
		}
		path := strings.Replace(m.path, "{warehouse_id}", strings.TrimPrefix(s.prefix, "/catalog/v1/"), 1)
		path = placeholder.ReplaceAllString(path, "0190a000-0000-7000-8000-0000000000ee")
		got := s.do(m.method, path, `{"protected":true,"new-name":"x"}`)
		// Where the path is also that of a project with such an id, POST is the
		// wrong method.
		if got.status != http.StatusNotFound && (got.status != http.StatusMethodNotAllowed || m.name() != "POST /management/v1/project/grants") {
			t.Errorf("%s: %d %s", m.name(), got.status, got.body)
			continue
		}
		errorOf(t, got)
	}
	if after := s.state(t); after != before {
		t.Errorf("something was touched:\n%s\nthen\n%s", before, after)
	}
}
