package workers

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed sql/figures.sql
var figuresSQL string

// Figures are what a queue stands at.
type Figures struct {
	Waiting int64         // jobs that are due, or to be tried again
	Oldest  time.Duration // since the first of them was due, or made, if it failed
	Running int64
	Failed  int64 // jobs that used up their attempts and are still listed
}

// Figures returns them by queue; the server's own jobs are in a queue by the name
// of their kind. A queue without jobs may be missing.
func (t *Tasks) Figures(ctx context.Context) (map[string]Figures, error) {
	rows, err := t.pool.Query(ctx, figuresSQL)
	if err != nil {
		return nil, fmt.Errorf("count jobs: %w", err)
	}
	queues := map[string]Figures{}
	for _, queue := range taskQueues {
		queues[queue] = Figures{} // a figure that comes and goes can't be watched
	}
	var kind string
	var f Figures
	var seconds float64
	_, err = pgx.ForEachRow(rows, []any{&kind, &f.Waiting, &seconds, &f.Running, &f.Failed}, func() error {
		f.Oldest = time.Duration(seconds * float64(time.Second))
		queue, task := taskQueues[kind]
		if !task {
			queue = kind
		}
		queues[queue] = f
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count jobs: %w", err)
	}
	return queues, nil
}
