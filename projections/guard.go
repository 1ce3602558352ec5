package projections

import (
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// deriveGuards says what an event does to guards: to that of its stream, and
// those of a tree that it speaks for. Commits do the same by the streams that they
// name; comparing the two finds a command that names them wrongly. A drop keeps
// the pointer: it is the last state's.
func deriveGuards(r *eventstore.Record, event catalog.Event) []change {
	g := change{
		table: streamTable, action: updateRow, key: []any{uuid(r.Stream)},
		set: []string{"version", "mark"}, values: []any{r.Version, uuid(r.ID)},
	}
	pointer, s := guardState(event)
	if r.Version == 1 { // a gap that an operator accepted lies behind the first event
		g.action, g.set = insertRow, nil
		g.values = []any{r.StreamType, r.Version, pointer, uuid(r.ID), s.dormant, s.closed}
		return []change{g}
	}
	if pointer != nil {
		g.set, g.values = append(g.set, "pointer"), append(g.values, pointer)
	}
	if s.moves {
		g.set, g.values = append(g.set, "dormant", "closed"), append(g.values, s.dormant, s.closed)
	}
	return append([]change{g}, treeGuards(r, event)...)
}

// lifeState is what an event makes of the life of its object.
type lifeState struct{ moves, dormant, closed bool }

var (
	stateOpen    = lifeState{moves: true}
	stateDormant = lifeState{moves: true, dormant: true}
	stateClosed  = lifeState{moves: true, closed: true}
)

// droppedState is dormant while something is still to come, else closed.
func droppedState(pending bool) lifeState {
	if pending {
		return stateDormant
	}
	return stateClosed
}

// guardState is the pointer that an event sets, nil for none, and what it makes
// of the life of its object.
func guardState(event catalog.Event) (pointer any, s lifeState) {
	if file := fileOf(event); file != nil {
		pointer = file.MetadataLocation
	}
	switch e := event.(type) {
	case *catalog.ViewDropped:
		s = droppedState(e.Pending())
	case *catalog.TableDropped:
		s = droppedState(e.Pending())
	case *catalog.NamespaceDropped:
		s = droppedState(e.Soft != nil)
	case *catalog.TableExpired:
		s = droppedState(e.PurgeRequested)
	case *catalog.ViewExpired:
		s = droppedState(e.PurgeRequested)
	case *catalog.TableUndropped, *catalog.ViewUndropped, *catalog.NamespaceUndropped:
		s = stateOpen
	case *catalog.TablePurged, *catalog.TablePurgeCancelled, *catalog.TableSuperseded, *catalog.ViewPurged, *catalog.ViewPurgeCancelled, *catalog.ViewSuperseded,
		*catalog.NamespaceExpired, *catalog.WarehouseDeleted, *catalog.ProjectDeleted, *catalog.DestinationRemoved, *catalog.CleanUpFinished:
		s = stateClosed
	}
	return pointer, s
}

// treeGuards are the guards of the tree that an event of its root speaks for: they
// get its mark and keep their version, for nothing is added to their streams.
func treeGuards(r *eventstore.Record, event catalog.Event) (list []change) {
	shift := func(id ids.ID, s lifeState) {
		if id != r.Stream {
			list = append(list, change{
				table: streamTable, action: updateRow, key: []any{uuid(id)},
				set: []string{"mark", "dormant", "closed"}, values: []any{uuid(r.ID), s.dormant, s.closed},
			})
		}
	}
	tree := func(t *catalog.Tree, s lifeState) {
		for i := range t.Namespaces {
			shift(t.Namespaces[i].ID, s)
		}
		for i := range t.Tabulars {
			shift(t.Tabulars[i].ID, s)
		}
	}
	switch e := event.(type) {
	case *catalog.NamespaceDropped:
		if e.Soft != nil {
			tree(&e.Soft.Tree, stateDormant)
		}
	case *catalog.NamespaceUndropped:
		tree(&e.Tree, stateOpen)
	case *catalog.NamespaceExpired:
		for _, id := range e.Namespaces {
			shift(id, stateClosed)
		}
		for i := range e.Tabulars {
			shift(e.Tabulars[i].ID, droppedState(e.PurgeRequested))
		}
	}
	return list
}

// documentRows are what an event says about the document that its table or view
// stands at. They are compared with nothing in the database; verify reads the
// files: those of the living, of what can come back, and of what waits to be
// purged.
func documentRows(r *eventstore.Record, event catalog.Event) []change {
	gone := func(object ids.ID) change {
		return change{table: verifyTable, action: deleteRow, key: []any{uuid(object)}}
	}
	switch e := event.(type) {
	case *catalog.NamespaceExpired:
		var list []change
		for i := range e.Tabulars {
			if !e.PurgeRequested {
				list = append(list, gone(e.Tabulars[i].ID))
			}
		}
		return list
	default:
		if ends(event) {
			return []change{gone(r.Stream)}
		}
	}
	file, first := fileOf(event), opens(event)
	if file == nil {
		return nil
	}
	c := change{table: verifyTable, action: updateRow, key: []any{uuid(r.Stream)}}
	c.values = []any{file.MetadataLocation, hexText(file.SHA256[:]), file.Size, uuid(r.ID)}
	c.set = []string{"location", "sha256", "size", "event_id"}
	if first {
		c.action, c.set = insertRow, nil
		c.values = append([]any{uuid(r.Warehouse)}, c.values...)
	}
	return []change{c}
}

// ends reports whether an event of a table or view says that nobody needs its
// document any more.
func ends(event catalog.Event) bool {
	switch e := event.(type) {
	case *catalog.TableDropped:
		return !e.Pending()
	case *catalog.ViewDropped:
		return !e.Pending()
	case *catalog.TableExpired:
		return !e.PurgeRequested
	case *catalog.ViewExpired:
		return !e.PurgeRequested
	case *catalog.TablePurgeCancelled:
		return !e.Started
	case *catalog.ViewPurgeCancelled:
		return !e.Started
	case *catalog.TablePurgeStarted, *catalog.ViewPurgeStarted, *catalog.TableSuperseded, *catalog.ViewSuperseded:
		return true
	}
	return false
}

// verifyTable exists during a verification only.
var verifyTable = &table{
	schema: "rm_rebuild", name: "document", keys: 1,
	columns: []column{
		{"object_id", "uuid"}, {"warehouse_id", "uuid"}, {"location", "text"}, {"sha256", "text"}, {"size", "bigint"}, {"event_id", "uuid"},
	},
}
