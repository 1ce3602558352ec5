package eventstore

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// leafVersion is the first byte of what a leaf hashes. Another layout gets
// another version; a released one never changes.
const leafVersion = 1

// LeafTimeFormat is how a leaf writes the attribute time: RFC 3339 in UTC with
// exactly six digits of a second.
const LeafTimeFormat = "2006-01-02T15:04:05.000000Z"

// Leaf is the hash of a record in the log's Merkle tree (design 3.6):
//
//	SHA-256(0x00 ‖ version ‖ attribute… ‖ SHA-256(data))
//
// 0x00 is the domain separator of RFC 6962 for leaves and version is the byte
// 1. An attribute is its length in bytes, as four bytes big-endian, and its
// text exactly as the CloudEvent carries it (time: [LeafTimeFormat]); one that
// the event lacks has length 0. They are, in this order: id, type, subject,
// time, dataschema, partitionkey, streamversion, commitid, commitindex,
// commitsize, actor, requestid, causation, warehouseid, projectid. data is
// what is stored, verbatim.
//
// Outside are sequence, epoch and logtime, which the commit does not know (the
// position is proved by the leaf's index), traceparent, and what is the same
// for a whole log: specversion, datacontenttype and source, for which the
// origin of the checkpoints stands.
func Leaf(r *Record) [32]byte { return leafOf(r, sha256.Sum256(r.Data)) }

// leafOf is [Leaf] for data known by its hash alone.
func leafOf(r *Record, data [32]byte) [32]byte {
	b := make([]byte, 0, 640)
	b = append(b, leafVersion)
	b = appendText(b, r.ID.String())
	b = appendText(b, r.Type)
	b = appendText(b, subjectOf(r))
	b = appendText(b, r.Time.UTC().Truncate(time.Microsecond).Format(LeafTimeFormat))
	b = appendText(b, r.DataSchema)
	b = appendText(b, r.Stream.String())
	b = appendText(b, twentyDigits(r.Version))
	b = appendText(b, r.CommitID.String())
	b = appendText(b, strconv.Itoa(r.CommitIndex))
	b = appendText(b, strconv.Itoa(r.CommitSize))
	b = appendID(b, r.Actor)
	b = appendID(b, r.RequestID)
	b = appendID(b, r.Causation)
	b = appendID(b, r.Warehouse)
	b = appendID(b, r.Project)
	b = append(b, data[:]...)
	return tlog.RecordHash(b)
}

func appendText(b []byte, text string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
	return append(b, text...)
}

func appendID(b []byte, id ids.ID) []byte {
	if id.IsNil() {
		return appendText(b, "")
	}
	return appendText(b, id.String())
}

// subjectOf is the CloudEvents subject, "<entity>/<object id>".
func subjectOf(r *Record) string { return r.StreamType + "/" + r.Stream.String() }

// twentyDigits prints a number so that texts sort like numbers. CloudEvents
// integers end at 2^31.
func twentyDigits(n int64) string {
	const zeros = "00000000000000000000"
	text := strconv.FormatInt(n, 10)
	return zeros[len(text):] + text
}
