// Package manifesttest writes manifest lists and manifests as small as purges
// and checks read them: a path in each entry. It is for tests.
package manifesttest

import (
	"encoding/binary"
	"slices"
)

func avroText(s string) []byte { return append(avroLong(int64(len(s))), s...) }

func avroLong(n int64) []byte { return binary.AppendUvarint(nil, uint64(n<<1)^uint64(n>>63)) }

// container makes an object container file of entries.
func container(schema string, entries ...[]byte) []byte {
	const sync = "0123456789abcdef"
	b := []byte("Obj\x01")
	b = append(b, avroLong(1)...)
	b = append(append(b, avroText("avro.schema")...), avroText(schema)...)
	b = append(append(b, 0), sync...)
	block := slices.Concat(entries...)
	b = append(append(b, avroLong(int64(len(entries)))...), avroLong(int64(len(block)))...)
	return append(append(b, block...), sync...)
}

// List is a manifest list.
func List(manifests ...string) []byte {
	entries := make([][]byte, len(manifests))
	for i, m := range manifests {
		entries[i] = append(avroText(m), avroLong(7)...)
	}
	return container(`{"type":"record","name":"manifest_file","fields":[{"name":"manifest_path","type":"string"},{"name":"manifest_length","type":"long"}]}`, entries...)
}

// Manifest is a manifest of added data files.
func Manifest(files ...string) []byte {
	entries := make([][]byte, len(files))
	for i, f := range files {
		entries[i] = slices.Concat(avroLong(1), avroLong(0), avroText(f))
	}
	return container(`{"type":"record","name":"manifest_entry","fields":[{"name":"status","type":"int"},`+
		`{"name":"data_file","type":{"type":"record","name":"r2","fields":[{"name":"content","type":"int"},{"name":"file_path","type":"string"}]}}]}`, entries...)
}
