package projections

import (
	"encoding/json"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// deriveSoftDelete says what the events do by which what was dropped softly comes
// back or expires. An event of another kind has no changes here.
func deriveSoftDelete(r *eventstore.Record, at place, event catalog.Event) (changes []change, ok bool) {
	switch e := event.(type) {
	case *catalog.TableUndropped:
		return at.undropped(r, &e.Undropped), true
	case *catalog.ViewUndropped:
		return at.undropped(r, &e.Undropped), true
	case *catalog.TableExpired:
		return at.expired(r, &e.Expired), true
	case *catalog.ViewExpired:
		return at.expired(r, &e.Expired), true
	case *catalog.NamespaceUndropped:
		return at.treeUndropped(r, e), true
	case *catalog.NamespaceExpired:
		return at.treeExpired(r, e), true
	}
	return nil, false
}

// droppedRow is a change of a dropped table or view.
func (p place) droppedRow(object ids.ID) change {
	return change{table: droppedTable, key: p.key(object), order: p.order(string(object[:]))}
}

// named is the row of a table or view that stands somewhere from now on.
func (p place) named(version int64, object ids.ID, kind catalog.Entity, name *catalog.TableName, uid ids.ID) change {
	folded := catalog.FoldName(name.Name)
	return change{
		table: tabularTable, key: p.key(object), order: orderKey(folded, p.warehouse, p.branch, name.NamespaceID),
		values: []any{uuid(name.NamespaceID), string(kind), name.Name, folded, uuid(uid), false, version},
	}
}

func (p place) undropped(r *eventstore.Record, e *catalog.Undropped) []change {
	gone := p.droppedRow(r.Stream)
	gone.action = deleteRow
	list := []change{gone, p.named(r.Version, r.Stream, catalog.Entity(r.StreamType), &e.To, e.UUID)}
	if e.From.NamespaceID != e.To.NamespaceID {
		list = append(list, parentChanged(r))
	}
	return list
}

// parentChanged moves the mark of the project's rights: they are inherited, and
// another parent changes what a cached decision rests on.
func parentChanged(r *eventstore.Record) change {
	return change{
		table: projectTable, action: updateRow, key: []any{uuid(r.Project)}, order: orderKey("", r.Project),
		set: []string{"authz_mark"}, values: []any{uuid(r.ID)},
	}
}

func (p place) expired(r *eventstore.Record, e *catalog.Expired) []change {
	return p.timeOver(r, r.Stream, e.PurgeRequested, e.ClaimsReleased)
}

// timeOver turns an object that could come back into one whose files wait to be
// deleted, or forgets it.
func (p place) timeOver(r *eventstore.Record, object ids.ID, purge bool, released []string) []change {
	row := p.droppedRow(object)
	if purge {
		row.action = updateRow
		row.set, row.values = []string{"expires_at", "drop_root", "stream_version"}, []any{nil, nil, r.Version}
		return []change{row}
	}
	row.action = deleteRow
	list := []change{row}
	for _, key := range released {
		list = append(list, change{table: claimTable, action: deleteRow, key: append(p.key(object), key), order: key})
	}
	return list
}

// treeDropped hides a tree: every name in it is free.
func (p place) treeDropped(r *eventstore.Record, d *catalog.SoftDrop) []change {
	list := make([]change, 0, 2*(len(d.Namespaces)+len(d.Tabulars)))
	levels := make(map[ids.ID]catalog.Namespace, len(d.Namespaces))
	expires := time.UnixMilli(d.ExpiresAtMS).UTC()
	for i := range d.Namespaces {
		n := &d.Namespaces[i]
		levels[n.ID] = n.Namespace
		list = append(list, p.namespaceGone(n.ID, n.Namespace), change{
			table: droppedNamespaceTable, key: p.key(n.ID), order: p.order(string(n.ID[:])),
			values: []any{
				uuid(r.Stream), parentOf(n.Ancestors), []string(n.Namespace), string(n.Properties), d.PurgeRequested,
				r.Time.UTC(), expires, uuid(r.ID), r.Version,
			},
		})
	}
	for i := range d.Tabulars {
		t := &d.Tabulars[i]
		name := catalog.TableName{NamespaceID: t.NamespaceID, Namespace: levels[t.NamespaceID], Name: t.Name}
		gone := p.named(r.Version, t.ID, t.Kind, &name, t.UUID)
		row := p.droppedRow(t.ID)
		row.values = []any{
			string(t.Kind), uuid(t.NamespaceID), []string(name.Namespace), t.Name, uuid(t.UUID), t.MetadataLocation,
			d.PurgeRequested, r.Time.UTC(), expires, uuid(r.ID), r.Version, false, false, uuid(r.Stream),
		}
		list = append(list, change{table: tabularTable, action: deleteRow, key: gone.key, order: gone.order}, row)
	}
	return list
}

// namespaceGone removes the row of a namespace, the deepest first: a row cannot
// go while another names it as its parent.
func (p place) namespaceGone(id ids.ID, levels catalog.Namespace) change {
	height := string([]byte{byte(255 - len(levels))})
	return change{table: namespaceTable, action: deleteRow, key: p.key(id), order: p.order(height + levels.Fold())}
}

// namespaceRow is the row of a namespace that stands somewhere from now on.
func (p place) namespaceRow(version int64, id ids.ID, levels catalog.Namespace, ancestors []ids.ID, properties json.RawMessage) change {
	path := levels.Fold()
	return change{
		table: namespaceTable, key: p.key(id), order: p.order(path),
		values: []any{
			parentOf(ancestors), uuids(ancestors), []string(levels), path, catalog.FoldName(levels.Name()), false, string(properties), version,
		},
	}
}

func parentOf(ancestors []ids.ID) any {
	if len(ancestors) == 0 {
		return nil
	}
	return uuid(ancestors[0])
}

func (p place) treeUndropped(r *eventstore.Record, e *catalog.NamespaceUndropped) []change {
	list := make([]change, 0, 2*(len(e.Namespaces)+len(e.Tabulars))+1)
	levels := make(map[ids.ID]catalog.Namespace, len(e.Namespaces))
	for i := range e.Namespaces {
		n := &e.Namespaces[i]
		levels[n.ID] = n.Namespace
		list = append(list, p.droppedNamespaceGone(n.ID), p.namespaceRow(r.Version, n.ID, n.Namespace, n.Ancestors, n.Properties))
	}
	for i := range e.Tabulars {
		t := &e.Tabulars[i]
		gone := p.droppedRow(t.ID)
		gone.action = deleteRow
		name := catalog.TableName{NamespaceID: t.NamespaceID, Namespace: levels[t.NamespaceID], Name: t.Name}
		list = append(list, gone, p.named(r.Version, t.ID, t.Kind, &name, t.UUID))
	}
	return append(list, parentChanged(r))
}

func (p place) droppedNamespaceGone(id ids.ID) change {
	return change{table: droppedNamespaceTable, action: deleteRow, key: p.key(id), order: p.order(string(id[:]))}
}

func (p place) treeExpired(r *eventstore.Record, e *catalog.NamespaceExpired) []change {
	var list []change
	for _, id := range e.Namespaces {
		list = append(list, p.droppedNamespaceGone(id))
	}
	for i := range e.Tabulars {
		list = append(list, p.timeOver(r, e.Tabulars[i].ID, e.PurgeRequested, e.Tabulars[i].ClaimsReleased)...)
	}
	return list
}
