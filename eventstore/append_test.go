package eventstore

import (
	"errors"
	"testing"
	"time"
)

func TestAppendAndReadBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stream := testIDs.New()
	first := b.append(t, creation(stream))
	second := b.append(t, change(stream, 1))
	if second.AppendSeq <= first.AppendSeq {
		t.Fatalf("numbers %d, %d do not ascend", first.AppendSeq, second.AppendSeq)
	}
	b.drain(t)
	log := b.all(t)
	if len(log) != 2 {
		t.Fatalf("%d entries, want 2", len(log))
	}
	for i, want := range []Record{first.Records[0], second.Records[0]} {
		got := log[i]
		if got.Position != int64(i+1) || got.Version != int64(i+1) || got.ID != want.ID || string(got.Data) != string(want.Data) ||
			!got.Time.Equal(want.Time) || got.Actor != want.Actor || got.CommitID != want.CommitID || got.Leaf != Leaf(&want) {
			t.Errorf("entry %d is %+v, want %+v", i, got, want)
		}
	}
	positions, err := b.WaitForReceipt(t.Context(), second)
	if err != nil || positions[0] != 2 {
		t.Errorf("wait: %v, %v", positions, err)
	}
}

func TestAppendRefusesALostRace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stream := testIDs.New()
	b.append(t, creation(stream))
	b.append(t, change(stream, 1))
	_, err := b.Append(t.Context(), change(stream, 1))
	var conflict *ConflictError
	if !errors.As(err, &conflict) || conflict.Stream != stream {
		t.Errorf("got %v, want a conflict of %s", err, stream)
	}
	wrongPointer := change(stream, 2)
	wrongPointer.Streams[0].Pointer = "v1"
	if _, err = b.Append(t.Context(), wrongPointer); !errors.As(err, &conflict) {
		t.Errorf("got %v, want a conflict", err)
	}
	stale := change(stream, 2)
	stale.ResolvedAt = time.Now().Add(-MaxCommitAge - time.Second)
	var staleErr *StaleError
	if _, err = b.Append(t.Context(), stale); !errors.As(err, &staleErr) {
		t.Errorf("got %v, want a stale commit", err)
	}
	stale.ResolvedAt = time.Now()
	stale.ID = testIDs.New()
	b.append(t, stale)
}
