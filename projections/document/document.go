// Package document keeps metadata documents ready to be sent. The stored form
// is the document as raw deflate, ended by a full flush and not by a final
// block, with its CRC-32 and length beside it. So an answer that wraps the
// document in a few bytes of JSON is one gzip member made without inflating or
// deflating anything large: a header, the bytes before as a stored block, the
// document's blocks as they are, the bytes after as a final stored block, and
// the combined checksum (RFC 1951, RFC 1952; design 5).
//
// The cache in the database is keyed by (object, mark). A mark never comes
// again, not even after a restore, so an entry is right for ever; it may also
// vanish at any time.
package document

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
)

// FormDeflate is the one stored form: raw deflate that ends with a full flush.
const FormDeflate = 1

// MaxCached is the largest compressed document that the database keeps, in
// bytes; larger ones come from the store and stay in an instance's memory.
const MaxCached = 64 << 10

// ErrCorrupt means that a stored form does not hold what its checksum and
// length promise.
var ErrCorrupt = errors.New("stored document is corrupt")

// Packed is a document in its stored form. It is immutable.
type Packed struct {
	CRC32   uint32 // IEEE, of the document
	Length  int64  // bytes of the document
	Deflate []byte // blocks without a final one, ended on a byte boundary
}

// compressors keeps compressors for reuse: one holds about a megabyte, and a
// document of two kilobytes would cost more to prepare than to compress.
var compressors = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return w
}}

// Pack compresses a document. Every commit does so beside its answer, hence
// the quickest level of a quick compressor (klauspost/compress; a quarter of
// the standard library's time): metadata is so repetitive that it does nearly
// as well as the slow ones.
func Pack(doc []byte) (Packed, error) {
	var out bytes.Buffer
	out.Grow(len(doc)/8 + 64)
	w, ok := compressors.Get().(*flate.Writer)
	if !ok {
		return Packed{}, errors.New("pack document: no compressor")
	}
	defer compressors.Put(w)
	w.Reset(&out)
	if _, err := w.Write(doc); err != nil {
		return Packed{}, fmt.Errorf("pack document: %w", err)
	}
	if err := w.Flush(); err != nil {
		return Packed{}, fmt.Errorf("pack document: %w", err)
	}
	return Packed{CRC32: crc32.ChecksumIEEE(doc), Length: int64(len(doc)), Deflate: out.Bytes()}, nil
}

// IsZero reports whether p holds no document.
func (p *Packed) IsZero() bool { return p == nil || len(p.Deflate) == 0 }

// finalBlock is an empty stored block with the final bit set.
var finalBlock = []byte{1, 0, 0, 0xff, 0xff}

// Unpack returns the document after checking its length and checksum; the
// error is [ErrCorrupt].
func (p *Packed) Unpack() ([]byte, error) {
	if p.Length < 0 || p.Length/1100 > int64(len(p.Deflate)) { // deflate gains 1,032 at most
		return nil, fmt.Errorf("%w: length %d of %d compressed bytes", ErrCorrupt, p.Length, len(p.Deflate))
	}
	r := flate.NewReader(io.MultiReader(bytes.NewReader(p.Deflate), bytes.NewReader(finalBlock)))
	doc := make([]byte, p.Length)
	if _, err := io.ReadFull(r, doc); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		return nil, fmt.Errorf("%w: it goes on behind its length", ErrCorrupt)
	}
	if crc32.ChecksumIEEE(doc) != p.CRC32 {
		return nil, fmt.Errorf("%w: checksum", ErrCorrupt)
	}
	return doc, nil
}

// gzipHeader says: deflate, no name, no time, unknown system.
var gzipHeader = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}

const (
	trailerSize = 8
	blockHeader = 5
	maxStored   = 0xffff
)

// storedSize is the size of n bytes as stored blocks; a final one is there
// even for n = 0.
func storedSize(n int, final bool) int {
	blocks := (n + maxStored - 1) / maxStored
	if blocks == 0 && final {
		blocks = 1
	}
	return blocks*blockHeader + n
}

func appendStored(dst, b []byte, final bool) []byte {
	for first := true; len(b) > 0 || first && final; first = false {
		n := min(len(b), maxStored)
		flag := byte(0)
		if final && n == len(b) {
			flag = 1
		}
		dst = append(dst, flag, byte(n), byte(n>>8), byte(^n), byte(^n>>8))
		dst = append(dst, b[:n]...)
		b = b[n:]
	}
	return dst
}

// GzipSize returns the exact size of what [Packed.WriteGzip] writes.
func (p *Packed) GzipSize(prefix, suffix []byte) int64 {
	return int64(len(gzipHeader) + storedSize(len(prefix), false) + len(p.Deflate) + storedSize(len(suffix), true) + trailerSize)
}

// WriteGzip writes prefix, document and suffix as one gzip member. Nothing is
// inflated or deflated: the two ends are stored, so they should be short.
func (p *Packed) WriteGzip(w io.Writer, prefix, suffix []byte) (int64, error) {
	head := make([]byte, 0, len(gzipHeader)+storedSize(len(prefix), false))
	head = appendStored(append(head, gzipHeader...), prefix, false)

	sum := CombineCRC32(crc32.ChecksumIEEE(prefix), p.CRC32, p.Length)
	sum = crc32.Update(sum, crc32.IEEETable, suffix)
	size := uint32(int64(len(prefix)) + p.Length + int64(len(suffix)))
	tail := make([]byte, 0, storedSize(len(suffix), true)+trailerSize)
	tail = appendStored(tail, suffix, true)
	tail = append(tail, byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24))
	tail = append(tail, byte(size), byte(size>>8), byte(size>>16), byte(size>>24))

	var written int64
	for _, part := range [][]byte{head, p.Deflate, tail} {
		n, err := w.Write(part)
		written += int64(n)
		if err != nil {
			return written, fmt.Errorf("write gzip member: %w", err)
		}
	}
	return written, nil
}

// AppendGzip appends what [Packed.WriteGzip] writes to dst.
func (p *Packed) AppendGzip(dst, prefix, suffix []byte) []byte {
	out := bytes.NewBuffer(dst)
	out.Grow(int(p.GzipSize(prefix, suffix)))
	_, _ = p.WriteGzip(out, prefix, suffix) // a buffer takes everything
	return out.Bytes()
}
