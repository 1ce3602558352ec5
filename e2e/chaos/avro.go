package main

import (
	"encoding/binary"
	"slices"
)

// Manifests as small as the purge and the checks of this package read them: a
// path in each.

func avroText(s string) []byte { return append(avroLong(int64(len(s))), s...) }

func avroLong(n int64) []byte { return binary.AppendUvarint(nil, uint64(n<<1)^uint64(n>>63)) }

// avro makes an object container file of entries.
func avro(schema string, entries ...[]byte) []byte {
	const sync = "0123456789abcdef"
	b := []byte("Obj\x01")
	b = append(b, avroLong(1)...)
	b = append(append(b, avroText("avro.schema")...), avroText(schema)...)
	b = append(append(b, 0), sync...)
	block := slices.Concat(entries...)
	b = append(append(b, avroLong(int64(len(entries)))...), avroLong(int64(len(block)))...)
	return append(append(b, block...), sync...)
}

// listOf is a manifest list.
func listOf(manifests ...string) []byte {
	entries := make([][]byte, len(manifests))
	for i, m := range manifests {
		entries[i] = append(avroText(m), avroLong(7)...)
	}
	return avro(`{"type":"record","name":"manifest_file","fields":[{"name":"manifest_path","type":"string"},{"name":"manifest_length","type":"long"}]}`, entries...)
}

// manifestOf is a manifest.
func manifestOf(files ...string) []byte {
	entries := make([][]byte, len(files))
	for i, f := range files {
		entries[i] = slices.Concat(avroLong(1), avroLong(0), avroText(f))
	}
	return avro(`{"type":"record","name":"manifest_entry","fields":[{"name":"status","type":"int"},`+
		`{"name":"data_file","type":{"type":"record","name":"r2","fields":[{"name":"content","type":"int"},{"name":"file_path","type":"string"}]}}]}`, entries...)
}
