// Package manifest finds the files that the manifest lists and manifests of a
// table name, and nothing else of what they hold. Both are Avro object container
// files (Avro 1.12, "Object Container Files"), in the versions 1 to 3 of the
// table format.
//
// They are client data, so that reading is hardened first: no allocation and no
// loop goes by a number in the file without a bound; a schema may not refer to a
// type that is not complete, so that nothing recurses; what does not fit is
// [ErrInvalid], never a panic. A general Avro library promises none of that: it
// allocates what a block says it holds.
package manifest

import (
	"context"
	"errors"
	"fmt"
)

// ErrInvalid means that the bytes are no manifest list or manifest, or one that
// is larger or more involved than the limits here allow.
var ErrInvalid = errors.New("not a readable manifest")

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// Limits. Iceberg writes manifests of 8 MB and blocks of less.
const (
	// MaxFile is the greatest size of a file in bytes, compressed.
	MaxFile = 64 << 20
	// maxBlock is the greatest size of a block in bytes, uncompressed.
	maxBlock = 128 << 20
	// maxTotal is the greatest size of all blocks of a file in bytes, uncompressed:
	// what a file may cost, for each byte is looked at.
	maxTotal = 512 << 20
	// maxSchema is the greatest size of a schema in bytes; those of tables with
	// thousands of partition fields stay below.
	maxSchema = 1 << 20
	// maxSteps bounds the values of a file that take no bytes.
	maxSteps = 1 << 20
	maxDepth = 32
)

// List calls visit with the manifest_path of each entry of a manifest list, in
// order, until it returns an error or ctx ends.
func List(ctx context.Context, data []byte, visit func(path string) error) error {
	return walk(ctx, data, []string{"manifest_path"}, visit)
}

// Files calls visit with the file_path of each entry of a manifest, whatever its
// status: data files, files of deletes and deletion vectors.
func Files(ctx context.Context, data []byte, visit func(path string) error) error {
	return walk(ctx, data, []string{"data_file", "file_path"}, visit)
}

// walk reads a container file and visits the string at a path of field names.
// A file whose schema has no such field is no file of ours.
func walk(ctx context.Context, data []byte, path []string, visit func(string) error) error {
	if len(data) > MaxFile {
		return invalid("%d bytes, at most %d", len(data), MaxFile)
	}
	header, rest, err := readHeader(data)
	if err != nil {
		return err
	}
	root, err := parseSchema(header.schema)
	if err != nil {
		return err
	}
	if !root.has(path) {
		return invalid("its schema has no %s", path[len(path)-1])
	}
	u := &unpacker{header: header, left: maxTotal}
	r := &reader{ctx: ctx, path: path, visit: visit, steps: maxSteps + int64(len(data))}
	for len(rest) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		var block []byte
		var count int64
		if count, block, rest, err = u.nextBlock(rest); err != nil {
			return err
		}
		r.steps += int64(len(block))
		r.data = block
		for range count {
			if err := r.value(root, 0); err != nil {
				return err
			}
		}
		if len(r.data) > 0 {
			return invalid("%d bytes follow the last entry of a block", len(r.data))
		}
	}
	return nil
}

// reader reads values; data is what is left of the block.
type reader struct {
	ctx   context.Context //nolint:containedctx // of the one walk that it is made for
	data  []byte
	path  []string
	visit func(string) error
	steps int64
}

// value reads one value. at is how many names of the path lead to it, or -1 if
// it does not lie on the path.
func (r *reader) value(n *node, at int) error {
	if r.steps--; r.steps < 0 {
		return invalid("too many values")
	}
	if r.steps%(1<<16) == 0 {
		if err := r.ctx.Err(); err != nil {
			return err
		}
	}
	switch n.kind {
	case kindNull:
		return nil
	case kindFixed:
		_, err := r.take(n.size)
		return err
	case kindVarint:
		_, err := r.long()
		return err
	case kindBytes:
		size, err := r.long()
		if err != nil {
			return err
		}
		text, err := r.take(size)
		if err == nil && at == len(r.path) {
			err = r.visit(string(text))
		}
		return err
	case kindRecord:
		for i := range n.fields {
			below := -1
			if at >= 0 && at < len(r.path) && n.fields[i].name == r.path[at] {
				below = at + 1
			}
			if err := r.value(n.fields[i].node, below); err != nil {
				return err
			}
		}
		return nil
	case kindUnion:
		branch, err := r.long()
		if err != nil {
			return err
		}
		if branch < 0 || branch >= int64(len(n.branches)) {
			return invalid("branch %d of a union of %d", branch, len(n.branches))
		}
		return r.value(n.branches[branch], at)
	case kindArray, kindMap:
		return r.items(n)
	}
	return invalid("a value of no type")
}

// items reads the blocks of an array or map. Their byte counts are not trusted:
// the items are read one by one.
func (r *reader) items(n *node) error {
	for {
		count, err := r.long()
		if err != nil {
			return err
		}
		if count == 0 {
			return nil
		}
		if count < 0 {
			if _, err := r.long(); err != nil {
				return err
			}
			if count = -count; count < 0 {
				return invalid("a block of the least number of items")
			}
		}
		for range count {
			if n.kind == kindMap {
				size, err := r.long()
				if err != nil {
					return err
				}
				if _, err := r.take(size); err != nil {
					return err
				}
			}
			if err := r.value(n.items, -1); err != nil {
				return err
			}
		}
	}
}

// long reads a zigzag varint.
func (r *reader) long() (int64, error) {
	var u uint64
	for shift := 0; shift < 64; shift += 7 {
		if len(r.data) == 0 {
			return 0, invalid("it ends within a number")
		}
		b := r.data[0]
		r.data = r.data[1:]
		u |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return int64(u>>1) ^ -int64(u&1), nil
		}
	}
	return 0, invalid("a number of more than 64 bits")
}

func (r *reader) take(size int64) ([]byte, error) {
	if size < 0 || size > int64(len(r.data)) {
		return nil, invalid("%d bytes where %d are left", size, len(r.data))
	}
	taken := r.data[:size]
	r.data = r.data[size:]
	return taken, nil
}
