package reports

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/icecore-catalog/icecore/internal/ids"
)

var (
	//go:embed sql/insert.sql
	insertSQL string
	//go:embed sql/list.sql
	listSQL string
	//go:embed sql/cut.sql
	cutSQL string
	//go:embed sql/cut_bytes.sql
	cutBytesSQL string
	//go:embed sql/expire.sql
	expireSQL string
)

// DB is a pool or a connection.
type DB interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Store is the table of reports.
type Store struct{ db DB }

// NewStore returns the store on a pool on the primary.
func NewStore(db DB) Store { return Store{db} }

// Insert writes reports in one statement. One that is there already stays.
// [ErrRefused] means that one of them can never be stored.
func (s Store) Insert(ctx context.Context, list []Report) error {
	n := len(list)
	if n == 0 {
		return nil
	}
	var (
		id, warehouse, table, actor = make([][16]byte, n), make([][16]byte, n), make([][16]byte, n), make([][16]byte, n)
		at                          = make([]time.Time, n)
		kind, body                  = make([]string, n), make([]string, n)
		snapshot                    = make([]*int64, n)
	)
	for i := range list {
		r := &list[i]
		id[i], warehouse[i], table[i], actor[i] = r.ID, r.Warehouse, r.Table, r.Actor
		at[i], kind[i], snapshot[i], body[i] = r.ReceivedAt, r.Type, r.Snapshot, string(r.Body)
	}
	if _, err := s.db.Exec(ctx, insertSQL, id, warehouse, table, at, actor, kind, snapshot, body); err != nil {
		var refused *pgconn.PgError
		if errors.As(err, &refused) && strings.HasPrefix(refused.Code, dataException) {
			err = errors.Join(ErrRefused, err)
		}
		return fmt.Errorf("store metrics reports: %w", err)
	}
	return nil
}

// dataException is the class of SQLSTATEs about values.
const dataException = "22"

// last is above every id.
var last = ids.ID{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// maxList bounds the bytes of one page: the page ends early instead.
const maxList = 8 << 20

// List returns a page of at most limit reports, newest first, and whether there
// are more behind it. A page of large reports ends early.
func (s Store) List(ctx context.Context, f Filter, limit int) (list []Report, more bool, err error) {
	before := f.Before
	if before.IsNil() {
		before = last
	}
	rows, err := s.db.Query(ctx, listSQL, [16]byte(f.Table), [16]byte(before), f.Type, f.Snapshot, limit+1)
	if err != nil {
		return nil, false, fmt.Errorf("list metrics reports: %w", err)
	}
	defer rows.Close()
	size := 0
	for rows.Next() {
		if len(list) == limit || size >= maxList {
			return list, true, nil
		}
		var r Report
		if err := rows.Scan((*[16]byte)(&r.ID), (*[16]byte)(&r.Warehouse), (*[16]byte)(&r.Table), &r.ReceivedAt, (*[16]byte)(&r.Actor), &r.Type, &r.Snapshot, &r.Body); err != nil {
			return nil, false, fmt.Errorf("list metrics reports: %w", err)
		}
		r.ReceivedAt = r.ReceivedAt.UTC()
		size += len(r.Body)
		list = append(list, r)
	}
	if err := rows.Err(); err != nil {
		return nil, false, fmt.Errorf("list metrics reports: %w", err)
	}
	return list, false, nil
}

// Expire removes up to limit reports that were received before a point of time
// and returns how many went; call it again while that is limit.
func (s Store) Expire(ctx context.Context, before time.Time, limit int) (int64, error) {
	ms := max(0, before.UnixMilli())
	return s.ExpireBefore(ctx, ids.ID{byte(ms >> 40), byte(ms >> 32), byte(ms >> 24), byte(ms >> 16), byte(ms >> 8), byte(ms)}, limit)
}

// Cut returns the id of the oldest report of the newest keep, which is above 0;
// Nil if there are not that many.
func (s Store) Cut(ctx context.Context, keep int) (ids.ID, error) {
	return s.cut(ctx, cutSQL, keep)
}

// CutBytes returns the id of the oldest of the newest reports that have up to
// bytes together; Nil if all have. No report is larger than [MaxReport], which
// bytes has to be at least, if the newest is to stay.
func (s Store) CutBytes(ctx context.Context, bytes int64) (ids.ID, error) {
	return s.cut(ctx, cutBytesSQL, bytes)
}

func (s Store) cut(ctx context.Context, sql string, bound any) (ids.ID, error) {
	rows, err := s.db.Query(ctx, sql, bound)
	if err != nil {
		return ids.Nil, fmt.Errorf("count metrics reports: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[[16]byte])
	if err != nil {
		return ids.Nil, fmt.Errorf("count metrics reports: %w", err)
	}
	if len(found) == 0 {
		return ids.Nil, nil
	}
	return found[0], nil
}

// ExpireBefore is [Store.Expire] for the reports whose ids are below one.
func (s Store) ExpireBefore(ctx context.Context, id ids.ID, limit int) (int64, error) {
	tag, err := s.db.Exec(ctx, expireSQL, [16]byte(id), limit)
	if err != nil {
		return 0, fmt.Errorf("expire metrics reports: %w", err)
	}
	return tag.RowsAffected(), nil
}
