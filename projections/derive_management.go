package projections

import (
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// deriveManagement is derive for what stands above namespaces; known is false
// for all other events.
func deriveManagement(r *eventstore.Record, event catalog.Event) (list []change, known bool) {
	switch e := event.(type) {
	case *catalog.ServerBootstrapped:
		return []change{{table: serverTable, key: []any{uuid(r.Stream)}, values: []any{true, e.TermsAccepted, r.Version}}}, true
	case *catalog.ProjectCreated:
		return []change{{
			table: projectTable, key: []any{uuid(r.Stream)}, order: orderKey("", r.Stream),
			values: []any{e.Name, uuid(r.ID), r.Version, identOf(r.Stream, e.Ident), nil},
		}}, true
	case *catalog.ProjectRenamed:
		return []change{{
			table: projectTable, action: updateRow, key: []any{uuid(r.Stream)}, order: orderKey("", r.Stream),
			set: []string{"name", "stream_version"}, values: []any{e.To, r.Version},
		}}, true
	case *catalog.ProjectDeleted:
		return []change{{table: projectTable, action: deleteRow, key: []any{uuid(r.Stream)}, order: orderKey("", r.Stream)}}, true
	case *catalog.WarehouseCreated:
		return deriveWarehouse(r, e), true
	case *catalog.WarehouseRenamed:
		name := catalog.FoldName(e.To)
		return warehouseChange(r, name, []string{"name", "name_fold1"}, e.To, name), true
	case *catalog.WarehouseActivated:
		return warehouseChange(r, catalog.FoldName(e.Name), []string{"active"}, true), true
	case *catalog.WarehouseDeactivated:
		return warehouseChange(r, catalog.FoldName(e.Name), []string{"active"}, false), true
	case *catalog.WarehouseDeleteProfileUpdated:
		var expiration any
		if e.ExpirationSeconds != nil {
			expiration = *e.ExpirationSeconds
		}
		return warehouseChange(r, catalog.FoldName(e.Name), []string{"expiration_seconds"}, expiration), true
	case *catalog.WarehouseUndoWindowUpdated:
		var window any
		if e.UndoWindowSeconds != nil {
			window = *e.UndoWindowSeconds
		}
		return warehouseChange(r, catalog.FoldName(e.Name), []string{"undo_window_seconds"}, window), true
	case *catalog.WarehouseFormatVersionsUpdated:
		return warehouseChange(r, catalog.FoldName(e.Name), []string{"default_format", "allowed_formats"},
			int16(e.DefaultFormat), smallints(e.AllowedFormats)), true
	case *catalog.WarehouseProtectionUpdated:
		return warehouseChange(r, catalog.FoldName(e.Name), []string{"protected"}, e.Protected), true
	case *catalog.WarehouseDeleted:
		return []change{{
			table: warehouseTable, action: deleteRow, key: []any{uuid(r.Stream)}, order: orderKey(catalog.FoldName(e.Name), r.Project),
		}}, true
	}
	return deriveQueues(r, event)
}

// identOf is the id by which callers name a project: the chosen one, else that
// of its stream, which for the default project is the nil UUID, as in
// Lakekeeper.
func identOf(project ids.ID, chosen string) string {
	switch {
	case chosen != "":
		return chosen
	case project == catalog.DefaultProject:
		return ids.Nil.String()
	}
	return project.String()
}

func deriveWarehouse(r *eventstore.Record, e *catalog.WarehouseCreated) []change {
	name := catalog.FoldName(e.Name)
	return []change{{
		table: warehouseTable, key: []any{uuid(r.Stream)}, order: orderKey(name, e.Project),
		values: []any{
			uuid(e.Project), e.Name, name, true, false, string(e.StorageProfile), int16(e.DefaultFormat), smallints(e.AllowedFormats),
			r.Time.UTC(), r.Version, nil, nil, nil,
		},
	}}
}

// warehouseChange sets columns of a warehouse, and when it was changed.
func warehouseChange(r *eventstore.Record, name string, set []string, values ...any) []change {
	return []change{{
		table: warehouseTable, action: updateRow, key: []any{uuid(r.Stream)}, order: orderKey(name, r.Project),
		set: append(set, "updated_at", "stream_version"), values: append(values, r.Time.UTC(), r.Version),
	}}
}

func smallints(list []int) []int16 {
	out := make([]int16, len(list))
	for i, n := range list {
		out[i] = int16(n)
	}
	return out
}

// protection sets the protection of a namespace, a table or a view.
func (p place) protection(t *table, r *eventstore.Record, order string, protected bool) []change {
	return []change{{
		table: t, action: updateRow, key: p.key(r.Stream), order: order,
		set: []string{"protected", "stream_version"}, values: []any{protected, r.Version},
	}}
}

func (p place) tabularProtection(r *eventstore.Record, e *catalog.TabularProtection) []change {
	return p.protection(tabularTable, r, orderKey(catalog.FoldName(e.Name), p.warehouse, p.branch, e.NamespaceID), e.Protected)
}
