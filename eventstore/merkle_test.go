package eventstore

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"
)

// treeStore keeps stored hashes as package tlog does.
type treeStore []tlog.Hash

func (s treeStore) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, n := range indexes {
		out[i] = s[n]
	}
	return out, nil
}

// The frontier is the same tree as tlog's, at every size.
func TestFrontierIsTheTreeOfRFC6962(t *testing.T) {
	t.Parallel()
	var f frontier
	var reference treeStore
	nodes := map[string][32]byte{}
	if f.root() != sha256.Sum256(nil) {
		t.Error("the empty tree has another root")
	}
	for n := range int64(1100) {
		leaf := tlog.RecordHash(fmt.Append(nil, n))
		hashes, err := tlog.StoredHashesForRecordHash(n, leaf, reference)
		if err != nil {
			t.Fatal(err)
		}
		reference = append(reference, hashes...)
		for _, stored := range f.add(leaf) {
			nodes[fmt.Sprint(stored.level, "/", stored.index)] = stored.hash
		}
		want, err := tlog.TreeHash(n+1, reference)
		if err != nil {
			t.Fatal(err)
		}
		if f.root() != want {
			t.Fatalf("root of %d leaves differs", n+1)
		}
	}
	if len(nodes) != 4 {
		t.Errorf("%d nodes were stored for 1100 leaves, want the 4 complete ones", len(nodes))
	}
	for index := range int64(4) {
		if want := reference[tlog.StoredHashIndex(8, index)]; nodes[fmt.Sprint(8, "/", index)] != want {
			t.Errorf("node %d of level 8 differs", index)
		}
	}
}

func TestFrontierSurvivesStorage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(0, 700).Draw(t, "size")
		var f frontier
		for n := range size {
			f.add(tlog.RecordHash(fmt.Append(nil, n)))
		}
		back, err := parseFrontier(size, f.bytes())
		if err != nil || back.root() != f.root() {
			t.Fatalf("size %d: %v", size, err)
		}
		if _, err := parseFrontier(size+1, f.bytes()); err == nil && size&(size+1) != 0 && popcount(size) != popcount(size+1) {
			t.Fatalf("a frontier of %d passes for one of %d", size, size+1)
		}
	})
}

func popcount(n int64) (count int) {
	for ; n > 0; n &= n - 1 {
		count++
	}
	return count
}
