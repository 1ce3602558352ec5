package projections

import (
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
)

// deriveView says what an event of a view does to the rows of the inline read
// models. A view stands beside the tables of its namespace, and its view-uuid
// beside their table-uuids. An event of another entity has no changes here.
func deriveView(r *eventstore.Record, at place, event catalog.Event) (changes []change, ok bool) {
	switch e := event.(type) {
	case *catalog.ViewCreated:
		return append([]change{at.tabular(r, &e.ViewName, e.ViewUUID)}, at.claims(r, e.Claims, nil, e.Vacant)...), true
	case *catalog.ViewCommitted:
		return at.claims(r, e.ClaimsAdded, e.ClaimsRemoved, e.Vacant), true
	case *catalog.ViewRenamed:
		return at.renamed(r, &e.From, &e.To), true
	case *catalog.ViewRegistered:
		return append([]change{at.tabular(r, &e.ViewName, e.ViewUUID)}, at.claims(r, e.Claims, nil, nil)...), true
	case *catalog.ViewDropped:
		list := []change{at.nameGone(r, &e.ViewName)}
		if e.Pending() {
			list = append(list, at.pending(r, &e.ViewName, e.ViewUUID, e.MetadataLocation, e.PurgeRequested, e.ExpiresAtMS))
		}
		return append(list, at.claims(r, nil, e.ClaimsReleased, nil)...), true
	}
	return nil, false
}
