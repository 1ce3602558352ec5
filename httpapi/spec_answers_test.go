package httpapi_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// texts makes the names of all members texts: the specification writes the
// statuses of answers as numbers.
func texts(doc any) any {
	switch doc := doc.(type) {
	case map[any]any:
		out := make(map[string]any, len(doc))
		for name, inner := range doc {
			out[fmt.Sprint(name)] = texts(inner)
		}
		return out
	case map[string]any:
		for name, inner := range doc {
			doc[name] = texts(inner)
		}
	case []any:
		for i, inner := range doc {
			doc[i] = texts(inner)
		}
	}
	return doc
}

// icebergAnswers holds answers against the specification's schemas.
type icebergAnswers struct {
	validator *specValidator
	document  map[string]any
}

func newIcebergAnswers(t *testing.T) *icebergAnswers {
	t.Helper()
	text, err := os.ReadFile(icebergSpecification)
	if err != nil {
		t.Fatal(err)
	}
	var raw any
	if err := yaml.Unmarshal(text, &raw); err != nil {
		t.Fatal(err)
	}
	document := texts(raw).(map[string]any)
	return &icebergAnswers{newSpecValidator(t, document), document}
}

// check holds an answer of an operation against the schema of its status; a
// status that the specification does not name fails the test, and so does a
// body where it has none.
func (a *icebergAnswers) check(t *testing.T, op operation, got answer) {
	t.Helper()
	what := fmt.Sprintf("%s %s: %d", op.method, op.path, got.status)
	responses := a.document["paths"].(map[string]any)[op.path].(map[string]any)[strings.ToLower(op.method)].(map[string]any)["responses"].(map[string]any)
	status := strconv.Itoa(got.status)
	response, ok := responses[status].(map[string]any)
	if !ok {
		t.Errorf("%s is not documented: %s", what, got.body)
		return
	}
	if got.status >= 400 {
		// The specification means the wrapped form everywhere, which all clients
		// read, and says the bare one for views.
		if op.method != "HEAD" {
			a.validator.check(t, what, "#/components/schemas/IcebergErrorResponse", got.body)
		}
		return
	}
	pointer := "#/paths/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(op.path) + "/" + strings.ToLower(op.method) + "/responses/" + status
	if ref, ok := response["$ref"].(string); ok {
		pointer = ref
		response = a.document["components"].(map[string]any)["responses"].(map[string]any)[last(ref)].(map[string]any)
	}
	if response["content"] == nil || op.method == "HEAD" {
		if got.body != "" {
			t.Errorf("%s has a body: %s", what, got.body)
		}
		return
	}
	// Java prints null here from format 3 on, where the schema knows -1 alone.
	body := strings.Replace(got.body, `"current-snapshot-id":null`, `"current-snapshot-id":-1`, 1)
	a.validator.check(t, what, pointer+"/content/application~1json/schema", body)
}

// Each operation that is served answers a request by the schema of its answer,
// for tables of every format, and a refusal by that of the error.
func TestAnswersFollowTheSpecification(t *testing.T) {
	t.Parallel()
	answers := newIcebergAnswers(t)
	spec := readSpecification(t, icebergSpecification)
	for format := 1; format <= 3; format++ {
		t.Run(fmt.Sprint("v", format), func(t *testing.T) {
			t.Parallel()
			f := newTarget(t)
			version := fmt.Sprintf(`{"properties":{"format-version":"%d"},`, format)
			expect(t, f.do("DELETE", f.prefix+"/namespaces/n/tables/t", ""), 204)
			expect(t, f.do("POST", f.prefix+"/namespaces/n/tables", strings.Replace(create("t"), "{", version, 1)), 200)
			asked := requests(f.stack)
			checked := 0
			for _, late := range []bool{false, true} { // what removes something comes last
				for _, op := range spec.operations(t) {
					key := op.method + " /catalog" + op.path
					if f.serves("/catalog", op) && late == (op.method == "DELETE" || strings.HasSuffix(op.path, "/rename") || strings.HasSuffix(op.path, "/unregister")) && !op.form {
						request := asked[key]
						if key == "POST /catalog/v1/{prefix}/namespaces/{namespace}/register-view" {
							continue // needs a view's file; below
						}
						f.objects()
						for _, free := range []string{"tables/u", "tables/new", "tables/back", "views/new", "views/w"} {
							f.do("DELETE", f.prefix+"/namespaces/n/"+free, "")
						}
						got := f.do(op.method, request[0], request[1])
						if got.status >= 300 && !strings.HasSuffix(op.path, "/functions/{function}") {
							t.Errorf("%s: %d %s", key, got.status, got.body)
						}
						answers.check(t, op, got)
						checked++
						if strings.Contains(op.path, "{namespace}") { // and once more, where nothing is
							answers.check(t, op, f.do(op.method, strings.Replace(request[0], "/namespaces/n", "/namespaces/none", 1), request[1]))
						}
					}
				}
			}
			if checked < 25 {
				t.Errorf("only %d answers", checked)
			}
		})
	}
}

