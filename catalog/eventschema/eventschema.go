// Package eventschema is the codec's strict mode: it holds event payloads
// against the published JSON Schemas of schema/events with an independent
// validator, beside the rules that package catalog checks by itself. Tests use
// it, and verification of a log that somebody doubts; the commit path does not.
package eventschema

import (
	"bytes"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/schema/events"
)

// Validator holds the compiled schemas. It is safe for concurrent use.
type Validator struct {
	schemas map[string]*jsonschema.Schema // by dataschema
}

// New compiles all schemas.
func New() (*Validator, error) {
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	var names []string
	for _, file := range events.Files() {
		text, err := events.Read(file)
		if err != nil {
			return nil, err
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("schema %s: %w", file, err)
		}
		id, _ := doc.(map[string]any)["$id"].(string)
		if name, ok := events.FileOf(id); !ok || name != file {
			return nil, fmt.Errorf("schema %s: its $id is %q", file, id)
		}
		if err := compiler.AddResource(id, doc); err != nil {
			return nil, fmt.Errorf("schema %s: %w", file, err)
		}
		names = append(names, id)
	}
	v := &Validator{schemas: make(map[string]*jsonschema.Schema, len(names))}
	for _, id := range names {
		compiled, err := compiler.Compile(id)
		if err != nil {
			return nil, fmt.Errorf("schema %s: %w", id, err)
		}
		v.schemas[id] = compiled
	}
	return v, nil
}

// Validate holds a payload against its schema.
func (v *Validator) Validate(dataschema string, data []byte) error {
	compiled, ok := v.schemas[dataschema]
	if !ok {
		return fmt.Errorf("no schema %q", dataschema)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("payload: %w", err)
	}
	if err := compiled.Validate(doc); err != nil {
		return fmt.Errorf("payload against %s: %w", dataschema, err)
	}
	return nil
}

// Decode is [catalog.Decode] for a payload that also obeys its schema.
func (v *Validator) Decode(typ, dataschema string, data []byte) (catalog.Event, error) {
	if err := v.Validate(dataschema, data); err != nil {
		return nil, &catalog.PayloadError{Type: typ, Cause: err}
	}
	return catalog.Decode(typ, dataschema, data)
}
