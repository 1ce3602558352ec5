package workers

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
)

var (
	//go:embed sql/task_log_due.sql
	taskLogDueSQL string
	//go:embed sql/task_log.sql
	taskLogSQL string
	//go:embed sql/forget_jobs.sql
	forgetJobsSQL string
)

const (
	// keepTasks is how long a finished task can be looked at unless its project says
	// otherwise.
	keepTasks = 90 * 24 * time.Hour
	// keepJobs is that for the server's own jobs, keepFailed for those of them that
	// used up their attempts.
	keepJobs   = time.Hour
	keepFailed = 7 * 24 * time.Hour
)

// taskLogArgs name the project whose finished tasks are forgotten.
type taskLogArgs struct {
	Project ids.ID `json:"project"`
}

// Kind implements river.JobArgs. It is stored: it stays.
func (taskLogArgs) Kind() string { return "task_log_cleanup" }

// taskLog forgets finished tasks.
type taskLog struct {
	river.WorkerDefaults[taskLogArgs]
	pool *pgxpool.Pool
}

// Work implements river.Worker.
func (l *taskLog) Work(ctx context.Context, job *river.Job[taskLogArgs]) error {
	return pages(func() (int64, error) {
		tag, err := l.pool.Exec(ctx, taskLogSQL, [16]byte(job.Args.Project), taskLogArgs{}.Kind(), [16]byte(catalog.DefaultProject),
			int64(keepTasks.Seconds()), sweepPage)
		if err != nil {
			return 0, fmt.Errorf("forget finished tasks: %w", err)
		}
		advance(ctx, tag.RowsAffected())
		return tag.RowsAffected(), nil
	})
}

// forget removes the server's own jobs that ended, and asks for the clean-ups of
// projects that are due.
func forget(ctx context.Context, pool *pgxpool.Pool) error {
	if err := pages(func() (int64, error) {
		tag, err := pool.Exec(ctx, forgetJobsSQL, keepJobs.Microseconds(), keepFailed.Microseconds(), taskLogArgs{}.Kind(), sweepPage)
		return tag.RowsAffected(), err
	}); err != nil {
		return fmt.Errorf("forget jobs that ended: %w", err)
	}
	if _, err := pool.Exec(ctx, taskLogDueSQL, taskLogArgs{}.Kind(), queueUpkeep, periodicAttempts); err != nil {
		return fmt.Errorf("ask for clean-ups of finished tasks: %w", err)
	}
	return nil
}

// pages repeats a removal until a page is not full.
func pages(page func() (int64, error)) error {
	for {
		n, err := page()
		if err != nil || n < sweepPage {
			return err
		}
	}
}
