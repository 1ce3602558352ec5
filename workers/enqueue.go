package workers

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"time"

	"github.com/riverqueue/river"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
)

//go:embed sql/enqueue.sql
var enqueueSQL string

//go:embed sql/enqueue_at.sql
var enqueueAtSQL string

// rankJobs comes after all read models, right before the seal: a new row that
// nobody else knows waits for nothing.
const rankJobs = eventstore.RankModels + 9

// Enqueuer inserts jobs in the commits that ask for them. It is no read model,
// though it hangs on where they do: replay leaves it out.
type Enqueuer struct{}

// Project implements [eventstore.Projector]. A commit that ends nothing costs a
// look at the types of its events.
func (Enqueuer) Project(c *eventstore.Commit, w *eventstore.Writes) error {
	for i := range c.Records {
		r := &c.Records[i]
		switch r.Type {
		case catalog.TypeTableDropped, catalog.TypeViewDropped, catalog.TypeNamespaceDropped,
			catalog.TypeTableExpired, catalog.TypeViewExpired, catalog.TypeNamespaceExpired:
		default:
			continue
		}
		event, err := catalog.Decode(r.Type, r.DataSchema, r.Data)
		if err != nil {
			return fmt.Errorf("enqueue for record %d: %w", i, err)
		}
		for _, job := range askedBy(r, event) {
			args, err := json.Marshal(job.args)
			if err != nil {
				return fmt.Errorf("enqueue for record %d: %w", i, err)
			}
			write := eventstore.Write{
				Rank: rankJobs, Key: r.ID.String(), SQL: enqueueSQL, Rows: -1,
				Args: []any{string(args), job.args.Kind(), job.queue},
			}
			if !job.at.IsZero() {
				write.SQL, write.Args = enqueueAtSQL, append(write.Args, job.at)
			}
			w.Add(write)
		}
	}
	return nil
}

// newJob is a job that a commit asks for.
type newJob struct {
	args  river.JobArgs
	queue string
	at    time.Time // not before; zero for at once
}

// askedBy are the jobs that an event asks for: a soft drop the expiry, a drop and
// an expiry that want the files gone their purge.
func askedBy(r *eventstore.Record, event catalog.Event) (jobs []newJob) {
	expiry := func(untilMS int64) {
		jobs = append(jobs, newJob{
			args: ExpireArgs{Warehouse: r.Warehouse, Object: r.Stream, Drop: r.ID}, queue: queueUpkeep, at: time.UnixMilli(untilMS).UTC(),
		})
	}
	purge := func(object, drop ids.ID) {
		jobs = append(jobs, newJob{args: PurgeArgs{Warehouse: r.Warehouse, Object: object, Drop: drop}, queue: queuePurge})
	}
	dropped := func(purges bool, expiresMS *int64) {
		switch {
		case expiresMS != nil:
			expiry(*expiresMS)
		case purges:
			purge(r.Stream, r.ID)
		}
	}
	switch e := event.(type) {
	case *catalog.TableDropped:
		dropped(e.PurgeRequested, e.ExpiresAtMS)
	case *catalog.ViewDropped:
		dropped(e.PurgeRequested, e.ExpiresAtMS)
	case *catalog.NamespaceDropped:
		if e.Soft != nil {
			expiry(e.Soft.ExpiresAtMS)
		}
	case *catalog.TableExpired:
		if e.PurgeRequested {
			purge(r.Stream, r.Causation)
		}
	case *catalog.ViewExpired:
		if e.PurgeRequested {
			purge(r.Stream, r.Causation)
		}
	case *catalog.NamespaceExpired:
		for i := range e.Tabulars {
			if e.PurgeRequested {
				purge(e.Tabulars[i].ID, r.Causation)
			}
		}
	}
	return jobs
}

// PurgeArgs name the files that a job deletes: those of an object, for one drop
// of it.
type PurgeArgs struct {
	Warehouse ids.ID `json:"warehouse"`
	Object    ids.ID `json:"object"`
	Drop      ids.ID `json:"drop"` // id of the event
}

// Kind implements river.JobArgs. It is stored: it stays.
func (PurgeArgs) Kind() string { return "purge" }

// ExpireArgs name what a job ends when the time to come back is over: a table, a
// view, or a namespace with all that was dropped with it, for one drop of it.
type ExpireArgs struct {
	Warehouse ids.ID `json:"warehouse"`
	Object    ids.ID `json:"object"`
	Drop      ids.ID `json:"drop"` // id of the event
}

// Kind implements river.JobArgs. It is stored: it stays.
func (ExpireArgs) Kind() string { return "expire" }
