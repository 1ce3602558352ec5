package iceberg

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

const (
	plainSuffix      = ".metadata.json"
	gzipSuffix       = ".gz.metadata.json"
	legacyGzipSuffix = ".metadata.json.gz"
)

// NextMetadataFile returns the location for a document (Iceberg spec, naming
// for table metadata files): <dir>/<5-digit version>-<uuid>[.gz].metadata.json.
// The directory is write.metadata.path or <location>/metadata; the version is
// that of the previous file + 1, or 0 when there is none or its name holds
// none. Location and properties are those of m, the document to be written.
func NextMetadataFile(m *Metadata, previous, uuid string) string {
	return nextFile(m.MetadataDir(), m.Gzip(), previous, uuid)
}

func nextFile(dir string, packed bool, previous, uuid string) string {
	suffix := plainSuffix
	if packed {
		suffix = gzipSuffix
	}
	return fmt.Sprintf("%s/%05d-%s%s", dir, versionOf(previous)+1, uuid, suffix)
}

// MetadataDir returns the directory for metadata files, without a slash at
// its end.
func (m *Metadata) MetadataDir() string {
	if dir, ok := m.Property(PropMetadataPath); ok && dir != "" {
		return stripTrailingSlash(dir)
	}
	return stripTrailingSlash(m.location) + "/metadata"
}

// Gzip says whether the table asks for compressed metadata files.
func (m *Metadata) Gzip() bool {
	codec, _ := m.Property(PropMetadataCompression)
	return strings.EqualFold(codec, "gzip")
}

// DeleteAfterCommit says whether files that leave the metadata log shall be
// deleted.
func (m *Metadata) DeleteAfterCommit() bool {
	value, _ := m.Property(PropDeleteAfterCommit)
	return boolProperty(value)
}

// GCEnabled says whether data files may be deleted on a purge; true unless
// the table says otherwise.
func (m *Metadata) GCEnabled() bool {
	value, ok := m.Property(PropGCEnabled)
	return !ok || boolProperty(value)
}

// versionOf reads the version from a metadata file's name; -1 when it has
// none, as files of file-system tables (v3.metadata.json).
func versionOf(location string) int {
	file := location[strings.LastIndexByte(location, '/')+1:]
	digits, _, ok := strings.Cut(file, "-")
	if !ok {
		return -1
	}
	n, err := strconv.ParseInt(digits, 10, 31)
	if err != nil || n < 0 || digits[0] == '+' {
		return -1
	}
	return int(n)
}

// EncodeFile returns the bytes of a document's metadata file, compressed if
// the table asks for it. Equal documents give equal bytes.
func EncodeFile(m *Metadata) (data []byte, compressed bool) {
	if !m.Gzip() {
		return m.doc, false
	}
	return gzipped(m.doc), true
}

func gzipped(doc []byte) []byte {
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	// Writing to a buffer cannot fail.
	_, _ = w.Write(doc)
	_ = w.Close()
	return buf.Bytes()
}

// IsMetadataFile says whether a location is named like a metadata file and
// may be registered; a directory is not.
func IsMetadataFile(location string) bool {
	return strings.HasSuffix(location, plainSuffix) || strings.HasSuffix(location, legacyGzipSuffix)
}

// DecodeFile returns the document in a metadata file. Compression shows in
// the magic number; a name that promises it and bytes that lack it are an
// error, for other readers go by the name. maxBytes bounds the document, also
// against a small file that expands without end.
func DecodeFile(file string, data []byte, maxBytes int64) ([]byte, error) {
	packed := len(data) >= 2 && data[0] == 0x1f && data[1] == 0x8b
	promised := strings.HasSuffix(file, gzipSuffix) || strings.HasSuffix(file, legacyGzipSuffix)
	if !packed {
		if promised {
			return nil, badRequest("Metadata file is named as gzip but is not: %s", file)
		}
		if int64(len(data)) > maxBytes {
			return nil, tooLarge(file, maxBytes)
		}
		return data, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, badRequest("Cannot read gzip metadata file %s: %v", file, err)
	}
	doc, err := io.ReadAll(io.LimitReader(r, min(maxBytes, math.MaxInt64-1)+1))
	switch {
	case err != nil && errors.Is(err, io.ErrUnexpectedEOF):
		return nil, badRequest("Cannot read gzip metadata file %s: it is cut off", file)
	case err != nil:
		return nil, badRequest("Cannot read gzip metadata file %s: %v", file, err)
	case int64(len(doc)) > maxBytes:
		return nil, tooLarge(file, maxBytes)
	}
	return doc, nil
}

func tooLarge(file string, maxBytes int64) error {
	return badRequest("Metadata file holds more than %d bytes: %s", maxBytes, file)
}

// RemovedMetadataFiles returns the files that the base's metadata log names
// and the next one's, and its own location, no longer do: what a table with
// delete-after-commit gives up. The caller deletes only what it owns.
func RemovedMetadataFiles(base, next *Metadata) []string {
	if base == nil || base == next {
		return nil
	}
	kept := map[string]bool{}
	for _, e := range next.MetadataLog() {
		kept[e.MetadataFile] = true
	}
	var gone []string
	for _, e := range base.MetadataLog() {
		if !kept[e.MetadataFile] {
			gone = append(gone, e.MetadataFile)
		}
	}
	return gone
}
