package projections

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// rebuildSchema is where replayed tables stand.
const rebuildSchema = "rm_rebuild"

// shadow is one run's set of replayed tables. They have the primary key of
// their original and nothing else, until they take its place.
type shadow struct {
	pool   *pgxpool.Pool
	run    string
	tables []*table
	logged bool // they are to become the live tables
	keyed  bool // they have their unique keys
}

// leftoverHours is how old the tables of a run must be for another to take it
// for dead and remove them.
const leftoverHours = 48

//go:embed sql/leftovers.sql
var leftoversSQL string

// newShadow makes empty tables. Names carry the run, so that runs do not meet:
// eight digits of the time and eight random ones. What a run that died left
// behind is removed.
func newShadow(ctx context.Context, pool *pgxpool.Pool, tables []*table, logged bool) (*shadow, error) {
	rows, err := pool.Query(ctx, leftoversSQL, rebuildSchema, leftoverHours)
	if err != nil {
		return nil, fmt.Errorf("look for leftovers: %w", err)
	}
	leftovers, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("look for leftovers: %w", err)
	}
	for _, name := range leftovers {
		// Another run may be at the same; it costs only room.
		_, _ = pool.Exec(ctx, "DROP TABLE IF EXISTS "+pgx.Identifier{rebuildSchema, name}.Sanitize())
	}
	s := &shadow{pool: pool, tables: tables, logged: logged}
	if err := pool.QueryRow(ctx, runNameSQL).Scan(&s.run); err != nil {
		return nil, fmt.Errorf("name the run: %w", err)
	}
	for _, t := range tables {
		if _, err := pool.Exec(ctx, s.createSQL(t)); err != nil {
			s.drop(context.WithoutCancel(ctx))
			return nil, fmt.Errorf("make the table to rebuild %s: %w", t.name, err)
		}
	}
	return s, nil
}

const runNameSQL = "SELECT to_hex(extract(epoch FROM clock_timestamp())::bigint) || left(replace(gen_random_uuid()::text, '-', ''), 8)"

func (s *shadow) createSQL(t *table) string {
	unlogged := "UNLOGGED "
	if s.logged {
		unlogged = ""
	}
	keys := make([]string, t.keys)
	for i, c := range t.columns[:t.keys] {
		keys[i] = c.name
	}
	body := "LIKE " + t.schema + "." + t.name + " INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMPRESSION INCLUDING COMMENTS INCLUDING DEFAULTS"
	if t == verifyTable {
		columns := make([]string, len(t.columns))
		for i, c := range t.columns {
			columns[i] = c.name + " " + c.sqlType
		}
		body = strings.Join(columns, ", ")
	}
	return "CREATE " + unlogged + "TABLE " + s.name(t) + " (" + body + ", PRIMARY KEY (" + strings.Join(keys, ", ") + "))"
}

// name is the table's qualified name in this run.
func (s *shadow) name(t *table) string { return rebuildSchema + "." + s.bare(t) }

func (s *shadow) bare(t *table) string { return t.name + "_" + s.run }

// drop removes what is left of the run.
func (s *shadow) drop(ctx context.Context) {
	for i := len(s.tables) - 1; i >= 0; i-- {
		// What stays costs only room; the next run has other names.
		_, _ = s.pool.Exec(ctx, "DROP TABLE IF EXISTS "+s.name(s.tables[i]))
	}
}

// analyze tells the planner about the filled tables.
func (s *shadow) analyze(ctx context.Context) error {
	for _, t := range s.tables {
		if _, err := s.pool.Exec(ctx, "ANALYZE "+s.name(t)); err != nil {
			return fmt.Errorf("analyze %s: %w", s.name(t), err)
		}
	}
	return nil
}

