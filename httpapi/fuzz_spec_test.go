package httpapi_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// specification is what the fuzzer needs of an OpenAPI document.
type specification struct {
	Paths      map[string]specPath
	Components struct {
		Parameters map[string]specParameter
		Schemas    map[string]*specSchema
	}
}

type specPath struct {
	Parameters                          []specParameter
	Get, Put, Post, Delete, Patch, Head *specOperation
}

type specParameter struct {
	Ref      string `yaml:"$ref"`
	Name, In string
	Required bool
	Schema   *specSchema
}

type specOperation struct {
	ID          string `yaml:"operationId"`
	Parameters  []specParameter
	RequestBody *struct {
		Content map[string]struct{ Schema *specSchema }
	} `yaml:"requestBody"`
	Responses map[string]any
}

type specSchema struct {
	Ref           string `yaml:"$ref"`
	Type          yaml.Node
	Format        string
	Const         any
	Enum          []any
	Properties    map[string]*specSchema
	Required      []string
	Items         *specSchema
	AllOf         []*specSchema `yaml:"allOf"`
	OneOf         []*specSchema `yaml:"oneOf"`
	AnyOf         []*specSchema `yaml:"anyOf"`
	Additional    yaml.Node     `yaml:"additionalProperties"`
	Discriminator *struct{ Mapping map[string]string }
}

// operation is one method of one path, its references followed.
type operation struct {
	method, path string // e.g. "GET", "/v1/{prefix}/namespaces"
	id           string
	query        []specParameter
	header       []specParameter
	body         *specSchema // nil if the operation takes none
	form         bool        // the body is a form, not JSON
	successes    []string    // documented statuses below 400
}

func readSpecification(t testing.TB, file string) *specification {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	spec := &specification{}
	if err := yaml.Unmarshal(text, spec); err != nil {
		t.Fatal(err)
	}
	return spec
}

// operations lists all operations, in an order that does not change.
func (s *specification) operations(t testing.TB) []operation {
	t.Helper()
	var all []operation
	for _, path := range slices.Sorted(maps.Keys(s.Paths)) {
		item := s.Paths[path]
		methods := map[string]*specOperation{"GET": item.Get, "PUT": item.Put, "POST": item.Post, "DELETE": item.Delete, "PATCH": item.Patch, "HEAD": item.Head}
		for _, method := range slices.Sorted(maps.Keys(methods)) {
			found := methods[method]
			if found == nil {
				continue
			}
			op := operation{method: method, path: path, id: found.ID}
			for _, p := range slices.Concat(item.Parameters, found.Parameters) {
				if p.Ref != "" {
					p = s.Components.Parameters[last(p.Ref)]
				}
				switch p.In {
				case "query":
					op.query = append(op.query, p)
				case "header":
					op.header = append(op.header, p)
				case "path":
				default:
					t.Fatalf("%s %s: parameter %q in %q", method, path, p.Name, p.In)
				}
			}
			if found.RequestBody != nil {
				for kind, content := range found.RequestBody.Content {
					op.body, op.form = content.Schema, kind != "application/json"
				}
			}
			for status := range found.Responses {
				if status < "4" {
					op.successes = append(op.successes, status)
				}
			}
			if len(op.successes) == 0 {
				t.Fatalf("%s %s: no success", method, path)
			}
			all = append(all, op)
		}
	}
	return all
}

func last(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// resolve follows a reference.
func (s *specification) resolve(schema *specSchema) *specSchema {
	for schema != nil && schema.Ref != "" {
		schema = s.Components.Schemas[last(schema.Ref)]
	}
	return schema
}

// members collects the members of an object and those that it must have, also
// from what it is composed of.
func (s *specification) members(schema *specSchema) (all map[string]*specSchema, required []string) {
	all = map[string]*specSchema{}
	for _, part := range schema.AllOf {
		more, must := s.members(s.resolve(part))
		maps.Copy(all, more)
		required = append(required, must...)
	}
	maps.Copy(all, schema.Properties)
	required = append(required, schema.Required...)
	slices.Sort(required)
	return all, slices.Compact(required)
}

// kind names the JSON type of a schema, the first one of several.
func (schema *specSchema) kind() string {
	switch {
	case schema.Type.Kind == yaml.ScalarNode:
		return schema.Type.Value
	case schema.Type.Kind == yaml.SequenceNode && len(schema.Type.Content) > 0:
		return schema.Type.Content[0].Value
	case len(schema.Properties) > 0 || len(schema.AllOf) > 0:
		return "object"
	}
	return ""
}

// additional returns the schema of members that have no name of their own, nil
// if there are none.
func (schema *specSchema) additional() *specSchema {
	if schema.Additional.Kind != yaml.MappingNode {
		return nil
	}
	var of specSchema
	if schema.Additional.Decode(&of) != nil {
		return nil
	}
	return &of
}
