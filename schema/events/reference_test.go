package events_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/schema/events"
)

var update = flag.Bool("update", false, "rewrite docs/reference/events.md")

const reference = "../../docs/reference/events.md"

// TestReferenceIsWhatTheSchemasSay generates the catalogue of events from the
// schemas and the golden payloads.
func TestReferenceIsWhatTheSchemasSay(t *testing.T) {
	t.Parallel()
	want := catalogue(t)
	if *update {
		if err := os.MkdirAll(filepath.Dir(reference), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(reference, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what schema/events says: run ./task gen", reference)
	}
}

// schema is as much of JSON Schema as our files use.
type schema struct {
	ID                   string            `json:"$id"`
	Title                string            `json:"title"`
	Description          string            `json:"description"`
	Ref                  string            `json:"$ref"`
	Type                 string            `json:"type"`
	Enum                 []string          `json:"enum"`
	Required             []string          `json:"required"`
	Properties           ordered           `json:"properties"`
	Items                *schema           `json:"items"`
	AdditionalProperties json.RawMessage   `json:"additionalProperties"`
	Defs                 map[string]schema `json:"$defs"`
}

// ordered keeps the members in the order of the file.
type ordered []property

type property struct {
	name   string
	schema schema
}

func (o *ordered) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		p := property{name: name.(string)}
		if err := d.Decode(&p.schema); err != nil {
			return err
		}
		*o = append(*o, p)
	}
	return nil
}

func (s *schema) resolve(p schema) schema {
	name, ok := strings.CutPrefix(p.Ref, "#/$defs/")
	if !ok {
		return p
	}
	def := s.resolve(s.Defs[name])
	if p.Description != "" {
		def.Description = p.Description
	}
	return def
}

// kind says a member's type in a word or two.
func (s *schema) kind(p schema) string {
	p = s.resolve(p)
	switch {
	case len(p.Enum) > 0:
		return "`" + strings.Join(p.Enum, "` or `") + "`"
	case p.Type == "array" && p.Items != nil:
		return "array of " + s.kind(*p.Items)
	case p.Type == "object" && len(p.AdditionalProperties) > 0 && bytes.Contains(p.AdditionalProperties, []byte("string")):
		return "object of strings"
	}
	return p.Type
}

// entities in the order in which the catalogue tells of them.
var entities = []string{"server", "project", "warehouse", "namespace", "table", "view", "destination", "cleanup", "log"}

func catalogue(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	b.WriteString(`# Events

<!-- Generated from schema/events by ./task gen. Do not edit. -->

Every mutation is a CloudEvent 1.0 in the log, and is published as it stands there. ` + "`type` is `dev.icecore.<event>`, `subject`" + `
is ` + "`<entity>/<object id>`, `source` is `urn:icecore:<server id>`, and `dataschema` names the schema of `data`" + `, which is a file
in ` + "`schema/events`" + `. A released schema never changes: another shape is another version. Members that are not listed do not occur.

| attribute | meaning |
|---|---|
| ` + "`id`" + ` | UUID version 7, the same for ever and wherever it is published: deduplicate by it |
| ` + "`time`" + ` | when it happened, by the clock of the instance that did it |
| ` + "`sequence`" + ` | position in the log, gapless, twenty digits, so that texts sort as numbers |
| ` + "`logtime`" + ` | when it got that position; it never goes back along the log |
| ` + "`epoch`" + ` | one unbroken history of positions; another one begins after a restore or fail-over |
| ` + "`partitionkey`, `streamversion`" + ` | the object's id, and its version after this event, from 1 without a gap |
| ` + "`commitid`, `commitindex`, `commitsize`" + ` | the commit that it is part of: all events of a commit happened together, or none |
| ` + "`warehouseid`, `projectid`" + ` | where it belongs; absent above |
| ` + "`actor`, `requestid`, `causation`, `traceparent`" + ` | the caller's pseudonym, the request, the event that caused it, the trace |

`)
	files := events.Files()
	b.WriteString("| event | |\n|---|---|\n")
	for _, entity := range entities {
		for _, file := range files {
			if strings.HasPrefix(file, entity+".") && !superseded(files, file) {
				s := read(t, file)
				fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", event(file), strings.NewReplacer(".", "").Replace(event(file)), s.Title)
			}
		}
	}
	for _, file := range files {
		if !slices.Contains(entities, strings.SplitN(file, ".", 2)[0]) {
			t.Errorf("%s is of no entity that the catalogue knows", file)
		}
	}
	for _, entity := range entities {
		for _, file := range files {
			if strings.HasPrefix(file, entity+".") {
				describe(t, &b, file, superseded(files, file))
			}
		}
	}
	return b.Bytes()
}

// event is the file's event type without its prefix and version.
func event(file string) string {
	name, _, _ := strings.Cut(file, ".v")
	return name
}

// superseded reports whether a later version of the event's schema exists.
func superseded(files []string, file string) bool {
	last := file
	for _, other := range files {
		if event(other) == event(file) && (len(other) > len(last) || len(other) == len(last) && other > last) {
			last = other
		}
	}
	return last != file
}

func read(t *testing.T, file string) *schema {
	t.Helper()
	text, err := events.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	var s schema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return &s
}

func describe(t *testing.T, b *bytes.Buffer, file string, old bool) {
	t.Helper()
	s := read(t, file)
	title := event(file)
	if old {
		title += ", an older version"
	}
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n`dataschema`: `%s`\n\n| member | type | |\n|---|---|---|\n", title, s.Description, s.ID)
	members(s, b, "", s.Properties, s.Required)
	dir := filepath.Join("testdata", event(file), s.ID[strings.LastIndexByte(s.ID, ':')+1:])
	examples, err := os.ReadDir(dir)
	if err != nil || len(examples) == 0 {
		t.Fatalf("%s has no example: %v", file, err)
	}
	example, err := os.ReadFile(filepath.Join(dir, examples[0].Name()))
	if err != nil {
		t.Fatal(err)
	}
	b.WriteString("\n```json\n")
	if err := json.Indent(b, example, "", "  "); err != nil {
		t.Fatal(err)
	}
	b.WriteString("\n```\n")
}

func members(s *schema, b *bytes.Buffer, prefix string, list ordered, required []string) {
	for _, p := range list {
		def := s.resolve(p.schema)
		text := def.Description
		if !slices.Contains(required, p.name) {
			text = strings.TrimSpace("Optional. " + text)
		}
		fmt.Fprintf(b, "| `%s%s` | %s | %s |\n", prefix, p.name, s.kind(p.schema), text)
		inner := def
		at := prefix + p.name + "."
		if def.Type == "array" && def.Items != nil {
			inner, at = s.resolve(*def.Items), prefix+p.name+"[]."
		}
		if len(inner.AdditionalProperties) > 0 { // ours to the last member; spec JSON is not
			members(s, b, at, inner.Properties, inner.Required)
		}
	}
}
