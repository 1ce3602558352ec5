package projections

import (
	"strings"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// statisticsHour is how long one row of the statistics of a warehouse counts.
const statisticsHour = time.Hour

// counted is what a warehouse held at the end of an hour, or holds now.
type counted struct {
	until         time.Time // end of the hour, by the log's own time
	tables, views int64
	updatedAt     time.Time // log time of the last change
	position      int64     // of the event that made it
}

// statistics folds the log into the hours of each warehouse. The last row of a
// warehouse is what it holds now.
type statistics struct {
	rows map[ids.ID][]counted
	gone map[ids.ID]bool // warehouses that were deleted
}

func newStatistics() *statistics {
	return &statistics{rows: map[ids.ID][]counted{}, gone: map[ids.ID]bool{}}
}

// add folds one event with the changes that it makes to the inline read models.
func (s *statistics) add(e *eventstore.Entry, changes []change) {
	switch e.Type {
	case catalog.TypeWarehouseCreated:
		delete(s.gone, e.Stream)
		s.count(e, e.Stream, 0, 0)
		return
	case catalog.TypeWarehouseDeleted:
		delete(s.rows, e.Stream)
		s.gone[e.Stream] = true
		return
	}
	if tables, views := livingBy(e, changes); tables != 0 || views != 0 {
		s.count(e, e.Warehouse, tables, views)
	}
}

// livingBy is by how many the living tables and views become more. An erased
// payload makes no changes; what its type and version say is enough, but for the
// event of a whole tree, whose numbers were in it.
func livingBy(e *eventstore.Entry, changes []change) (tables, views int64) {
	add := func(kind string, n int64) {
		if kind == string(catalog.EntityView) {
			views += n
		} else {
			tables += n
		}
	}
	if e.Erased {
		switch {
		case !isTabular(e):
		case e.Version == 1, strings.HasSuffix(e.Type, ".undropped"):
			add(e.StreamType, 1)
		case strings.HasSuffix(e.Type, ".dropped"):
			add(e.StreamType, -1)
		}
		return tables, views
	}
	for i := range changes {
		c := &changes[i]
		switch {
		case c.table == tabularTable && c.action == insertRow:
			add(c.values[1].(string), 1)
		case c.table == tabularTable && c.action == deleteRow && isTabular(e):
			add(e.StreamType, -1)
		case c.table == droppedTable && c.action == insertRow && !isTabular(e): // of a tree
			add(c.values[0].(string), -1)
		}
	}
	return tables, views
}

func isTabular(e *eventstore.Entry) bool {
	return e.StreamType == string(catalog.EntityTable) || e.StreamType == string(catalog.EntityView)
}

func (s *statistics) count(e *eventstore.Entry, warehouse ids.ID, tables, views int64) {
	at := e.LogTime.UTC()
	until := at.Truncate(statisticsHour).Add(statisticsHour)
	list := s.rows[warehouse]
	var row counted
	if n := len(list); n > 0 {
		if row = list[n-1]; row.until.Equal(until) {
			list = list[:n-1]
		}
	}
	s.rows[warehouse] = append(list, counted{until, row.tables + tables, row.views + views, at, e.Position})
}
