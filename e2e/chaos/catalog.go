package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// warehouse is one of the two that the workers work on.
type warehouse struct {
	name   string
	soft   bool // drops are soft
	id     string
	prefix string // path up to and with the warehouse's
}

// namespacePath is the path of a namespace of one level.
func (w *warehouse) namespacePath(namespace string) string {
	return w.prefix + "/namespaces/" + namespace
}

func (w *warehouse) undropPath() string {
	return "/management/v1/warehouse/" + w.id + "/deleted-tabulars/undrop"
}

// table is what its one writer knows of a table.
type table struct {
	home      *warehouse
	namespace string
	name      string
	uuid      ids.ID
	location  string // base location, file:///…

	sent     int // numbers up to this were sent
	acked    int // the newest that was acknowledged
	doubtful map[int]bool
	snapshot int64 // current, 0 for none
	sequence int64 // last sequence number
}

func (t *table) path() string { return t.home.namespacePath(t.namespace) + "/tables/" + t.name }

func (t *table) identifier() map[string]any {
	return map[string]any{"namespace": []string{t.namespace}, "name": t.name}
}

// document is what the driver reads of a table's metadata.
type document struct {
	MetadataLocation string `json:"metadata-location"`
	Metadata         struct {
		UUID        ids.ID            `json:"table-uuid"`
		Location    string            `json:"location"`
		Properties  map[string]string `json:"properties"`
		Snapshot    int64             `json:"current-snapshot-id"`
		Sequence    int64             `json:"last-sequence-number"`
		MetadataLog []struct {
			File string `json:"metadata-file"`
		} `json:"metadata-log"`
		Snapshots []struct {
			ID   int64  `json:"snapshot-id"`
			List string `json:"manifest-list"`
		} `json:"snapshots"`
	} `json:"metadata"`
}

func parseDocument(body []byte) (d document, err error) {
	err = json.Unmarshal(body, &d)
	return d, err
}

// seq is the number that a table's property holds, 0 without.
func (d *document) seq(property string) int {
	n, _ := strconv.Atoi(d.Metadata.Properties[property])
	return n
}

const seqProperty = "chaos.seq"

// createBody is a CreateTableRequest. Every third table lets its old metadata
// files fall out of the log.
func createBody(name string, n int) map[string]any {
	properties := map[string]string{seqProperty: "0"}
	if n%3 == 0 {
		properties["write.metadata.delete-after-commit.enabled"] = "true"
		properties["write.metadata.previous-versions-max"] = "3"
	}
	return map[string]any{
		"name": name,
		"schema": map[string]any{"type": "struct", "schema-id": 0, "fields": []any{
			map[string]any{"id": 1, "name": "id", "required": false, "type": "long"},
			map[string]any{"id": 2, "name": "text", "required": false, "type": "string"},
		}},
		"properties": properties,
	}
}

func setProperty(name string, n int) map[string]any {
	return map[string]any{"action": "set-properties", "updates": map[string]string{name: strconv.Itoa(n)}}
}

func (t *table) assertUUID() map[string]any {
	return map[string]any{"type": "assert-table-uuid", "uuid": t.uuid.String()}
}

// pathOf is the file that a location names.
func pathOf(location string) string { return strings.TrimPrefix(location, "file://") }

func viewBody(name string) map[string]any {
	return map[string]any{
		"name":   name,
		"schema": map[string]any{"type": "struct", "schema-id": 0, "fields": []any{map[string]any{"id": 1, "name": "id", "required": false, "type": "long"}}},
		"view-version": map[string]any{
			"version-id": 1, "schema-id": 0, "timestamp-ms": 1, "summary": map[string]string{}, "default-namespace": []string{"shared"},
			"representations": []any{map[string]any{"type": "sql", "sql": "SELECT 1 AS id", "dialect": "spark"}},
		},
		"properties": map[string]string{},
	}
}

func nameOf(kind string, worker, n int) string { return fmt.Sprintf("%s_%d_%d", kind, worker, n) }

func unmarshal(body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%w in %.200s", err, body)
	}
	return nil
}
