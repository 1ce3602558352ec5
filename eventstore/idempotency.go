package eventstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// args are the columns of es.idempotency in their order.
func (k *Idempotency) args() []any {
	return []any{
		pgID(k.Principal), pgID(k.Key), k.Operation, k.Digest[:], k.Status,
		pgID(k.Object), pgText(k.Pointer), k.Response, k.ExpiresAt,
	}
}

// LookupIdempotency returns what was stored under a caller's key, and whether
// there is anything that has not expired by the injected clock.
func (s *Store) LookupIdempotency(ctx context.Context, principal, key ids.ID) (Idempotency, bool, error) {
	k := Idempotency{Principal: principal, Key: key}
	var digest []byte
	var object pgtype.UUID
	var pointer pgtype.Text
	err := s.readPool.QueryRow(ctx, sqlLookupIdempotency, pgID(principal), pgID(key), s.clock.Now()).
		Scan(&k.Operation, &digest, &k.Status, &object, &pointer, &k.Response, &k.ExpiresAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return Idempotency{}, false, nil
	}
	if err != nil {
		return Idempotency{}, false, fmt.Errorf("look up an idempotency key: %w", err)
	}
	if copy(k.Digest[:], digest) != len(k.Digest) {
		return Idempotency{}, false, fmt.Errorf("look up an idempotency key: digest of %d bytes", len(digest))
	}
	k.Object, k.Pointer = object.Bytes, pointer.String
	k.ExpiresAt = k.ExpiresAt.UTC()
	return k, true, nil
}

// StoreIdempotentFailure keeps a final 4xx answer, whose commit never was, in
// a small transaction of its own. When a twin stored an answer first, that one
// counts and comes back as [IdempotencyHitError].
func (s *Store) StoreIdempotentFailure(ctx context.Context, k Idempotency) error {
	_, err := s.pool.Exec(ctx, sqlClaimIdempotency, append(k.args(), s.clock.Now())...)
	if err == nil {
		return nil
	}
	if pgErr, definite := refused(err); definite && pgErr.Code == "IC005" {
		return s.idempotencyHit(ctx, &k, err)
	}
	return fmt.Errorf("store an idempotent failure: %w", err)
}

// ExpireIdempotency deletes expired keys, in short transactions, and returns
// how many.
func (s *Store) ExpireIdempotency(ctx context.Context) (int64, error) {
	const page = 1000
	var total int64
	for {
		tag, err := s.pool.Exec(ctx, sqlExpireIdempotency, s.clock.Now(), page)
		if err != nil {
			return total, fmt.Errorf("expire idempotency keys: %w", err)
		}
		total += tag.RowsAffected()
		if tag.RowsAffected() < page {
			return total, nil
		}
	}
}

// idempotencyHit reads the row that refused a claim.
func (s *Store) idempotencyHit(ctx context.Context, k *Idempotency, cause error) error {
	stored, found, err := s.LookupIdempotency(context.WithoutCancel(ctx), k.Principal, k.Key)
	if err != nil || !found {
		return &BusyError{Cause: errors.Join(cause, err)} // expired meanwhile: the next try takes it
	}
	return &IdempotencyHitError{Stored: stored}
}
