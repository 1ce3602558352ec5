package eventschema_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/catalog/eventschema"
	"github.com/icecore-catalog/icecore/schema/events"
)

// TestEveryGoldenPayloadObeysItsSchema covers the log's own events too, which
// package catalog does not read.
func TestEveryGoldenPayloadObeysItsSchema(t *testing.T) {
	t.Parallel()
	v, err := eventschema.New()
	if err != nil {
		t.Fatal(err)
	}
	const root = "../../schema/events/testdata"
	files, err := filepath.Glob(filepath.Join(root, "*", "v*", "*.json"))
	if err != nil || len(files) < 15 {
		t.Fatalf("%d payloads, %v", len(files), err)
	}
	asked := map[string]bool{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Dir(file)
		schema := "urn:icecore:events:" + filepath.Base(filepath.Dir(dir)) + ":" + filepath.Base(dir)
		if err := v.Validate(schema, data); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		name, _ := events.FileOf(schema)
		asked[name] = true
	}
	for _, name := range events.Files() {
		if !asked[name] {
			t.Errorf("%s has no payload that obeys it", name)
		}
	}
}

func TestStrictDecodeAsksTheSchemaFirst(t *testing.T) {
	t.Parallel()
	v, err := eventschema.New()
	if err != nil {
		t.Fatal(err)
	}
	const typ = catalog.TypeProjectCreated
	schema := catalog.DataSchema(typ, 1)
	if e, err := v.Decode(typ, schema, []byte(`{"name":"a"}`)); err != nil || e.(*catalog.ProjectCreated).Name != "a" {
		t.Errorf("a good payload: %v, %v", e, err)
	}
	var payload *catalog.PayloadError
	for name, data := range map[string]string{"no member": `{}`, "not JSON": `{`, "twice, which no schema sees": `{"name":"a","name":"b"}`} {
		if _, err := v.Decode(typ, schema, []byte(data)); !errors.As(err, &payload) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := v.Validate("urn:icecore:events:project.created:v9", []byte(`{"name":"a"}`)); err == nil {
		t.Error("a schema that does not exist is obeyed")
	}
}
