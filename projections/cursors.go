package projections

import (
	_ "embed"
	"fmt"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
)

var (
	//go:embed sql/cursor_create.sql
	cursorCreateSQL string
	//go:embed sql/cursor_place.sql
	cursorPlaceSQL string
	//go:embed sql/cursor_try.sql
	cursorTrySQL string
	//go:embed sql/cursor_pass.sql
	cursorPassSQL string
	//go:embed sql/cursor_park.sql
	cursorParkSQL string
	//go:embed sql/cursor_retry.sql
	cursorRetrySQL string
	//go:embed sql/cursor_remove.sql
	cursorRemoveSQL string
	//go:embed sql/cursor_forget.sql
	cursorForgetSQL string
)

// rankCursors comes after all read models: a run that moves a cursor holds
// nothing else that a commit waits for.
const rankCursors = eventstore.RankModels + 2

// cursors makes, moves and removes the cursor of a destination in the commit
// that decrees it, so that none is without one and a place that was decreed is
// never overtaken by a run that has the old one. Cursors are operational: replay
// leaves them alone.
type cursors struct{}

// Project implements [eventstore.Projector].
func (cursors) Project(c *eventstore.Commit, w *eventstore.Writes) error {
	for i := range c.Records {
		record := &c.Records[i]
		if catalog.EntityOf(record.Type) != catalog.EntityDestination {
			continue
		}
		event, err := catalog.Decode(record.Type, record.DataSchema, record.Data)
		if err != nil {
			return fmt.Errorf("project record %d: %w", i, err)
		}
		id := uuid(record.Stream)
		// A missing row is healed by the relay (publish.heal), so that only
		// decisions about what stands in it demand one.
		add := func(sql string, rows int, args ...any) {
			w.Add(eventstore.Write{Rank: rankCursors, Key: string(record.Stream[:]), SQL: sql, Rows: rows, Args: args})
		}
		switch e := event.(type) {
		case *catalog.DestinationCreated:
			add(cursorCreateSQL, 1, id, e.Start.Epoch, e.Start.After)
		case *catalog.DestinationReplayed:
			add(cursorPlaceSQL, 1, id, e.Start.Epoch, e.Start.After)
		case *catalog.DestinationUpdated, *catalog.DestinationResumed:
			add(cursorTrySQL, -1, id)
		case *catalog.DestinationSkipped:
			add(cursorPassSQL, 1, id, e.Position, e.Epoch)
			add(cursorParkSQL, 1, id, e.Position, uuid(e.Event), record.Time.UTC())
		case *catalog.DestinationRetried:
			add(cursorRetrySQL, 1, id, e.Position, uuid(e.Event))
		case *catalog.DestinationRemoved:
			add(cursorForgetSQL, -1, id)
			add(cursorRemoveSQL, -1, id)
		}
	}
	return nil
}
