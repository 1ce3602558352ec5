package eventstore

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// Inclusion proves that an event stands at a position of a log of some size.
type Inclusion struct {
	Position int64
	Size     int64
	Leaf     [32]byte
	Proof    tlog.RecordProof
}

// ErrProof means that a proof does not hold.
var ErrProof = errors.New("the proof does not hold")

// ProveInclusion proves the event at a position against the tree of the first
// size positions.
func (s *Store) ProveInclusion(ctx context.Context, position, size int64) (Inclusion, error) {
	if position < 1 || position > size {
		return Inclusion{}, fmt.Errorf("prove position %d: it is not in a log of %d", position, size)
	}
	reader := hashReader{ctx: ctx, store: s}
	proof, err := tlog.ProveRecord(size, position-1, reader)
	if err != nil {
		return Inclusion{}, fmt.Errorf("prove position %d: %w", position, err)
	}
	leaf, err := reader.hash(0, position-1)
	if err != nil {
		return Inclusion{}, fmt.Errorf("prove position %d: %w", position, err)
	}
	return Inclusion{Position: position, Size: size, Leaf: leaf, Proof: proof}, nil
}

// Check verifies the proof against a root that the caller trusts, such as that
// of a checkpoint. The leaf is [Leaf] of the event in question.
func (p Inclusion) Check(root [32]byte) error {
	if err := tlog.CheckRecord(p.Proof, p.Size, root, p.Position-1, p.Leaf); err != nil {
		return fmt.Errorf("%w: position %d of %d: %w", ErrProof, p.Position, p.Size, err)
	}
	return nil
}

// Consistency proves that the log of size New begins with the log of size Old.
type Consistency struct {
	Old, New int64
	Proof    tlog.TreeProof
}

// ProveConsistency proves that the log only grew between two sizes, 1 <= older
// <= newer.
func (s *Store) ProveConsistency(ctx context.Context, older, newer int64) (Consistency, error) {
	if older < 1 || older > newer {
		return Consistency{}, fmt.Errorf("prove consistency: sizes %d and %d", older, newer)
	}
	proof, err := tlog.ProveTree(newer, older, hashReader{ctx: ctx, store: s})
	if err != nil {
		return Consistency{}, fmt.Errorf("prove consistency of %d and %d: %w", older, newer, err)
	}
	return Consistency{Old: older, New: newer, Proof: proof}, nil
}

// Check verifies the proof for the roots of both sizes.
func (p Consistency) Check(oldRoot, newRoot [32]byte) error {
	if err := tlog.CheckTree(p.Proof, p.New, newRoot, p.Old, oldRoot); err != nil {
		return fmt.Errorf("%w: sizes %d and %d: %w", ErrProof, p.Old, p.New, err)
	}
	return nil
}

// RootAt computes the root of the first size positions from the stored tree.
func (s *Store) RootAt(ctx context.Context, size int64) ([32]byte, error) {
	if size == 0 {
		var f frontier
		return f.root(), nil
	}
	root, err := tlog.TreeHash(size, hashReader{ctx: ctx, store: s})
	if err != nil {
		return [32]byte{}, fmt.Errorf("root of %d positions: %w", size, err)
	}
	return root, nil
}
