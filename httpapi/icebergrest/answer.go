package icebergrest

import (
	"net/http"

	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/httpapi/wire"
)

// writeTable answers a command with the table that it made: LoadTableResult,
// or CommitTableResponse, which has no config. A staged table has no metadata
// location, and no entity tag, for it cannot be loaded.
func writeTable(w http.ResponseWriter, r *http.Request, table commands.Table, config bool) {
	wire.SetETag(w.Header(), table.ETag)
	after := []byte{'}'}
	if config {
		after = afterDocument(table.Config)
	}
	wire.Answer{
		Before:   beforeDocument(table.Pointer),
		Document: table.Document,
		After:    after,
	}.Write(w, r)
}

// beforeDocument is what stands before the metadata document.
func beforeDocument(pointer string) []byte {
	const location, metadata = `{"metadata-location":`, `"metadata":`
	if pointer == "" {
		return []byte("{" + metadata)
	}
	before := make([]byte, 0, len(location)+len(pointer)+len(metadata)+8)
	before = append(before, location...)
	before = append(wire.AppendString(before, pointer), ',')
	return append(before, metadata...)
}

// afterDocument is what stands behind it.
func afterDocument(config map[string]string) []byte {
	after := wire.AppendMap([]byte(`,"config":`), config)
	return append(after, '}')
}
