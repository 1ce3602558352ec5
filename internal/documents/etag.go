package documents

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// Variant is what changes the answer to a load beside the table's state.
type Variant struct {
	Snapshots string // "all" or "refs"
	// Warehouse is the warehouse's mark: it stands for the storage profile, from
	// which the table's configuration is made.
	Warehouse ids.ID
	// Delegation is the form of access that is handed out, "" for none, with the
	// rights it was made for.
	Delegation string
}

// ETag returns the entity tag of a load, in quotes (design 5). It is weak, for
// the gzip and the plain form of one answer share it.
func ETag(pointer string, v Variant) string {
	var room [512]byte // each load does this
	text := room[:0]
	for _, part := range [...]string{"1", pointer, v.Snapshots, string(v.Warehouse[:]), v.Delegation} {
		text = binary.AppendUvarint(text, uint64(len(part)))
		text = append(text, part...)
	}
	sum := sha256.Sum256(text)
	tag := append(room[:0], `W/"`...)
	tag = hex.AppendEncode(tag, sum[:16])
	return string(append(tag, '"'))
}
