package workers

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
)

//go:embed sql/enqueue.sql
var enqueueSQL string

// rankJobs comes after all read models, right before the seal: a new row that
// nobody else knows waits for nothing.
const rankJobs = eventstore.RankModels + 9

// Enqueuer inserts jobs in the commits that ask for them. It is no read model,
// though it hangs on where they do: replay leaves it out.
type Enqueuer struct{}

// Project implements [eventstore.Projector]. A commit without a drop costs a
// look at the types of its events.
func (Enqueuer) Project(c *eventstore.Commit, w *eventstore.Writes) error {
	for i := range c.Records {
		r := &c.Records[i]
		if r.Type != catalog.TypeTableDropped && r.Type != catalog.TypeViewDropped {
			continue
		}
		event, err := catalog.Decode(r.Type, r.DataSchema, r.Data)
		if err != nil {
			return fmt.Errorf("enqueue for record %d: %w", i, err)
		}
		if !purges(event) {
			continue
		}
		args, err := json.Marshal(PurgeArgs{Warehouse: r.Warehouse, Object: r.Stream, Drop: r.ID})
		if err != nil {
			return fmt.Errorf("enqueue for record %d: %w", i, err)
		}
		w.Add(eventstore.Write{
			Rank: rankJobs, Key: r.ID.String(), SQL: enqueueSQL, Rows: -1,
			Args: []any{string(args), PurgeArgs{}.Kind(), queuePurge},
		})
	}
	return nil
}

// purges reports whether a drop wants the files gone at once.
func purges(event catalog.Event) bool {
	switch e := event.(type) {
	case *catalog.TableDropped:
		return e.PurgeRequested && e.ExpiresAtMS == nil
	case *catalog.ViewDropped:
		return e.PurgeRequested && e.ExpiresAtMS == nil
	}
	return false
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
