package projections

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	_ "embed"
)

// CheckConfig is what [Compare] and [Verify] work with.
type CheckConfig struct {
	// Pool is on the primary, as the application role or the owner; at least two
	// connections.
	Pool *pgxpool.Pool
	Log  EventLog
	// Progress may be nil.
	Progress Progress
	// PageSize is how many events or rows one short transaction handles; 5,000
	// if 0.
	PageSize int
	// MaxFindings bounds the findings that are kept, not those counted; 100 if 0.
	MaxFindings int
}

func (c *CheckConfig) defaults() {
	if c.PageSize <= 0 {
		c.PageSize = 5000
	}
	if c.MaxFindings <= 0 {
		c.MaxFindings = 100
	}
}

// Compare replays the log beside the running system and holds every row and
// column of the derived tables, guards included, against what the log makes of
// them. Commits go on meanwhile; no snapshot and no lock is held for longer
// than a page takes. A sequencer must be running, or nothing appended.
//
// Errors are those of the database, [InconsistentError], [ErasedError], a
// [catalog.PayloadError], or [eventstore.HaltedError] when events wait for a
// log that is halted.
func Compare(ctx context.Context, c CheckConfig) (Report, error) {
	c.defaults()
	tables := derivedTables()
	s, err := newShadow(ctx, c.Pool, tables, false)
	if err != nil {
		return Report{}, err
	}
	defer s.drop(context.WithoutCancel(ctx))
	r := &replayer{log: c.Log, shadow: s, guards: true, pageSize: c.PageSize, progress: c.Progress}
	return compareAll(ctx, c, r, tables)
}

// compareAll replays and compares.
func compareAll(ctx context.Context, c CheckConfig, r *replayer, tables []*table) (Report, error) {
	var report Report
	var err error
	if r.follow, err = newFollowedCheck(ctx, c.Pool, r.shadow.run); err != nil {
		return report, err
	}
	defer r.follow.drop(context.WithoutCancel(ctx))
	if err := r.catchUp(ctx, nil, 0); err != nil {
		return report, err
	}
	if err := r.shadow.analyze(ctx); err != nil {
		return report, err
	}
	compared := comparer{replay: r, report: &report, limit: c.MaxFindings, pageSize: c.PageSize}
	err = compared.compare(ctx, tables)
	report.Position = r.position
	if err != nil {
		return report, err
	}
	check := r.follow
	r.follow = nil // what comes now is behind its cursor
	return report, check.report(ctx, &report, c.MaxFindings, c.PageSize)
}

// RebuildConfig is what [Rebuild] works with.
type RebuildConfig struct {
	// Owner is a pool of the role that owns the tables; at least two connections.
	Owner    *pgxpool.Pool
	Log      EventLog
	Progress Progress
	// PageSize and MaxFindings are those of [CheckConfig].
	PageSize, MaxFindings int
}

//go:embed sql/constraints.sql
var constraintsSQL string

//go:embed sql/foreign_keys.sql
var foreignSQL string

//go:embed sql/unvalidated.sql
var unvalidatedSQL string

//go:embed sql/indexes.sql
var indexesSQL string

//go:embed sql/grants.sql
var grantsSQL string

// Rebuild makes the read models anew from the log, in a second schema, compares
// them with the live ones, and puts them in their place. The report says what
// was different and is now mended. Guards are compared and not replaced: they
// are what commits stand on, and a guard that differs wants a human. What follows
// the log is emptied and made anew at the end: until then a search finds less.
//
// The server may go on meanwhile. At the end all read models are locked for as
// long as the events of the last moment take; commits wait so long.
func Rebuild(ctx context.Context, c RebuildConfig) (Report, error) {
	check := CheckConfig{Pool: c.Owner, Log: c.Log, Progress: c.Progress, PageSize: c.PageSize, MaxFindings: c.MaxFindings}
	check.defaults()
	tables := derivedTables()
	s, err := newShadow(ctx, c.Owner, tables, true)
	if err != nil {
		return Report{}, err
	}
	defer s.drop(context.WithoutCancel(ctx))
	r := &replayer{log: c.Log, shadow: s, guards: true, pageSize: check.PageSize, progress: c.Progress}
	report, err := compareAll(ctx, check, r, tables)
	if err != nil {
		return report, err
	}
	own := slices.DeleteFunc(slices.Clone(tables), func(t *table) bool { return !t.inline })
	if err := s.dress(ctx, own); err != nil {
		return report, err
	}
	err = replace(ctx, r, own)
	report.Position = r.position
	if err != nil {
		return report, err
	}
	follower := NewFollower(c.Owner, c.Log)
	if err := follower.Reset(ctx); err != nil {
		return report, err
	}
	return report, follower.CatchUp(ctx)
}

