// Package ids makes and prints the identifiers of objects, events and commits:
// UUID version 7 (RFC 9562), so that rows made together lie together and an id
// tells roughly when it was made. Order between ids is a convenience, never a
// guarantee: the log's position is the only order.
package ids

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/icecore-catalog/icecore/internal/clock"
)

// ID is a UUID. The zero value means "none".
type ID [16]byte

// Nil is the zero ID, which stands for "none".
var Nil ID

// ErrMalformed is returned by [Parse] for text that is not a UUID.
var ErrMalformed = errors.New("malformed UUID")

// IsNil reports whether the id is the zero value.
func (id ID) IsNil() bool { return id == Nil }

// String prints the canonical lower-case form with four hyphens.
func (id ID) String() string {
	var b [36]byte
	id.encode(b[:])
	return string(b[:])
}

func (id ID) encode(b []byte) {
	hex.Encode(b[0:8], id[0:4])
	b[8] = '-'
	hex.Encode(b[9:13], id[4:6])
	b[13] = '-'
	hex.Encode(b[14:18], id[6:8])
	b[18] = '-'
	hex.Encode(b[19:23], id[8:10])
	b[23] = '-'
	hex.Encode(b[24:36], id[10:16])
}

// Time returns when an id of version 7 was made, to the millisecond; ok is false
// for other versions, which do not tell.
func (id ID) Time() (made time.Time, ok bool) {
	if id[6]>>4 != 7 {
		return time.Time{}, false
	}
	ms := int64(id[0])<<40 | int64(id[1])<<32 | int64(id[2])<<24 | int64(id[3])<<16 | int64(id[4])<<8 | int64(id[5])
	return time.UnixMilli(ms).UTC(), true
}

// Compare orders ids bytewise, as PostgreSQL orders its uuid type.
func (id ID) Compare(other ID) int { return bytes.Compare(id[:], other[:]) }

// MarshalText implements [encoding.TextMarshaler].
func (id ID) MarshalText() ([]byte, error) {
	b := make([]byte, 36)
	id.encode(b)
	return b, nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (id *ID) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// Parse reads the 36-character hyphenated form in either letter case. Any
// UUID version is accepted, for table UUIDs are the client's.
func Parse(s string) (ID, error) {
	var id ID
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return Nil, fmt.Errorf("%w: %d characters", ErrMalformed, len(s))
	}
	packed := s[0:8] + s[9:13] + s[14:18] + s[19:23] + s[24:36]
	if _, err := hex.Decode(id[:], []byte(packed)); err != nil {
		return Nil, ErrMalformed
	}
	return id, nil
}

// MustParse is [Parse] for constants; it panics on malformed text.
func MustParse(s string) ID {
	id, err := Parse(s)
	if err != nil {
		panic(err)
	}
	return id
}

// Source makes new ids. Implementations are safe for concurrent use.
type Source interface {
	// New returns an id that was never returned before.
	New() ID
}

// V7 makes UUIDs of version 7 from a clock and a random reader. Ids of one
// V7 ascend strictly: within a millisecond a counter stands in the 12 bits
// after the version, and a clock that steps back is ignored until it catches up.
type V7 struct {
	clock  clock.Clock
	random io.Reader

	mu      sync.Mutex
	last    int64 // milliseconds since 1970
	counter uint16
}

// NewV7 returns a source on the given clock and the system's random numbers.
func NewV7(c clock.Clock) *V7 { return &V7{clock: c, random: rand.Reader} }

// NewV7From is [NewV7] with a chosen random reader, for tests that need the
// same ids again. The reader must not fail.
func NewV7From(c clock.Clock, random io.Reader) *V7 { return &V7{clock: c, random: random} }

// New returns the next id.
func (s *V7) New() ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	var id ID
	if _, err := io.ReadFull(s.random, id[6:]); err != nil {
		panic(fmt.Sprintf("ids: no random numbers: %v", err)) // crypto/rand never fails on supported systems
	}
	now := s.clock.Now().UnixMilli()
	switch {
	case now > s.last:
		s.last, s.counter = now, uint16(id[6]&0x07)<<8|uint16(id[7])
	case s.counter == 0x0fff:
		s.last, s.counter = s.last+1, 0
	default:
		s.counter++
	}
	ms := uint64(s.last)
	id[0], id[1], id[2] = byte(ms>>40), byte(ms>>32), byte(ms>>24)
	id[3], id[4], id[5] = byte(ms>>16), byte(ms>>8), byte(ms)
	id[6] = 0x70 | byte(s.counter>>8)
	id[7] = byte(s.counter)
	id[8] = 0x80 | id[8]&0x3f
	return id
}