// flush writes a page: what goes, what changes, what comes, parents first.
func (s *shadow) flush(ctx context.Context, tx pgx.Tx, p *page) error {
	for i := len(s.tables) - 1; i >= 0; i-- {
		t := s.tables[i]
		if rows := p.deletes(t); len(rows) > 0 {
			sql := "DELETE FROM " + s.name(t) + " s USING " + unnest(t, nil) + whereUnnested(t)
			if err := execRows(ctx, tx, t, sql, keyColumns(t, rows), rows, "is ended, and was never made"); err != nil {
				return err
			}
		}
	}
	for _, t := range s.tables {
		groups := p.updates(t)
		if s.keyed {
			for _, g := range groups {
				if err := s.vacate(ctx, tx, t, g); err != nil {
					return err
				}
			}
		}
		for _, g := range groups {
			set := make([]string, len(g.set))
			for i, name := range g.set {
				set[i] = fmt.Sprintf("%s = u.s%d::%s", name, i, t.columns[t.index(name)].sqlType)
			}
			sql := "UPDATE " + s.name(t) + " s SET " + strings.Join(set, ", ") + " FROM " + unnest(t, g.set) + whereUnnested(t)
			args := keyColumns(t, g.rows)
			for _, name := range g.set {
				args = append(args, textColumn(g.rows, func(r *rowState) any { return r.updates[name] }))
			}
			if err := execRows(ctx, tx, t, sql, args, g.rows, "is changed, and was never made"); err != nil {
				return err
			}
		}
		if rows := p.inserts(t); len(rows) > 0 {
			if err := s.copy(ctx, tx, t, rows); err != nil {
				return err
			}
		}
	}
	return nil
}

// vacate gives rows that are about to take other unique values ones that
// nothing else has: a merged page may pass a name from row to row.
func (s *shadow) vacate(ctx context.Context, tx pgx.Tx, t *table, g *updateGroup) error {
	var set []string
	for _, name := range t.unique {
		if slices.Contains(g.set, name) {
			value := "gen_random_uuid()"
			if t.columns[t.index(name)].sqlType == "text" {
				value = "chr(31) || gen_random_uuid()"
			}
			set = append(set, name+" = "+value)
		}
	}
	if len(set) == 0 {
		return nil
	}
	sql := "UPDATE " + s.name(t) + " s SET " + strings.Join(set, ", ") + " FROM " + unnest(t, nil) + whereUnnested(t)
	return execRows(ctx, tx, t, sql, keyColumns(t, g.rows), g.rows, "is changed, and was never made")
}

func (s *shadow) copy(ctx context.Context, tx pgx.Tx, t *table, rows []*rowState) error {
	var out []byte
	for _, r := range rows {
		for i, v := range r.key {
			if i > 0 {
				out = append(out, '\t')
			}
			out = appendCopy(out, v)
		}
		for _, v := range r.row {
			out = appendCopy(append(out, '\t'), v)
		}
		out = append(out, '\n')
	}
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name
	}
	sql := "COPY " + s.name(t) + " (" + strings.Join(names, ", ") + ") FROM STDIN"
	if _, err := tx.Conn().PgConn().CopyFrom(ctx, bytes.NewReader(out), sql); err != nil {
		return fmt.Errorf("rebuild %s: %w", t.name, err)
	}
	return nil
}

// unnest is the source of a statement over many keys: key columns k0, k1…,
// then changed columns s0, s1…, all as text.
func unnest(t *table, set []string) string {
	var params, names []string
	for i := range t.keys {
		params, names = append(params, fmt.Sprintf("$%d::text[]", i+1)), append(names, fmt.Sprintf("k%d", i))
	}
	for i := range set {
		params, names = append(params, fmt.Sprintf("$%d::text[]", t.keys+i+1)), append(names, fmt.Sprintf("s%d", i))
	}
	return "unnest(" + strings.Join(params, ", ") + ") u (" + strings.Join(names, ", ") + ")"
}

func whereUnnested(t *table) string {
	parts := make([]string, t.keys)
	for i, c := range t.columns[:t.keys] {
		parts[i] = fmt.Sprintf("s.%s = u.k%d::%s", c.name, i, c.sqlType)
	}
	return " WHERE " + strings.Join(parts, " AND ")
}

func keyColumns(t *table, rows []*rowState) []any {
	args := make([]any, t.keys)
	for i := range t.keys {
		args[i] = textColumn(rows, func(r *rowState) any { return r.key[i] })
	}
	return args
}

func textColumn(rows []*rowState, value func(*rowState) any) []*string {
	out := make([]*string, len(rows))
	for i, r := range rows {
		if s, null := textOf(value(r)); !null {
			out[i] = &s
		}
	}
	return out
}

// execRows runs a statement that must meet every one of its rows.
func execRows(ctx context.Context, tx pgx.Tx, t *table, sql string, args []any, rows []*rowState, problem string) error {
	tag, err := tx.Exec(ctx, sql, args...)
	if err != nil {
		return fmt.Errorf("rebuild %s: %w", t.name, err)
	}
	if tag.RowsAffected() != int64(len(rows)) {
		return inconsistent(t, rows[0].key, fmt.Sprintf("or one of %d like it %s", len(rows), problem))
	}
	return nil
}
