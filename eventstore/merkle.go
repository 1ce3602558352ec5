package eventstore

import (
	"context"
	"crypto/sha256"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// nodeStep is the distance of the tree levels that are stored. Hashes between
// are computed from at most 2^nodeStep - 1 hashes of the stored level below;
// level 0 are the leaves in es.log_entry.
const nodeStep = 8

// node is a hash of a complete subtree of 2^level leaves, the index-th of its
// level.
type node struct {
	level int
	index int64
	hash  [32]byte
}

// frontier is the right edge of a tree (RFC 6962): the roots of its complete
// subtrees, largest first, one for each bit of size.
type frontier struct {
	size  int64
	roots [][32]byte
}

// add appends a leaf and returns the nodes that became complete and are to be
// stored.
func (f *frontier) add(leaf [32]byte) []node {
	var stored []node
	hash, index := leaf, f.size
	for level := 1; index&1 == 1; level++ {
		last := len(f.roots) - 1
		hash = tlog.NodeHash(f.roots[last], hash)
		f.roots = f.roots[:last]
		index >>= 1
		if level%nodeStep == 0 {
			stored = append(stored, node{level: level, index: index, hash: hash})
		}
	}
	f.roots = append(f.roots, hash)
	f.size++
	return stored
}

// root returns the hash of the tree; that of the empty tree is SHA-256("").
func (f *frontier) root() [32]byte {
	if len(f.roots) == 0 {
		return sha256.Sum256(nil)
	}
	hash := f.roots[len(f.roots)-1]
	for i := len(f.roots) - 2; i >= 0; i-- {
		hash = tlog.NodeHash(f.roots[i], hash)
	}
	return hash
}

// bytes is the stored form.
func (f *frontier) bytes() []byte {
	b := make([]byte, 0, 32*len(f.roots))
	for i := range f.roots {
		b = append(b, f.roots[i][:]...)
	}
	return b
}

// parseFrontier reads the stored form of a tree of the given size.
func parseFrontier(size int64, b []byte) (frontier, error) {
	f := frontier{size: size}
	for len(b) >= 32 {
		f.roots = append(f.roots, [32]byte(b[:32]))
		b = b[32:]
	}
	want := 0
	for n := size; n > 0; n &= n - 1 {
		want++
	}
	if len(b) != 0 || len(f.roots) != want {
		return frontier{}, fmt.Errorf("the head's frontier does not fit a tree of %d leaves", size)
	}
	return f, nil
}

// hashReader reads stored hashes of the tree for package tlog.
type hashReader struct {
	ctx   context.Context //nolint:containedctx // tlog.HashReader has no context; lives for one call
	store *Store
}

// ReadHashes implements [tlog.HashReader].
func (r hashReader) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, stored := range indexes {
		level, n := tlog.SplitStoredHashIndex(stored)
		hash, err := r.hash(level, n)
		if err != nil {
			return nil, err
		}
		hashes[i] = hash
	}
	return hashes, nil
}

// hash computes one node from the nearest stored level at or below it.
func (r hashReader) hash(level int, n int64) (tlog.Hash, error) {
	base := level / nodeStep * nodeStep
	width := int64(1) << (level - base)
	sql, args := sqlReadNodes, []any{base, n * width, (n + 1) * width}
	if base == 0 {
		sql, args = sqlReadLeaves, []any{n*width + 1, (n+1)*width + 1}
	}
	rows, err := r.store.readPool.Query(r.ctx, sql, args...)
	if err != nil {
		return tlog.Hash{}, fmt.Errorf("read the tree: %w", err)
	}
	defer rows.Close()
	var f frontier
	for rows.Next() {
		var hash []byte
		if err := rows.Scan(&hash); err != nil {
			return tlog.Hash{}, fmt.Errorf("read the tree: %w", err)
		}
		if len(hash) != 32 {
			return tlog.Hash{}, fmt.Errorf("read the tree: hash of %d bytes", len(hash))
		}
		f.add([32]byte(hash))
	}
	if err := rows.Err(); err != nil {
		return tlog.Hash{}, fmt.Errorf("read the tree: %w", err)
	}
	if f.size != width {
		return tlog.Hash{}, fmt.Errorf("read the tree: level %d lacks nodes below %d of level %d", base, n, level)
	}
	return f.root(), nil
}
