package manifest

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

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

// nextBlock reads a block and returns its number of entries, its bytes without
// compression, and what follows.
func nextBlock(data []byte, h header) (count int64, block, rest []byte, err error) {
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
	if count < 0 || !bytes.Equal(sync, h.sync) {
		return 0, nil, nil, invalid("a block is damaged")
	}
	if block, err = decompress(block, h.codec); err != nil {
		return 0, nil, nil, err
	}
	return count, block, r.data, nil
}

func decompress(block []byte, codec string) ([]byte, error) {
	switch codec {
	case "", "null":
		return block, nil
	case "deflate":
		f := flate.NewReader(bytes.NewReader(block))
		defer func() { _ = f.Close() }() // reads memory
		return readBounded(f)
	case "zstandard":
		z, err := zstd.NewReader(bytes.NewReader(block), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBlock))
		if err != nil {
			return nil, invalid("zstandard: %v", err)
		}
		defer z.Close()
		return readBounded(z)
	case "snappy":
		return unsnap(block)
	}
	return nil, invalid("it is compressed by a codec that nobody knows here")
}

func readBounded(r io.Reader) ([]byte, error) {
	var b bytes.Buffer
	n, err := io.Copy(&b, io.LimitReader(r, maxBlock+1))
	switch {
	case n > maxBlock:
		return nil, invalid("a block of more than %d bytes", maxBlock)
	case err != nil:
		return nil, invalid("a block is damaged: %v", err)
	}
	return b.Bytes(), nil
}

// unsnap reads a block of snappy, which ends with the checksum of its bytes.
func unsnap(block []byte) ([]byte, error) {
	if len(block) < 4 {
		return nil, invalid("a block is damaged")
	}
	body, sum := block[:len(block)-4], binary.BigEndian.Uint32(block[len(block)-4:])
	size, err := snappy.DecodedLen(body)
	if err != nil || size > maxBlock {
		return nil, invalid("a block is damaged, or larger than %d bytes", maxBlock)
	}
	plain, err := snappy.Decode(nil, body)
	if err == nil && crc32.ChecksumIEEE(plain) != sum {
		err = errors.New("its checksum differs")
	}
	if err != nil {
		return nil, invalid("a block is damaged: %v", err)
	}
	return plain, nil
}
