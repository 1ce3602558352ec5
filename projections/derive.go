package projections

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
)

var errNoWarehouse = errors.New("the record names no warehouse or no project")

// derive says what an event does to the rows of the inline read models. It is
// the one place that knows.
func derive(r *eventstore.Record, event catalog.Event) ([]change, error) {
	if list, known := deriveManagement(r, event); known {
		return list, nil
	}
	if catalog.EntityOf(event.EventType()) == catalog.EntityDestination {
		return deriveDestination(r, event)
	}
	if r.Warehouse.IsNil() || r.Project.IsNil() {
		return nil, errNoWarehouse
	}
	at := place{r.Warehouse, catalog.MainBranch}
	switch e := event.(type) {
	case *catalog.NamespaceCreated:
		return []change{at.namespaceRow(r.Version, r.Stream, e.Namespace, e.Ancestors, e.Properties)}, nil
	case *catalog.NamespacePropertiesUpdated:
		return []change{{
			table: namespaceTable, action: updateRow, key: at.key(r.Stream), order: at.order(e.Namespace.Fold()),
			set: []string{"properties", "stream_version"}, values: []any{string(e.Properties), r.Version},
		}}, nil
	case *catalog.NamespaceDropped:
		if e.Soft != nil {
			return at.treeDropped(r, e.Soft), nil
		}
		return []change{at.namespaceGone(r.Stream, e.Namespace)}, nil
	case *catalog.TableCreated:
		return append([]change{at.tabular(r, &e.TableName, e.TableUUID)}, at.claims(r, e.Claims, nil, e.Vacant)...), nil
	case *catalog.TableCommitted:
		return at.claims(r, e.ClaimsAdded, e.ClaimsRemoved, e.Vacant), nil
	case *catalog.TableRenamed:
		return at.renamed(r, &e.From, &e.To), nil
	case *catalog.TableRegistered:
		return deriveRegistered(r, at, e), nil
	case *catalog.TableDropped:
		return deriveDropped(r, at, e), nil
	case *catalog.NamespaceProtectionUpdated:
		return at.protection(namespaceTable, r, at.order(e.Namespace.Fold()), e.Protected), nil
	case *catalog.TableProtectionUpdated:
		return at.tabularProtection(r, &e.TabularProtection), nil
	case *catalog.ViewProtectionUpdated:
		return at.tabularProtection(r, &e.TabularProtection), nil
	}
	if list, ok := deriveEnd(r, at, event); ok {
		return list, nil
	}
	if list, ok := deriveCleanUp(r, at, event); ok {
		return list, nil
	}
	if list, ok := deriveSoftDelete(r, at, event); ok {
		return list, nil
	}
	if list, ok := deriveView(r, at, event); ok {
		return list, nil
	}
	return nil, fmt.Errorf("no read model knows %T", event)
}

// place is what every key below a warehouse begins with.
type place struct{ warehouse, branch ids.ID }

func (p place) key(object ids.ID) []any {
	return []any{uuid(p.warehouse), uuid(p.branch), uuid(object)}
}

func (p place) order(name string) string { return orderKey(name, p.warehouse, p.branch) }

// tabular is the row of a new table.
func (p place) tabular(r *eventstore.Record, name *catalog.TableName, tableUUID ids.ID) change {
	return p.named(r.Version, r.Stream, catalog.Entity(r.StreamType), name, tableUUID)
}

// claims releases and adds location claims of the record's object. What is
// released and added at once is claimed anew: it is vacant no longer.
func (p place) claims(r *eventstore.Record, added, removed, vacant []string) []change {
	list := make([]change, 0, len(added)+len(removed))
	for _, key := range removed {
		list = append(list, change{table: claimTable, action: deleteRow, key: append(p.key(r.Stream), key), order: key})
	}
	for _, key := range added {
		list = append(list, change{
			table: claimTable, key: append(p.key(r.Stream), key), order: key,
			values: []any{claimRange(key), r.Version, slices.Contains(vacant, key)},
		})
	}
	return list
}

// renamed moves the name of a table or view.
func (p place) renamed(r *eventstore.Record, from, to *catalog.TableName) []change {
	folded := catalog.FoldName(to.Name)
	list := []change{{
		table: tabularTable, action: updateRow, key: p.key(r.Stream),
		order:  orderKey(folded, p.warehouse, p.branch, to.NamespaceID),
		set:    []string{"namespace_id", "name", "name_fold1", "stream_version"},
		values: []any{uuid(to.NamespaceID), to.Name, folded, r.Version},
	}}
	if from.NamespaceID != to.NamespaceID {
		list = append(list, parentChanged(r))
	}
	return list
}

// nameGone removes the name of a table or view.
func (p place) nameGone(r *eventstore.Record, name *catalog.TableName) change {
	return change{
		table: tabularTable, action: deleteRow, key: p.key(r.Stream),
		order: orderKey(catalog.FoldName(name.Name), p.warehouse, p.branch, name.NamespaceID),
	}
}

func deriveRegistered(r *eventstore.Record, at place, e *catalog.TableRegistered) []change {
	row := at.tabular(r, &e.TableName, e.TableUUID)
	if e.Overwrites {
		row = change{
			table: tabularTable, action: updateRow, key: row.key, order: row.order,
			set: []string{"table_uuid", "stream_version"}, values: []any{uuid(e.TableUUID), r.Version},
		}
	}
	return append([]change{row}, at.claims(r, e.ClaimsAdded, e.ClaimsRemoved, nil)...)
}

// deriveDropped removes the name. What still holds locations is remembered; the
// rest is history.
func deriveDropped(r *eventstore.Record, at place, e *catalog.TableDropped) []change {
	list := []change{at.nameGone(r, &e.TableName)}
	if e.Pending() {
		list = append(list, at.pending(r, &e.TableName, e.TableUUID, e.MetadataLocation, e.PurgeRequested, e.ExpiresAtMS))
	}
	return append(list, at.claims(r, nil, e.ClaimsReleased, nil)...)
}

// pending is the row of a dropped table or view that may come back, or whose
// files have to be deleted.
func (p place) pending(r *eventstore.Record, name *catalog.TableName, tableUUID ids.ID, pointer string, purge bool, expiresMS *int64) change {
	var expires any
	if expiresMS != nil {
		expires = time.UnixMilli(*expiresMS).UTC()
	}
	return change{
		table: droppedTable, key: p.key(r.Stream), order: p.order(string(r.Stream[:])),
		values: []any{
			r.StreamType, uuid(name.NamespaceID), []string(name.Namespace), name.Name, uuid(tableUUID), pointer,
			purge, r.Time.UTC(), expires, uuid(r.ID), r.Version, false, false, nil,
		},
	}
}
