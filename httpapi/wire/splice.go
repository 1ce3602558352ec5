package wire

import (
	"encoding/binary"
	"hash/crc32"
	"net/http"
	"strconv"
)

// Answer is a JSON answer around a stored document: Before and After are
// written by the handler, the document between them goes out byte for byte as
// it is stored (law 7).
type Answer struct {
	Before, After []byte
	// Plain is the document. It may be nil if Deflated is there and the client
	// takes gzip.
	Plain []byte
	// Deflated is the document as a raw deflate stream that ends with a full
	// flush and without a final block, CRC its CRC-32 (IEEE) and Size its length
	// when inflated. Nil if only the plain form is at hand.
	Deflated []byte
	CRC      uint32
	Size     int64
}

// Write sends the answer with status 200, as gzip if the client takes it and
// the deflated form is there. Nothing is compressed here: the parts around the
// document travel as stored blocks of the same gzip member. Content-Type,
// Content-Length, Content-Encoding and Vary are set.
func (a Answer) Write(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Add("Vary", "Accept-Encoding")
	packed := a.Deflated != nil && (a.Plain == nil || AcceptsGzip(r.Header))
	if packed {
		h.Set("Content-Encoding", "gzip")
		head, tail := a.frame()
		send(w, head, a.Deflated, tail)
		return
	}
	send(w, a.Before, a.Plain, a.After)
}

// smallAnswer is up to where the parts of an answer are joined, so that it
// leaves in one write.
const smallAnswer = 32 << 10

func send(w http.ResponseWriter, head, document, tail []byte) {
	size := len(head) + len(document) + len(tail)
	w.Header().Set("Content-Length", strconv.Itoa(size))
	w.WriteHeader(http.StatusOK)
	// A failed write means that the client is gone: there is nobody to tell.
	if size <= smallAnswer {
		all := make([]byte, 0, size)
		all = append(append(append(all, head...), document...), tail...)
		_, _ = w.Write(all)
		return
	}
	for _, part := range [][]byte{head, document, tail} {
		if _, err := w.Write(part); err != nil {
			return
		}
	}
}

// gzipHeader is that of RFC 1952: deflate, no flags, no time, unknown system.
var gzipHeader = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}

// frame returns what stands before and after the deflated document in the gzip
// member.
func (a Answer) frame() (head, tail []byte) {
	head = make([]byte, 0, len(gzipHeader)+len(a.Before)+storedOverhead(len(a.Before)))
	head = append(head, gzipHeader...)
	head = appendStored(head, a.Before, false)
	tail = make([]byte, 0, len(a.After)+storedOverhead(len(a.After))+8)
	tail = appendStored(tail, a.After, true)
	sum := combineCRC(crc32.ChecksumIEEE(a.Before), a.CRC, a.Size)
	sum = combineCRC(sum, crc32.ChecksumIEEE(a.After), int64(len(a.After)))
	tail = binary.LittleEndian.AppendUint32(tail, sum)
	size := int64(len(a.Before)) + a.Size + int64(len(a.After))
	return head, binary.LittleEndian.AppendUint32(tail, uint32(size)) // modulo 2^32, says RFC 1952
}

const maxStored = 65535 // bytes of a stored deflate block, RFC 1951 3.2.4

func storedOverhead(n int) int { return 5 * (n/maxStored + 1) }

// appendStored writes p as stored blocks. The stream stands at a byte boundary
// before and after, so that a block header is one byte.
func appendStored(dst, p []byte, final bool) []byte {
	for {
		block := p[:min(len(p), maxStored)]
		p = p[len(block):]
		var header byte
		if final && len(p) == 0 {
			header = 1
		}
		n := uint16(len(block))
		dst = append(dst, header, byte(n), byte(n>>8), byte(^n), byte(^n>>8))
		dst = append(dst, block...)
		if len(p) == 0 {
			return dst
		}
	}
}

// combineCRC returns the CRC-32 (IEEE) of a text that is the concatenation of
// two, from their sums a and b and the length of the second: a is carried
// over length zero bytes, which is a multiplication in GF(2)[x] modulo the
// polynomial.
func combineCRC(a, b uint32, length int64) uint32 {
	return multiplyModP(powerOfX8(length), a) ^ b
}

// multiplyModP multiplies two polynomials modulo the IEEE polynomial, bits
// reflected: the highest bit is x^0.
func multiplyModP(a, b uint32) uint32 {
	var product uint32
	for m := uint32(1 << 31); m != 0; m >>= 1 {
		if a&m != 0 {
			product ^= b
		}
		if b&1 != 0 {
			b = b>>1 ^ crc32.IEEE
		} else {
			b >>= 1
		}
	}
	return product
}

// powerOfX8 returns x^(8n) modulo the IEEE polynomial.
func powerOfX8(n int64) uint32 {
	result := uint32(1 << 31) // x^0
	square := uint32(1 << 23) // x^8
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			result = multiplyModP(square, result)
		}
		square = multiplyModP(square, square)
	}
	return result
}
