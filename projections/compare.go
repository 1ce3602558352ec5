package projections

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/icecore-catalog/icecore/internal/ids"
)

//go:embed sql/unsequenced.sql
var unsequencedSQL string

// comparer holds every row of the live tables against the replayed ones while
// commits go on, in short transactions.
//
// A statement sees the live and the replayed table in one snapshot; the
// replayed one may be behind by the events between its position and the
// snapshot. So after each page the replay catches up beyond what the snapshot
// saw, and tells which rows it touched: those are looked at again, whatever the
// first look said. A row that differs and was not touched differs for good.
type comparer struct {
	replay   *replayer
	report   *Report
	limit    int // findings that are kept
	pageSize int
	dirty    map[rowKey]*rowState
}

// compare returns when every row was seen equal, or was reported.
func (c *comparer) compare(ctx context.Context, tables []*table) error {
	c.dirty = map[rowKey]*rowState{}
	c.replay.touched = func(t *table, s *rowState) { c.dirty[rowKey{t, keyText(s.key)}] = s }
	defer func() { c.replay.touched = nil }()
	for _, t := range tables {
		if err := c.table(ctx, t); err != nil {
			return fmt.Errorf("compare %s: %w", t.name, err)
		}
	}
	const rounds = 10
	for round := range rounds + 1 {
		again := c.dirty
		c.dirty = map[rowKey]*rowState{}
		for _, t := range tables {
			var rows []*rowState
			for k, s := range again {
				if k.table == t {
					rows = append(rows, s)
				}
			}
			for len(rows) > 0 {
				n := min(len(rows), c.pageSize)
				if err := c.rows(ctx, t, rows[:n], round == rounds); err != nil {
					return fmt.Errorf("compare %s again: %w", t.name, err)
				}
				rows = rows[n:]
			}
		}
		if len(c.dirty) == 0 || round == rounds {
			return nil
		}
	}
	return nil
}

// table compares a whole table by pages of its primary key.
func (c *comparer) table(ctx context.Context, t *table) error {
	var total int64
	err := c.replay.shadow.pool.QueryRow(ctx, "SELECT greatest(reltuples, 0)::bigint FROM pg_catalog.pg_class WHERE oid = $1::text::regclass", c.replay.shadow.name(t)).Scan(&total)
	if err != nil {
		return err
	}
	var low []*string
	var done int64
	for {
		high, n, err := c.page(ctx, t, low)
		if err != nil {
			return err
		}
		done += n
		c.report.Rows += n
		c.replay.progress.tell("compare "+t.name, done, max(done, total))
		if high == nil {
			return nil
		}
		low = high
	}
}

// keyList is "k.a, k.b" for the key columns.
func keyList(t *table, alias string) string {
	parts := make([]string, t.keys)
	for i, c := range t.columns[:t.keys] {
		parts[i] = alias + "." + c.name
	}
	return strings.Join(parts, ", ")
}

// params is "$n::uuid, $n+1::text" for the key columns.
func params(t *table, first int) string {
	parts := make([]string, t.keys)
	for i, c := range t.columns[:t.keys] {
		parts[i] = fmt.Sprintf("$%d::text::%s", first+i, c.sqlType)
	}
	return strings.Join(parts, ", ")
}

func keyTexts(t *table, alias string) string {
	parts := make([]string, t.keys)
	for i, c := range t.columns[:t.keys] {
		parts[i] = alias + "." + c.name + "::text"
	}
	return strings.Join(parts, ", ")
}

// differences is the end of both comparing statements. Rows are compared by
// their stored bytes, all columns at once.
func (c *comparer) differences(t *table) string {
	on := make([]string, t.keys)
	for i, col := range t.columns[:t.keys] {
		on[i] = fmt.Sprintf("l.%s = s.%s", col.name, col.name)
	}
	first := t.columns[0].name
	return fmt.Sprintf(` SELECT array_to_string(ARRAY[%s], '/'), to_jsonb(l)::text, to_jsonb(s)::text, %s
  FROM live l FULL JOIN shadow s ON %s
 WHERE l.%s IS NULL OR s.%s IS NULL OR l *<> s`,
		"COALESCE("+strings.Join(pairs(keyTexts(t, "l"), keyTexts(t, "s")), "), COALESCE(")+")",
		"ARRAY[COALESCE("+strings.Join(pairs(keyTexts(t, "l"), keyTexts(t, "s")), "), COALESCE(")+")]",
		strings.Join(on, " AND "), first, first)
}

func pairs(a, b string) []string {
	left, right := strings.Split(a, ", "), strings.Split(b, ", ")
	for i := range left {
		left[i] += ", " + right[i]
	}
	return left
}

