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
	n := livingBy(e, changes)
	switch {
	case n == 0:
	case e.StreamType == string(catalog.EntityView):
		s.count(e, e.Warehouse, 0, n)
	default:
		s.count(e, e.Warehouse, n, 0)
	}
}

// livingBy is by how many the living tables or views become more. An erased
// payload makes no changes; what its type and version say is enough.
func livingBy(e *eventstore.Entry, changes []change) int64 {
	if e.Erased {
		switch {
		case !isTabular(e):
			return 0
		case e.Version == 1:
			return 1
		case strings.HasSuffix(e.Type, ".dropped"):
			return -1
		}
		return 0
	}
	var n int64
	for i := range changes {
		if changes[i].table != tabularTable {
			continue
		}
		switch changes[i].action {
		case insertRow:
			n++
		case deleteRow:
			n--
		case updateRow:
		}
	}
	return n
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
