package workers

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/riverqueue/river"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/storage"
)

var (
	//go:embed sql/clean_due.sql
	cleanDueSQL string
	//go:embed sql/clean_sweep.sql
	cleanSweepSQL string
	//go:embed sql/lease_rested.sql
	leaseRestedSQL string
	//go:embed sql/cleaned.sql
	cleanedSQL string
	//go:embed sql/cleaned_forget.sql
	cleanedForgetSQL string
)

const (
	// cleanSweepTime is how often warehouses are looked for that have something to
	// clean up.
	cleanSweepTime = time.Hour
	// cleanTime is how often one table or view is looked at while it changes.
	cleanTime = 24 * time.Hour
	// restTime lies between the last deletion of a clean-up and its end. A
	// registration that read one of the files before may commit for that long, and
	// is refused until the end.
	restTime = eventstore.MaxCommitAge + time.Minute
	// cleanPage is how many objects one statement finds.
	cleanPage = 200
	// DefaultUndoWindow is how long the files of former states are kept.
	DefaultUndoWindow = 7 * 24 * time.Hour
)

// CleanArgs name a warehouse whose metadata files are to be cleaned up.
type CleanArgs struct {
	Warehouse ids.ID `json:"warehouse"`
}

// Kind implements river.JobArgs. It is stored: it stays.
func (CleanArgs) Kind() string { return "clean_metadata" }

// cleaner deletes metadata files that are of no use any more (ADR 0016). What there
// is to do it finds in the database: clean-ups that have started and not finished,
// then the objects that are due. A job that ends at any moment goes on there.
type cleaner struct {
	river.WorkerDefaults[CleanArgs]
	config Config
	pace   *pace
}

// Work implements river.Worker: a slice of time, and then again.
func (w *cleaner) Work(ctx context.Context, job *river.Job[CleanArgs]) error {
	if w.config.NoCleanUp {
		return nil
	}
	slice, cancel := context.WithTimeout(ctx, w.config.slice)
	defer cancel()
	err := w.warehouse(slice, job.Args.Warehouse)
	switch {
	case errors.Is(err, errLost):
		return river.JobSnooze(w.config.lease)
	case slice.Err() != nil:
		return river.JobSnooze(0)
	}
	return err
}

// warehouse cleans up what is due. An object that cannot be cleaned up does not keep
// the others waiting: it is told, and due again.
func (w *cleaner) warehouse(ctx context.Context, warehouse ids.ID) error {
	failed := w.resume(ctx, warehouse)
	for after := ids.Nil; ; {
		due, err := w.due(ctx, warehouse, after)
		if err != nil {
			return err
		}
		expect(ctx, int64(len(due)))
		for _, d := range due {
			after = d.object
			if err := w.object(ctx, warehouse, d); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				w.config.Logger.WarnContext(ctx, "metadata files were not cleaned up", "object", d.object.String(), "error", err)
				failed = errors.Join(failed, fmt.Errorf("clean up %s: %w", d.object, err))
			}
			advance(ctx, 1)
		}
		if len(due) < cleanPage {
			return failed
		}
	}
}

// dueObject is an object to look at.
type dueObject struct {
	object     ids.ID
	version    int64
	knownUntil time.Time
}

func (w *cleaner) due(ctx context.Context, warehouse, after ids.ID) ([]dueObject, error) {
	rows, err := w.config.Pool.Query(ctx, cleanDueSQL, [16]byte(warehouse), [16]byte(catalog.MainBranch), [16]byte(after),
		[16]byte(bound(&w.config)), w.config.clean.Microseconds(), cleanPage)
	if err != nil {
		return nil, fmt.Errorf("look for what is to be cleaned up: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d dueObject, err error) {
		var known pgtype.Timestamptz
		err = row.Scan((*[16]byte)(&d.object), &d.version, &known)
		d.knownUntil = known.Time
		return d, err
	})
	if err != nil {
		return nil, fmt.Errorf("look for what is to be cleaned up: %w", err)
	}
	return list, nil
}

// bound is an id such as objects have that were made when files that are now old
// enough were written.
func bound(c *Config) (id ids.ID) {
	ms := uint64(max(c.Clock.Now().Add(-commands.OrphanAge).UnixMilli(), 0))
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	return id
}

// object cleans up one table or view, round by round.
func (w *cleaner) object(ctx context.Context, warehouse ids.ID, d dueObject) error {
	in := commands.CleanUp{Warehouse: warehouse, Object: d.object, UndoWindow: w.config.UndoWindow, KnownUntil: d.knownUntil}
	waiting, known := false, time.Time{}
	for {
		plan, started, err := w.config.Commands.StartCleanUp(ctx, in)
		if errors.Is(err, commands.ErrCleanUpOver) {
			return nil
		}
		if err != nil {
			return err
		}
		if plan.Unproved != "" {
			w.config.Logger.WarnContext(ctx, "no metadata file is cleaned up", "object", d.object.String(), "reason", plan.Unproved)
		}
		if started != nil {
			if err := w.delete(ctx, warehouse, started); err != nil {
				return err
			}
		}
		waiting = waiting || plan.Waiting
		if in.After == "" {
			known = plan.KnownUntil
		}
		if !plan.Keeps {
			known = time.Time{} // it is the property that keeps them, and it can be taken away
		}
		if in.After = plan.Next; in.After == "" {
			break
		}
	}
	_, err := w.config.Pool.Exec(ctx, cleanedSQL, [16]byte(d.object), [16]byte(warehouse), d.version, waiting,
		pgtype.Timestamptz{Time: known, Valid: !known.IsZero()})
	if err != nil {
		return fmt.Errorf("note that %s was cleaned up: %w", d.object, err)
	}
	return nil
}