// page compares up to pageSize live rows behind low, and whatever the replay
// has among them. high is the last key, nil at the end of the table.
func (c *comparer) page(ctx context.Context, t *table, low []*string) (high []*string, n int64, err error) {
	live, shadow := t.schema+"."+t.name, c.replay.shadow.name(t)
	var args []any
	behind := "true"
	if low != nil {
		behind = fmt.Sprintf("(%s) > (%s)", keyList(t, "x"), params(t, 1))
		for _, v := range low {
			args = append(args, v)
		}
	}
	var found []difference
	var seen visible
	err = c.snapshot(ctx, func(tx pgx.Tx) error {
		bound := fmt.Sprintf("SELECT ARRAY[%s], count FROM (SELECT x.*, row_number() OVER (ORDER BY %s) AS count FROM %s x WHERE %s ORDER BY %s LIMIT %d) x ORDER BY count DESC LIMIT 1",
			keyTexts(t, "x"), keyList(t, "x"), live, behind, keyList(t, "x"), c.pageSize)
		var last []*string
		err := tx.QueryRow(ctx, bound, args...).Scan(&last, &n)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		within := behind
		if n == int64(c.pageSize) {
			high = last
			within += fmt.Sprintf(" AND (%s) <= (%s)", keyList(t, "x"), params(t, len(args)+1))
			for _, v := range last {
				args = append(args, v)
			}
		}
		sql := fmt.Sprintf("WITH live AS (SELECT * FROM %s x WHERE %s), shadow AS (SELECT * FROM %s x WHERE %s)", live, within, shadow, within)
		if found, err = readDifferences(ctx, tx, sql+c.differences(t), args); err != nil {
			return err
		}
		seen, err = readVisible(ctx, tx)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	return high, n, c.judge(ctx, t, found, seen)
}

// rows compares single rows again. With locked, they are held still until the
// replay has caught up with them: for rows that changed at every look.
func (c *comparer) rows(ctx context.Context, t *table, rows []*rowState, locked bool) error {
	live, shadow := t.schema+"."+t.name, c.replay.shadow.name(t)
	args := keyColumns(t, rows)
	where := unnest(t, nil) + whereUnnested(t)
	sql := fmt.Sprintf("WITH live AS (SELECT s.* FROM %s s, %s), shadow AS (SELECT s.* FROM %s s, %s)", live, where, shadow, where)
	if locked {
		return pgx.BeginFunc(ctx, c.replay.shadow.pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '5s'"); err != nil {
				return err
			}
			// All in one order, as commits do.
			if _, err := tx.Exec(ctx, fmt.Sprintf("SELECT 1 FROM %s s, %s ORDER BY %s FOR SHARE OF s", live, where, keyList(t, "s")), args...); err != nil {
				return fmt.Errorf("%w, and could not be locked: %w", errTooBusy, err)
			}
			seen, err := readVisible(ctx, tx)
			if err != nil {
				return err
			}
			if err := c.overtake(ctx, seen); err != nil {
				return err
			}
			found, err := readDifferences(ctx, tx, sql+c.differences(t), args)
			for _, d := range found {
				c.report.add(c.limit, d.finding(t))
			}
			return err
		})
	}
	var found []difference
	var seen visible
	err := c.snapshot(ctx, func(tx pgx.Tx) (err error) {
		if found, err = readDifferences(ctx, tx, sql+c.differences(t), args); err != nil {
			return err
		}
		seen, err = readVisible(ctx, tx)
		return err
	})
	if err != nil {
		return err
	}
	return c.judge(ctx, t, found, seen)
}

// snapshot runs a short transaction that sees one state.
func (c *comparer) snapshot(ctx context.Context, look func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, c.replay.shadow.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, look)
}

// overtake replays beyond what a snapshot saw.
func (c *comparer) overtake(ctx context.Context, seen visible) error {
	if seen.size <= c.replay.position && len(seen.events) == 0 {
		return nil
	}
	goal, err := c.replay.waitForVisible(ctx, seen)
	if err != nil {
		return err
	}
	return c.replay.catchUp(ctx, nil, goal)
}

// judge reports the differences that no event explains.
func (c *comparer) judge(ctx context.Context, t *table, found []difference, seen visible) error {
	if err := c.overtake(ctx, seen); err != nil {
		return err
	}
	for _, d := range found {
		if _, touched := c.dirty[rowKey{t, d.keyText(t)}]; !touched {
			c.report.add(c.limit, d.finding(t))
		}
	}
	return nil
}

// difference is a row that is not the same, or missing, on one side.
type difference struct {
	name          string // the key, for people
	live, rebuilt *string
	key           []string
}

func (d *difference) keyText(t *table) string {
	key := make([]any, len(d.key))
	for i, s := range d.key {
		key[i] = s
		if t.columns[i].sqlType == "uuid" {
			if id, err := ids.Parse(s); err == nil {
				key[i] = [16]byte(id)
			}
		}
	}
	return keyText(key)
}

func (d *difference) finding(t *table) Finding {
	f := Finding{Kind: RowDiffers, Table: t.schema + "." + t.name, Key: d.name}
	switch {
	case d.live == nil:
		f.Kind = RowMissing
	case d.rebuilt == nil:
		f.Kind = RowUnexplained
	}
	if d.live != nil {
		f.Live = *d.live
	}
	if d.rebuilt != nil {
		f.Rebuilt = *d.rebuilt
	}
	return f
}

func readDifferences(ctx context.Context, tx pgx.Tx, sql string, args []any) ([]difference, error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d difference, err error) {
		err = row.Scan(&d.name, &d.live, &d.rebuilt, &d.key)
		return d, err
	})
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return nil, fmt.Errorf("%w in %s", err, sql)
	}
	return list, err
}
