package projections

import (
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
)

// deriveEnd says what an event of the end of a dropped table or view does. An
// event of another kind has no changes here.
func deriveEnd(r *eventstore.Record, at place, event catalog.Event) (changes []change, ok bool) {
	switch e := event.(type) {
	case *catalog.TablePurgeStarted:
		return at.purging(r, e.KeepsData), true
	case *catalog.ViewPurgeStarted:
		return at.purging(r, e.KeepsData), true
	case *catalog.TablePurged:
		return at.ended(r, e.ClaimsReleased), true
	case *catalog.ViewPurged:
		return at.ended(r, e.ClaimsReleased), true
	case *catalog.TablePurgeCancelled:
		return at.ended(r, e.ClaimsReleased), true
	case *catalog.ViewPurgeCancelled:
		return at.ended(r, e.ClaimsReleased), true
	case *catalog.TableSuperseded:
		return at.ended(r, e.ClaimsReleased), true
	case *catalog.ViewSuperseded:
		return at.ended(r, e.ClaimsReleased), true
	}
	return nil, false
}

// purging notes what the metadata said when it was there: it goes before the end.
func (p place) purging(r *eventstore.Record, keepsData bool) []change {
	return []change{{
		table: droppedTable, action: updateRow, key: p.key(r.Stream), order: p.order(string(r.Stream[:])),
		set: []string{"purging", "keeps_data", "stream_version"}, values: []any{true, keepsData, r.Version},
	}}
}

// ended forgets a dropped object and frees its locations.
func (p place) ended(r *eventstore.Record, released []string) []change {
	gone := change{table: droppedTable, action: deleteRow, key: p.key(r.Stream), order: p.order(string(r.Stream[:]))}
	return append([]change{gone}, p.claims(r, nil, released, nil)...)
}
