package workers

import (
	"context"
	"fmt"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/icecore-catalog/icecore/internal/clock"
)

// backOff is when a job is tried again that failed: later each time, as River
// does it, and at most a quarter of an hour later, so that what a store was away
// for goes on soon after it is back. Snoozes are no failures.
type backOff struct{ clock clock.Clock }

const longestPause = 15 * time.Minute

// NextRetry implements [river.ClientRetryPolicy].
func (b backOff) NextRetry(job *rivertype.JobRow) time.Time {
	failures := min(len(job.Errors)+1, 6)
	pause := time.Second
	for range 4 {
		pause *= time.Duration(failures)
	}
	pause = min(pause, longestPause)
	// Jobs that failed together are spread by a tenth, by their numbers.
	return b.clock.Now().Add(pause + pause/10*time.Duration(job.ID%10)/10)
}

// alarms tell of a job that will not be tried again, once.
type alarms struct{ workers *Workers }

// HandleError implements [river.ErrorHandler].
func (a alarms) HandleError(ctx context.Context, job *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	if job.Attempt >= job.MaxAttempts {
		a.workers.alarm(ctx, job.ID, job.Kind, err.Error())
	}
	return nil
}

// HandlePanic implements [river.ErrorHandler].
func (a alarms) HandlePanic(ctx context.Context, job *rivertype.JobRow, value any, _ string) *river.ErrorHandlerResult {
	return a.HandleError(ctx, job, fmt.Errorf("panic: %v", value))
}

// alarm tells that a job has used up its attempts. It stays in the list, and in
// the metric, until somebody runs it again or it is forgotten.
func (w *Workers) alarm(ctx context.Context, id int64, kind, reason string) {
	w.config.Logger.ErrorContext(ctx, "a job has used up its attempts: see icecore task list --status failed", "task", TaskID(id).String(), "kind", kind, "error", reason)
}
