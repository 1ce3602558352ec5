package workers

import (
	"context"
	"errors"
	"fmt"

	"github.com/riverqueue/river"

	"github.com/icecore-catalog/icecore/commands"
)

// expirer ends what was dropped softly when the time to come back is over.
type expirer struct {
	river.WorkerDefaults[ExpireArgs]
	config Config
}

// Work implements river.Worker. What came back or ended otherwise is left alone.
func (w *expirer) Work(ctx context.Context, job *river.Job[ExpireArgs]) error {
	err := w.config.Commands.Expire(ctx, commands.Expiry{Warehouse: job.Args.Warehouse, Object: job.Args.Object, Drop: job.Args.Drop})
	var notYet *commands.NotYetError
	switch {
	case errors.Is(err, commands.ErrExpiryOver):
		return nil
	case errors.As(err, &notYet): // the database's clock is ahead of ours
		return river.JobSnooze(notYet.Left)
	case err != nil:
		return fmt.Errorf("expire %s: %w", job.Args.Object, err)
	}
	w.config.Logger.InfoContext(ctx, "expired", "object", job.Args.Object.String())
	return nil
}
