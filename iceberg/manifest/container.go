package manifest

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"slices"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// header is what stands before the blocks of a container file.
type header struct {
	schema []byte
	codec  string
	sync   []byte
}

const (
	magic      = "Obj\x01"
	syncLength = 16
)

func readHeader(data []byte) (header, []byte, error) {
	var h header
	if !bytes.HasPrefix(data, []byte(magic)) {
		return h, nil, invalid("it does not begin as a container file")
	}
	r := &reader{data: data[len(magic):]}
	for {
		count, err := r.long()
		if err != nil {
			return h, nil, err
		}
		if count == 0 {
			break
		}
		if count < 0 {
			if _, err := r.long(); err != nil {
				return h, nil, err
			}
			if count = -count; count < 0 {
				return h, nil, invalid("a header of the least number of members")
			}
		}
		for range count { // each takes two bytes at least
			key, err := r.sized()
			if err != nil {
				return h, nil, err
			}
			value, err := r.sized()
			if err != nil {
				return h, nil, err
			}
			switch string(key) {
			case "avro.schema":
				h.schema = value
			case "avro.codec":
				h.codec = string(value)
			}
		}
	}
	sync, err := r.take(syncLength)
	if err != nil {
		return h, nil, err
	}
	h.sync = sync
	return h, r.data, nil
}

// sized reads bytes behind their length.
func (r *reader) sized() ([]byte, error) {
	size, err := r.long()
	if err != nil {
		return nil, err
	}
	return r.take(size)
}

// unpacker unpacks the blocks of a file, one after another into one buffer.
type unpacker struct {
	header
	buffer []byte
	left   int // of what all blocks of the file may have, in bytes
}

// nextBlock reads a block and returns its number of entries, its bytes without
// compression, which are good until the next call, and what follows.
func (u *unpacker) nextBlock(data []byte) (count int64, block, rest []byte, err error) {
	r := &reader{data: data}
	if count, err = r.long(); err != nil {
		return 0, nil, nil, err
	}
	if block, err = r.sized(); err != nil {
		return 0, nil, nil, err
	}
	sync, err := r.take(syncLength)
	if err != nil {
		return 0, nil, nil, err
	}
	if count < 0 || !bytes.Equal(sync, u.sync) {
		return 0, nil, nil, invalid("a block is damaged")
	}
	if block, err = u.unpack(block); err != nil {
		return 0, nil, nil, err
	}
	if u.left -= len(block); u.left < 0 {
		return 0, nil, nil, invalid("more than %d bytes", maxTotal)
	}
	return count, block, r.data, nil
}

func (u *unpacker) unpack(block []byte) ([]byte, error) {
	switch u.codec {
	case "", "null":
		return block, nil
	case "deflate":
		f := flate.NewReader(bytes.NewReader(block))
		defer func() { _ = f.Close() }() // reads memory
		return u.read(f, len(block))
	case "zstandard":
		z, err := zstd.NewReader(bytes.NewReader(block), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBlock))
		if err != nil {
			return nil, invalid("zstandard: %v", err)
		}
		defer z.Close()
		return u.read(z, len(block))
	case "snappy":
		return u.unsnap(block)
	}
	return nil, invalid("it is compressed by a codec that nobody knows here")
}

// read fills the buffer with a block that has so many bytes packed.
func (u *unpacker) read(r io.Reader, packed int) ([]byte, error) {
	limit := min(maxBlock, u.left)
	if want := min(max(4*packed, 4096), limit+1); cap(u.buffer) < want {
		u.buffer = make([]byte, 0, want)
	}
	b := u.buffer[:0]
	for {
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		u.buffer = b
		switch {
		case len(b) > limit:
			return nil, invalid("a block of more than %d bytes", limit)
		case errors.Is(err, io.EOF):
			return b, nil
		case err != nil:
			return nil, invalid("a block is damaged: %v", err)
		case len(b) == cap(b):
			b = slices.Grow(b, min(len(b), limit+1-len(b)))
		}
	}
}

// unsnap reads a block of snappy, which ends with the checksum of its bytes.
func (u *unpacker) unsnap(block []byte) ([]byte, error) {
	if len(block) < 4 {
		return nil, invalid("a block is damaged")
	}
	body, sum := block[:len(block)-4], binary.BigEndian.Uint32(block[len(block)-4:])
	size, err := snappy.DecodedLen(body)
	if limit := min(maxBlock, u.left); err != nil || size > limit {
		return nil, invalid("a block is damaged, or larger than %d bytes", limit)
	}
	if cap(u.buffer) < size {
		u.buffer = make([]byte, size)
	}
	plain, err := snappy.Decode(u.buffer[:cap(u.buffer)], body)
	if err == nil && crc32.ChecksumIEEE(plain) != sum {
		err = errors.New("its checksum differs")
	}
	if err != nil {
		return nil, invalid("a block is damaged: %v", err)
	}
	return plain, nil
}
