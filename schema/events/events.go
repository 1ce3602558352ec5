// Package events embeds the JSON Schemas of event payloads. One file is one
// version of one event type, named <entity>.<verb>.v<version>.schema.json; its
// $id is the dataschema of the events that obey it. A released file never
// changes: another shape is another version, with an upcaster in catalog.
//
// testdata holds payloads of every version ever released,
// <entity>.<verb>/v<version>/<name>.json. It only grows: a test decodes each.
package events

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed *.schema.json
var files embed.FS

// Files returns the names of all schema files, in order.
func Files() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // embedded: it cannot fail
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// Read returns a schema file.
func Read(name string) ([]byte, error) {
	b, err := files.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("schema file: %w", err)
	}
	return b, nil
}

// FileOf returns the name of the file that a dataschema stands for,
// "urn:icecore:events:table.created:v1" → "table.created.v1.schema.json".
func FileOf(dataschema string) (string, bool) {
	rest, ok := strings.CutPrefix(dataschema, "urn:icecore:events:")
	event, version, ok2 := strings.Cut(rest, ":")
	return event + "." + version + ".schema.json", ok && ok2
}