// Documents with everything in them are by the schema, too.
func TestFullDocumentsFollowTheSpecification(t *testing.T) {
	t.Parallel()
	answers := newIcebergAnswers(t)
	s := newStack(t)
	c := s.client(s.prefix)
	expect(t, s.do("POST", s.prefix+"/namespaces", `{"namespace":["n"]}`), 200)
	load := operation{method: "GET", path: "/v1/{prefix}/namespaces/{namespace}/tables/{table}"}
	for format := 1; format <= 3; format++ {
		path := fmt.Sprint("/namespaces/n/tables/t", format)
		expect(t, s.do("POST", s.prefix+"/namespaces/n/tables", strings.Replace(create(fmt.Sprint("t", format)), "{", fmt.Sprintf(`{"properties":{"format-version":"%d"},"write-order":{"order-id":1,"fields":[{"source-id":1,"transform":"bucket[4]","direction":"desc","null-order":"nulls-last"}]},"partition-spec":{"spec-id":0,"fields":[{"source-id":2,"name":"p","transform":"truncate[3]"}]},`, format), 1)), 200)
		lineage := ""
		if format == 3 {
			lineage = `,"first-row-id":0,"added-rows":3`
		}
		c.play(t, []step{{send: "POST " + path, want: 200, body: commit("", strings.Join([]string{
			strings.Replace(snapshot(1, "", format/2), `,"schema-id":0`, `,"schema-id":0`+lineage, 1), branch("main", 1), `{"action":"set-snapshot-ref","ref-name":"v1","type":"tag","snapshot-id":1,"max-ref-age-ms":1000}`,
			`{"action":"set-snapshot-ref","ref-name":"b","type":"branch","snapshot-id":1,"max-ref-age-ms":1000,"max-snapshot-age-ms":1000,"min-snapshots-to-keep":2}`,
			`{"action":"set-statistics","snapshot-id":1,"statistics":{"snapshot-id":1,"statistics-path":"@root@/1.stats","file-size-in-bytes":100,"file-footer-size-in-bytes":20,"blob-metadata":[{"type":"x","snapshot-id":1,"sequence-number":1,"fields":[1],"properties":{"a":"b"}}]}}`,
			`{"action":"set-partition-statistics","partition-statistics":{"snapshot-id":1,"statistics-path":"@root@/1.parts","file-size-in-bytes":100}}`,
			`{"action":"add-encryption-key","encryption-key":{"key-id":"k","encrypted-key-metadata":"YQ=="}}`,
		}, ","))}})
		for _, query := range []string{"", "?snapshots=refs"} {
			answers.check(t, load, expect(t, s.do("GET", s.prefix+path+query, ""), 200))
		}
	}
	register := operation{method: "POST", path: "/v1/{prefix}/namespaces/{namespace}/register-view"}
	file := view(t, s.do("POST", s.prefix+"/namespaces/n/views", createView("v"))).MetadataLocation
	expect(t, s.do("DELETE", s.prefix+"/namespaces/n/views/v", ""), 204)
	answers.check(t, register, expect(t, s.do("POST", s.prefix+"/namespaces/n/register-view", fmt.Sprintf(`{"name":"w","metadata-location":%q}`, file)), 200))
	answers.check(t, register, expect(t, s.do("POST", s.prefix+"/namespaces/n/register-view", fmt.Sprintf(`{"name":"w","metadata-location":%q}`, file)), 409))
}
