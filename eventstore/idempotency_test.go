package eventstore

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/internal/clock"
)

func sampleKey(now time.Time) Idempotency {
	return Idempotency{
		Principal: testIDs.New(), Key: testIDs.New(), Operation: "createTable", Digest: [32]byte{1, 2, 3}, Status: 200,
		Object: testIDs.New(), Pointer: "s3://b/v1.json", ExpiresAt: now.Add(time.Hour).UTC(),
	}
}

func TestIdempotencyKeyIsTakenOnce(t *testing.T) {
	t.Parallel()
	fake := clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	b := setup(t, func(c *Config) { c.Clock = fake })
	key := sampleKey(fake.Now())
	c := creation(testIDs.New())
	c.Idempotency = &key
	b.append(t, c)

	stored, found, err := b.LookupIdempotency(t.Context(), key.Principal, key.Key)
	if err != nil || !found || !reflect.DeepEqual(stored, key) {
		t.Fatalf("got %+v, %v, %v, want %+v", stored, found, err, key)
	}
	other := key
	other.Operation, other.Digest = "dropTable", [32]byte{9}
	twin := creation(testIDs.New())
	twin.Idempotency = &other
	var hit *IdempotencyHitError
	if _, err := b.Append(t.Context(), twin); !errors.As(err, &hit) || !reflect.DeepEqual(hit.Stored, key) {
		t.Errorf("the same key: %v", err)
	}
	if n := events(t, b, twin.Streams[0].ID); n != 0 {
		t.Errorf("a refused twin left %d events", n)
	}

	foreign := key
	foreign.Principal = testIDs.New()
	own := creation(testIDs.New())
	own.Idempotency = &foreign
	b.append(t, own) // keys of different callers never meet

	// An expired key is free, before and after it was cleared away.
	fake.Advance(2 * time.Hour)
	if _, found, err := b.LookupIdempotency(t.Context(), key.Principal, key.Key); err != nil || found {
		t.Errorf("an expired key is found: %v", err)
	}
	other.ExpiresAt = fake.Now().Add(time.Hour)
	b.append(t, twin)
	if n, err := b.ExpireIdempotency(t.Context()); err != nil || n != 1 {
		t.Errorf("expired %d, %v, want the foreign one", n, err)
	}
	if _, found, _ := b.LookupIdempotency(t.Context(), key.Principal, key.Key); !found {
		t.Error("a live key was expired")
	}
}

// A twin that waits behind the first sees its answer.
func TestIdempotencyTwinWaits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := sampleKey(time.Now())
	key.ExpiresAt = key.ExpiresAt.Truncate(time.Microsecond)
	first, twin := creation(testIDs.New()), creation(testIDs.New())
	first.Idempotency, twin.Idempotency = &key, &key
	tx := b.inOpenTx(t, first)
	done := make(chan error, 1)
	go func() {
		_, err := b.Append(t.Context(), twin)
		done <- err
	}()
	b.waiting(t, 1)
	commitTx(t, tx)
	var hit *IdempotencyHitError
	if err := <-done; !errors.As(err, &hit) {
		t.Errorf("got %v", err)
	}
}

func TestIdempotentFailure(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := sampleKey(time.Now())
	key.ExpiresAt = key.ExpiresAt.Truncate(time.Microsecond)
	key.Status, key.Object, key.Pointer, key.Response = 409, [16]byte{}, "", []byte(`{"error":{}}`)
	if err := b.StoreIdempotentFailure(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	stored, found, err := b.LookupIdempotency(t.Context(), key.Principal, key.Key)
	if err != nil || !found || !reflect.DeepEqual(stored, key) {
		t.Fatalf("got %+v, %v, %v", stored, found, err)
	}
	var hit *IdempotencyHitError
	if err := b.StoreIdempotentFailure(t.Context(), key); !errors.As(err, &hit) || hit.Stored.Status != 409 {
		t.Errorf("a second failure: %v", err)
	}
}
