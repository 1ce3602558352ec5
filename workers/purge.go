package workers

import (
	"context"
	"errors"
	"fmt"

	"github.com/riverqueue/river"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
)

// purger deletes the files of dropped tables and views.
type purger struct {
	river.WorkerDefaults[PurgeArgs]
	config Config
	pace   *pace
}

// Work implements river.Worker: it works for a slice of time and makes way, to
// be taken up again, until nothing is left.
func (w *purger) Work(ctx context.Context, job *river.Job[PurgeArgs]) error {
	slice, cancel := context.WithTimeout(ctx, w.config.slice)
	defer cancel()
	err := w.purge(slice, commands.Purge{Warehouse: job.Args.Warehouse, Object: job.Args.Object, Drop: job.Args.Drop})
	if err != nil && slice.Err() != nil {
		return river.JobSnooze(0) // the slice is over, or the process ends: no failure
	}
	return err
}

// purge runs from wherever an earlier run ended.
func (w *purger) purge(ctx context.Context, in commands.Purge) error {
	p, err := w.config.Commands.ResolvePurge(ctx, in)
	if errors.Is(err, commands.ErrPurgeOver) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("resolve the purge of %s: %w", in.Object, err)
	}
	run := &purgeRun{Purging: p, documents: w.config.Documents, pace: w.pace}
	if err := run.open(ctx); err != nil {
		return fmt.Errorf("purge %s: %w", in.Object, err)
	}
	if !p.Dropped.Purging {
		report, err := run.scan(ctx, w.config.slice/3)
		if err != nil {
			return fmt.Errorf("look at what %s reaches: %w", in.Object, err)
		}
		err = w.config.Commands.StartPurge(ctx, in, report)
		if errors.Is(err, commands.ErrPurgeOver) {
			return nil // adopted while it was looked at
		}
		if err != nil {
			return fmt.Errorf("start the purge of %s: %w", in.Object, err)
		}
	}
	if err := run.delete(ctx); err != nil {
		return fmt.Errorf("purge %s: %w", in.Object, err)
	}
	err = w.config.Commands.FinishPurge(ctx, in, catalog.Purged{Deleted: run.deleted, Unreadable: run.unreadable})
	if err != nil {
		return fmt.Errorf("finish the purge of %s: %w", in.Object, err)
	}
	w.config.Logger.InfoContext(ctx, "purged", "object", in.Object.String(), "deleted", run.deleted, "unreadable", len(run.unreadable))
	return nil
}
