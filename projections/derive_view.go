package projections

import (
	"time"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
)

// deriveView says what an event of a view does to the rows of the inline read
// models. A view stands beside the tables of its namespace, and its view-uuid
// beside their table-uuids. An event of another entity has no changes here.
func deriveView(r *eventstore.Record, at place, event catalog.Event) (changes []change, ok bool) {
	switch e := event.(type) {
	case *catalog.ViewCreated:
		return append([]change{at.tabular(r, &e.ViewName, e.ViewUUID)}, at.claims(r, e.Claims, nil)...), true
	case *catalog.ViewCommitted:
		return at.claims(r, e.ClaimsAdded, e.ClaimsRemoved), true
	case *catalog.ViewRenamed:
		return at.renamed(r, &e.From, &e.To), true
	case *catalog.ViewRegistered:
		return append([]change{at.tabular(r, &e.ViewName, e.ViewUUID)}, at.claims(r, e.Claims, nil)...), true
	case *catalog.ViewDropped:
		list := []change{at.nameGone(r, &e.ViewName)}
		if e.ExpiresAtMS != nil { // it may come back; the rest is history
			list = append(list, change{
				table: droppedTable, key: at.key(r.Stream), order: at.order(string(r.Stream[:])),
				values: []any{
					r.StreamType, uuid(e.NamespaceID), []string(e.Namespace), e.Name, uuid(e.ViewUUID), e.MetadataLocation,
					false, r.Time.UTC(), time.UnixMilli(*e.ExpiresAtMS).UTC(), uuid(r.ID), r.Version,
				},
			})
		}
		return append(list, at.claims(r, nil, e.ClaimsReleased)...), true
	}
	return nil, false
}
