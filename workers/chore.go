package workers

import (
	"context"
	"fmt"
	"time"

	"github.com/riverqueue/river"
)

// Chore is work that comes again by itself and that one of many instances does:
// what there is to do it finds in the database, and doing it twice, or breaking it
// off, does no harm.
type Chore struct {
	Name  string // stored: it stays
	Every time.Duration
	Do    func(ctx context.Context) error
}

// choreArgs name a chore.
type choreArgs struct {
	Name string `json:"name"`
}

// Kind implements river.JobArgs. It is stored: it stays.
func (choreArgs) Kind() string { return "chore" }

// chores does them.
type chores struct {
	river.WorkerDefaults[choreArgs]
	by map[string]Chore
}

func newChores(list []Chore) *chores {
	c := &chores{by: make(map[string]Chore, len(list))}
	for _, chore := range list {
		c.by[chore.Name] = chore
	}
	return c
}

// Work implements river.Worker.
func (c *chores) Work(ctx context.Context, job *river.Job[choreArgs]) error {
	chore, known := c.by[job.Args.Name]
	if !known {
		return river.JobCancel(fmt.Errorf("this version does not know the chore %q", job.Args.Name))
	}
	if err := chore.Do(ctx); err != nil {
		return fmt.Errorf("%s: %w", chore.Name, err)
	}
	return nil
}
