package document

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/icecore-catalog/icecore/internal/ids"
)

//go:embed sql/save.sql
var saveSQL string

//go:embed sql/sweep.sql
var sweepSQL string

// DB is a pool or a connection.
type DB interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// Save puts a document into the database's cache. It is called beside a commit
// or after a cold load, never inside a commit's transaction (design 5: the WAL
// would grow 52-fold). Documents above [MaxCached] are not kept, and one that is
// there already stays: under one key there is only one document.
func Save(ctx context.Context, db DB, object, mark ids.ID, p *Packed) error {
	if p.IsZero() || len(p.Deflate) > MaxCached {
		return nil
	}
	_, err := db.Exec(ctx, saveSQL, [16]byte(object), [16]byte(mark), FormDeflate, int64(p.CRC32), p.Length, p.Deflate)
	if err != nil {
		return fmt.Errorf("save document of %s: %w", object, err)
	}
	return nil
}

// Sweep removes up to limit documents that were saved before a point of time
// and are no object's current state. It returns how many went; call it again
// while that is limit.
func Sweep(ctx context.Context, db DB, before time.Time, limit int) (int64, error) {
	tag, err := db.Exec(ctx, sweepSQL, before, limit)
	if err != nil {
		return 0, fmt.Errorf("sweep documents: %w", err)
	}
	return tag.RowsAffected(), nil
}