// resume finishes clean-ups that have started, whoever ran them.
func (w *cleaner) resume(ctx context.Context, warehouse ids.ID) error {
	reader := projections.NewCleanUps(w.config.Pool)
	var failed error
	for after := ids.Nil; ; {
		list, err := reader.Started(ctx, warehouse, after, cleanPage)
		if err != nil {
			return err
		}
		for _, s := range list {
			after = s.ID
			c, err := w.config.Commands.ResumeCleanUp(ctx, warehouse, s.ID)
			if err == nil {
				err = w.delete(ctx, warehouse, c)
			}
			switch {
			case errors.Is(err, commands.ErrCleanUpOver): // or it has no position yet
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				failed = errors.Join(failed, err)
			}
		}
		if len(list) < cleanPage {
			return failed
		}
	}
}

// delete deletes the files of a clean-up under its lease, and says so in the log when
// they have been gone for long enough.
func (w *cleaner) delete(ctx context.Context, warehouse ids.ID, c *commands.CleaningUp) error {
	in := commands.Purge{Warehouse: warehouse, Object: c.Object, Drop: c.ID} // a lease is one, whatever it is for
	held, report, err := takeLease(ctx, &w.config, in)
	if err != nil {
		return fmt.Errorf("clean up %s: %w", c.Object, err)
	}
	if report == nil {
		if report, err = w.deleteFiles(ctx, held, c); err == nil {
			err = held.settle(ctx, *report)
		}
		if err != nil {
			held.release(ctx)
			return fmt.Errorf("clean up %s: %w", c.Object, err)
		}
	}
	rested := false
	err = w.config.Pool.QueryRow(ctx, leaseRestedSQL, [16]byte(c.ID), w.config.rest.Microseconds()).Scan(&rested)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) { // no row: a run that ended it
		return fmt.Errorf("clean up %s: %w", c.Object, err)
	}
	if !rested {
		return nil // the next sweep brings a job that finishes it
	}
	if err := w.config.Commands.FinishCleanUp(ctx, warehouse, c, report.Deleted, report.Unreadable); err != nil {
		return fmt.Errorf("finish the clean-up of %s: %w", c.Object, err)
	}
	w.config.Logger.InfoContext(ctx, "cleaned up", "object", c.Object.String(), "deleted", report.Deleted, "kept", len(report.Unreadable))
	return endLease(ctx, &w.config, in)
}

// deleteFiles deletes what was announced, if it is what it was then. The report's
// second part are the files that stay.
func (w *cleaner) deleteFiles(ctx context.Context, held *lease, c *commands.CleaningUp) (*deletedReport, error) {
	report := &deletedReport{Unreadable: []string{}}
	for i := range c.Files {
		f := &c.Files[i]
		if c.Ended {
			if _, err := c.Store.Stat(ctx, f.Location); err == nil {
				report.Unreadable = append(report.Unreadable, f.Location)
			} else if !errors.Is(err, storage.ErrNotFound) {
				return nil, err
			}
			continue
		}
		info, err := c.Objects.Stat(ctx, f.Location)
		switch {
		case errors.Is(err, storage.ErrNotFound):
			continue
		case elsewhere(err), err == nil && (info.Size != f.Size || max(info.ModTime.UnixMilli(), 0) != f.ModifiedMS):
			report.Unreadable = append(report.Unreadable, f.Location)
			continue
		case err != nil:
			return nil, err
		}
		if err := w.pace.wait(ctx); err != nil {
			return nil, err
		}
		if err := held.unlink(ctx, c.Objects, f.Location); err != nil {
			return nil, err
		}
		report.Deleted++
	}
	return report, nil
}

// cleanSweepArgs ask for jobs for warehouses that have something to clean up.
type cleanSweepArgs struct{}

// Kind implements river.JobArgs.
func (cleanSweepArgs) Kind() string { return "clean_sweep" }

type cleanSweeper struct {
	river.WorkerDefaults[cleanSweepArgs]
	config Config
}

// Work implements river.Worker.
func (s *cleanSweeper) Work(ctx context.Context, _ *river.Job[cleanSweepArgs]) error {
	if s.config.NoCleanUp {
		return nil
	}
	_, err := s.config.Pool.Exec(ctx, cleanSweepSQL, CleanArgs{}.Kind(), queuePurge, [16]byte(bound(&s.config)), s.config.clean.Microseconds())
	if err != nil {
		return fmt.Errorf("look for warehouses to clean up: %w", err)
	}
	if _, err := s.config.Pool.Exec(ctx, cleanedForgetSQL, s.config.clean.Microseconds()); err != nil {
		return fmt.Errorf("forget when objects were cleaned up that are gone: %w", err)
	}
	return nil
}