// replace swaps the tables when few events are left to replay.
func replace(ctx context.Context, r *replayer, own []*table) error {
	const attempts = 300
	for attempt := int64(1); ; attempt++ {
		for range 10 {
			before := r.position
			if err := r.catchUp(ctx, nil, 0); err != nil {
				return err
			}
			if r.position-before < int64(r.pageSize) {
				break
			}
		}
		r.progress.tell("swap", attempt, attempts)
		err := swap(ctx, r, own)
		var pgErr *pgconn.PgError
		if err == nil {
			return validate(ctx, r.shadow.pool, own)
		}
		// Somebody reads or writes for long: let him go on, and ask again.
		if !errors.As(err, &pgErr) || pgErr.Code != "55P03" || attempt == attempts {
			return err
		}
	}
}

// dress gives the replayed tables the keys, indexes and grants of their
// originals, under the same names. Foreign keys come with the swap, for a merged
// page may write a row before the one that it refers to.
func (s *shadow) dress(ctx context.Context, own []*table) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		for _, source := range []string{constraintsSQL, indexesSQL, grantsSQL} {
			for _, t := range own {
				args := []any{t.schema, t.name}
				if source == constraintsSQL {
					args = append(args, s.name(t))
				}
				rows, err := tx.Query(ctx, source, args...)
				if err != nil {
					return err
				}
				statements, err := pgx.CollectRows(rows, pgx.RowTo[string])
				if err != nil {
					return err
				}
				for _, sql := range statements {
					if _, err := tx.Exec(ctx, strings.ReplaceAll(sql, "@table@", s.name(t))); err != nil {
						return fmt.Errorf("dress %s: %s: %w", t.name, sql, err)
					}
				}
			}
		}
		s.keyed = true
		return nil
	})
}

// swap takes all locks, replays the last events and puts the tables in place.
func swap(ctx context.Context, r *replayer, own []*table) error {
	err := pgx.BeginFunc(ctx, r.shadow.pool, func(tx pgx.Tx) error {
		// A commit takes its tables in another order than this does. Both wait for
		// the other then, and PostgreSQL would end one of them after a second
		// (deadlock_timeout): this one gives up long before.
		if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '100ms'"); err != nil {
			return err
		}
		names := make([]string, len(own))
		for i, t := range own {
			names[i] = t.schema + "." + t.name
		}
		if _, err := tx.Exec(ctx, "LOCK TABLE "+strings.Join(names, ", ")+" IN ACCESS EXCLUSIVE MODE"); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '2s'"); err != nil {
			return err
		}
		// Whoever changed a read model has committed; nobody else can.
		seen, err := readVisible(ctx, tx)
		if err != nil {
			return err
		}
		goal, err := r.waitForVisible(ctx, seen)
		if err != nil {
			return err
		}
		if err := r.catchUp(ctx, tx, goal); err != nil {
			return err
		}
		foreign, err := foreignKeys(ctx, tx, own, foreignSQL)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "DROP TABLE "+strings.Join(names, ", ")); err != nil {
			return err
		}
		for _, t := range own {
			for _, sql := range []string{
				"ALTER TABLE " + r.shadow.name(t) + " RENAME TO " + t.name,
				"ALTER TABLE " + rebuildSchema + "." + t.name + " SET SCHEMA " + t.schema,
			} {
				if _, err := tx.Exec(ctx, sql); err != nil {
					return err
				}
			}
		}
		for _, sql := range foreign {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("put the rebuilt read models in place: %w", err)
	}
	return nil
}

// foreignKeys returns the statements of a query for all tables.
func foreignKeys(ctx context.Context, db Querier, own []*table, source string) ([]string, error) {
	var all []string
	for _, t := range own {
		rows, err := db.Query(ctx, source, t.schema, t.name)
		if err != nil {
			return nil, err
		}
		statements, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return nil, err
		}
		all = append(all, statements...)
	}
	return all, nil
}

// validate has the foreign keys checked that the swap made in a hurry; nobody
// waits for that.
func validate(ctx context.Context, pool *pgxpool.Pool, own []*table) error {
	statements, err := foreignKeys(ctx, pool, own, unvalidatedSQL)
	if err != nil {
		return fmt.Errorf("validate foreign keys: %w", err)
	}
	for _, sql := range statements {
		if _, err := pool.Exec(ctx, sql); err != nil {
			return fmt.Errorf("validate foreign keys: %w", err)
		}
	}
	return nil
}
