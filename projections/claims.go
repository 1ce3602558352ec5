package projections

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
)

//go:embed sql/claims.sql
var claimsSQL string

//go:embed sql/claims_free.sql
var claimsFreeSQL string

// Claims reads location claims, for the few commands that move or end them.
// Resolve leaves them out: a load and a plain commit never ask.
type Claims struct{ db Querier }

// NewClaims returns a reader on a pool on the primary.
func NewClaims(db Querier) Claims { return Claims{db} }

// Claims returns the canonical location keys that an object claims, in "C"
// order, and the mark of the state they belong to; Nil if there is no such
// object.
func (c Claims) Claims(ctx context.Context, warehouse, object ids.ID) (mark ids.ID, claims []string, err error) {
	rows, err := c.db.Query(ctx, claimsSQL, [16]byte(warehouse), [16]byte(catalog.MainBranch), [16]byte(object))
	if err != nil {
		return ids.Nil, nil, fmt.Errorf("read claims: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var at [16]byte
		var location pgtype.Text
		if err := rows.Scan(&at, &location); err != nil {
			return ids.Nil, nil, fmt.Errorf("read claims: %w", err)
		}
		mark = at
		if location.Valid {
			claims = append(claims, location.String)
		}
	}
	if err := rows.Err(); err != nil {
		return ids.Nil, nil, fmt.Errorf("read claims: %w", err)
	}
	return mark, claims, nil
}

// Free reports whether nobody but one object, which may be Nil, claims a
// location at, below or above one of these keys. It is an early word, before
// anything is written there; what counts is the constraint, when the commit
// comes.
func (c Claims) Free(ctx context.Context, keys []string, except ids.ID) (bool, error) {
	lower, upper := make([]string, len(keys)), make([]string, len(keys))
	for i, key := range keys {
		covers := claimRange(key)
		lower[i], upper[i] = covers.lower, covers.upper
	}
	rows, err := c.db.Query(ctx, claimsFreeSQL, lower, upper, [16]byte(except))
	if err != nil {
		return false, fmt.Errorf("look for overlapping claims: %w", err)
	}
	defer rows.Close()
	free := false
	for rows.Next() {
		if err := rows.Scan(&free); err != nil {
			return false, fmt.Errorf("look for overlapping claims: %w", err)
		}
	}
	if err := rows.Err(); err != nil {
		return false, fmt.Errorf("look for overlapping claims: %w", err)
	}
	return free, nil
}
