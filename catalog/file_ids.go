package catalog

import (
	"crypto/sha256"
	"strings"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// FileID turns a fresh id into the one that stands in the name of a metadata file
// which the server of a log writes for an object. It is a UUID of version 8, whose
// bits are the program's own: those of the fresh id, with the last four bytes
// replaced by a digest of log, object and the rest. So the name alone tells the
// server that it wrote the file itself, and for whom. Other catalogs name theirs
// by UUIDs of version 4 and 7, and another Icecore has another log (ADR 0016).
// The form is frozen: files are found by it for ever.
func FileID(log, object, fresh ids.ID) ids.ID {
	fresh[6] = 0x80 | fresh[6]&0x0f
	digest := fileDigest(log, object, fresh)
	copy(fresh[12:], digest[:4])
	return fresh
}

func fileDigest(log, object, id ids.ID) [32]byte {
	b := make([]byte, 0, 64)
	b = append(b, "icecore metadata file\x00"...)
	b = append(append(b, log[:]...), object[:]...)
	return sha256.Sum256(append(b, id[:12]...))
}

// FileIDIn returns the id in the name of a metadata file, NNNNN-<uuid>.… as the
// Iceberg spec has it, whoever wrote the file. Files are told apart by it: there is
// more than one spelling of a place.
func FileIDIn(location string) (ids.ID, bool) {
	name := location[strings.LastIndexByte(location, '/')+1:]
	number, rest, ok := strings.Cut(name, "-")
	if !ok || len(number) < 5 || strings.Trim(number, "0123456789") != "" || len(rest) < 36 {
		return ids.Nil, false
	}
	id, err := ids.Parse(rest[:36])
	return id, err == nil
}

// WroteFile reports whether the name of a file is one that the server of a log
// gives to the metadata files of an object: NNNNN-<uuid>.metadata.json, or
// .gz.metadata.json where it is compressed, with a UUID made by [FileID].
func WroteFile(log, object ids.ID, location string) bool {
	id, ok := FileIDIn(location)
	if !ok || id[6]>>4 != 8 || id[8]>>6 != 2 {
		return false
	}
	name := id.String() + ".metadata.json"
	packed := id.String() + ".gz.metadata.json"
	if !strings.HasSuffix(location, "-"+name) && !strings.HasSuffix(location, "-"+packed) {
		return false
	}
	digest := fileDigest(log, object, id)
	return string(id[12:]) == string(digest[:4])
}
