package workers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/riverqueue/river"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/commands"
	"github.com/icecore-catalog/icecore/projections"
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
	in := commands.Purge{Warehouse: job.Args.Warehouse, Object: job.Args.Object, Drop: job.Args.Drop}
	var state struct {
		Cancel *cancelled `json:"cancel"`
	}
	if err := json.Unmarshal(job.Metadata, &state); err != nil {
		return fmt.Errorf("purge %s: read the job: %w", in.Object, err)
	}
	err := w.purge(slice, in, state.Cancel)
	switch {
	case errors.Is(err, errLost):
		return river.JobSnooze(w.config.lease / 2) // it ends, or its lease does
	case err != nil && slice.Err() != nil:
		return river.JobSnooze(0) // the slice is over, or the process ends: no failure
	}
	return err
}

// purge runs from wherever an earlier run ended. What there is to purge is asked
// after the lease is had: who gets one when the purge is over finds that it is.
func (w *purger) purge(ctx context.Context, in commands.Purge, off *cancelled) error {
	held, report, err := takeLease(ctx, &w.config, in)
	if err != nil {
		return fmt.Errorf("purge %s: %w", in.Object, err)
	}
	if report == nil && off != nil {
		report = &deletedReport{Unreadable: []string{}, Cancelled: off}
		if err := held.settle(ctx, *report); err != nil {
			return fmt.Errorf("purge %s: %w", in.Object, err)
		}
	}
	if report == nil {
		if report, err = w.deleteAll(ctx, in, held); err != nil || report == nil {
			held.release(ctx)
			return err
		}
	}
	if off := report.Cancelled; off != nil {
		// Nobody deletes any more, and nobody will.
		if err := w.config.Commands.CancelPurge(ctx, commands.Call{Actor: authz.Actor{ID: off.Actor}, RequestID: off.Request}, in); err != nil {
			return fmt.Errorf("call off the purge of %s: %w", in.Object, err)
		}
		if err := endLease(ctx, &w.config, in); err != nil {
			return err
		}
		return river.JobCancel(errCalledOff)
	}
	// All is deleted, and no run will delete anything any more: the locations may
	// have another owner.
	err = w.config.Commands.FinishPurge(ctx, in, catalog.Purged{Deleted: report.Deleted, Unreadable: report.Unreadable})
	if err != nil {
		return fmt.Errorf("finish the purge of %s: %w", in.Object, err)
	}
	w.config.Logger.InfoContext(ctx, "purged", "object", in.Object.String(), "deleted", report.Deleted, "unreadable", len(report.Unreadable))
	return endLease(ctx, &w.config, in)
}

// deleteAll deletes what is left of the files and returns what there is to report
// of it; nothing if there was nothing to purge.
func (w *purger) deleteAll(ctx context.Context, in commands.Purge, held *lease) (*deletedReport, error) {
	run, err := w.begin(ctx, in, held)
	if errors.Is(err, commands.ErrPurgeOver) {
		return nil, endLease(ctx, &w.config, in)
	}
	if err != nil {
		return nil, err
	}
	if !run.Dropped.Purging {
		report, err := run.scan(ctx, w.config.slice/3)
		if err != nil {
			return nil, fmt.Errorf("look at what %s reaches: %w", in.Object, err)
		}
		err = w.config.Commands.StartPurge(ctx, in, report)
		if errors.Is(err, commands.ErrPurgeOver) {
			return nil, endLease(ctx, &w.config, in) // adopted while it was looked at
		}
		if err != nil {
			return nil, fmt.Errorf("start the purge of %s: %w", in.Object, err)
		}
	}
	if err := run.delete(ctx); err != nil {
		return nil, fmt.Errorf("purge %s: %w", in.Object, err)
	}
	report := deletedReport{Deleted: run.deleted, Unreadable: run.unreadable}
	if err := held.settle(ctx, report); err != nil {
		return nil, fmt.Errorf("purge %s: %w", in.Object, err)
	}
	return &report, nil
}

// begin finds out what is to be purged.
func (w *purger) begin(ctx context.Context, in commands.Purge, held *lease) (*purgeRun, error) {
	p, err := w.config.Commands.ResolvePurge(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("resolve the purge of %s: %w", in.Object, err)
	}
	run := &purgeRun{Purging: p, documents: w.config.Documents, pace: w.pace, lease: held}
	queues, err := projections.NewDetails(w.config.Pool).Queues(ctx, in.Warehouse)
	if err != nil {
		return nil, fmt.Errorf("purge %s: %w", in.Object, err)
	}
	if rate := queues[catalog.QueuePurge].FilesPerSecond; rate != nil {
		run.slow = newPace(w.config.Clock, int(*rate))
	}
	if err := run.open(ctx); err != nil {
		return nil, fmt.Errorf("purge %s: %w", in.Object, err)
	}
	return run, nil
}
