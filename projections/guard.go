package projections

import (
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
)

// deriveGuard says what an event does to its stream's guard. Commits do the
// same by the streams that they name; comparing the two finds a command that
// names them wrongly. A drop keeps the pointer: it is the last state's.
func deriveGuard(r *eventstore.Record, event catalog.Event) change {
	g := change{
		table: streamTable, action: updateRow, key: []any{uuid(r.Stream)},
		set: []string{"version", "mark"}, values: []any{r.Version, uuid(r.ID)},
	}
	var pointer any
	dormant, closed := false, false
	switch e := event.(type) {
	case *catalog.TableCreated:
		pointer = e.MetadataLocation
	case *catalog.TableCommitted:
		pointer = e.MetadataLocation
	case *catalog.TableRegistered:
		pointer = e.MetadataLocation
	case *catalog.ViewCreated:
		pointer = e.MetadataLocation
	case *catalog.ViewCommitted:
		pointer = e.MetadataLocation
	case *catalog.ViewRegistered:
		pointer = e.MetadataLocation
	case *catalog.ViewDropped:
		dormant, closed = e.Pending(), !e.Pending()
	case *catalog.TableDropped:
		dormant, closed = e.Pending(), !e.Pending()
	case *catalog.TablePurged, *catalog.TablePurgeCancelled, *catalog.TableSuperseded, *catalog.ViewPurgeCancelled, *catalog.ViewPurged, *catalog.ViewSuperseded,
		*catalog.NamespaceDropped, *catalog.WarehouseDeleted, *catalog.ProjectDeleted, *catalog.DestinationRemoved, *catalog.CleanUpFinished:
		closed = true
	}
	if r.Version == 1 { // a gap that an operator accepted lies behind the first event
		g.action, g.set = insertRow, nil
		g.values = []any{r.StreamType, r.Version, pointer, uuid(r.ID), dormant, closed}
		return g
	}
	if pointer != nil {
		g.set, g.values = append(g.set, "pointer"), append(g.values, pointer)
	}
	if dormant || closed {
		g.set, g.values = append(g.set, "dormant", "closed"), append(g.values, dormant, closed)
	}
	return g
}

// documentRow is what an event says about the document that its table or view
// stands at. It is compared with nothing in the database; verify reads the files.
func documentRow(r *eventstore.Record, event catalog.Event) (change, bool) {
	switch event.(type) {
	case *catalog.TableDropped, *catalog.ViewDropped:
		return change{table: verifyTable, action: deleteRow, key: []any{uuid(r.Stream)}}, true
	}
	file, first := fileOf(event), opens(event)
	if file == nil {
		return change{}, false
	}
	c := change{table: verifyTable, action: updateRow, key: []any{uuid(r.Stream)}}
	c.values = []any{file.MetadataLocation, hexText(file.SHA256[:]), file.Size, uuid(r.ID)}
	c.set = []string{"location", "sha256", "size", "event_id"}
	if first {
		c.action, c.set = insertRow, nil
		c.values = append([]any{uuid(r.Warehouse)}, c.values...)
	}
	return c, true
}

// verifyTable exists during a verification only.
var verifyTable = &table{
	schema: "rm_rebuild", name: "document", keys: 1,
	columns: []column{
		{"object_id", "uuid"}, {"warehouse_id", "uuid"}, {"location", "text"}, {"sha256", "text"}, {"size", "bigint"}, {"event_id", "uuid"},
	},
}
