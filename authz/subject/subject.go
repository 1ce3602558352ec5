// Package subject turns what Resolve found into the facts that an authorizer
// decides on. It is the one place that says which object a right is asked on
// and which ancestors it has, so that commands and queries cannot disagree.
//
// Invariant: an object that Resolve did not find leaves its id Nil, and its
// ancestors are those that exist.
package subject

import (
	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// Server asks about the server.
func Server(f *projections.Facts) authz.Facts {
	return authz.Facts{Entity: string(catalog.EntityServer), Object: f.Server.ID}
}

// Project asks about the project.
func Project(f *projections.Facts) authz.Facts {
	return above(f, catalog.EntityProject, f.Project.ID, f.Server.ID)
}

// Warehouse asks about the warehouse.
func Warehouse(f *projections.Facts) authz.Facts {
	return above(f, catalog.EntityWarehouse, f.Warehouse.ID, f.Project.ID, f.Server.ID)
}

// Namespace asks about the namespace of the query.
func Namespace(f *projections.Facts) authz.Facts {
	if !f.Namespace.Exists {
		return above(f, catalog.EntityNamespace, ids.Nil, parents(f)...)
	}
	return above(f, catalog.EntityNamespace, f.Namespace.ID, append(append([]ids.ID(nil), f.Namespace.Ancestors...), root(f)...)...)
}

// Parent asks about what the namespace of the query is or would be a child of:
// its parent namespace, or the warehouse for one of a single level.
func Parent(f *projections.Facts, levels []string) authz.Facts {
	if len(levels) < 2 {
		return Warehouse(f)
	}
	if f.Namespace.Exists && len(f.Namespace.Ancestors) > 0 {
		return above(f, catalog.EntityNamespace, f.Namespace.Ancestors[0], append(append([]ids.ID(nil), f.Namespace.Ancestors[1:]...), root(f)...)...)
	}
	return above(f, catalog.EntityNamespace, f.Namespace.ParentID, append(append([]ids.ID(nil), f.Namespace.Ancestors...), root(f)...)...)
}

// Table asks about the table of the query.
func Table(f *projections.Facts) authz.Facts {
	var object ids.ID
	if f.Table.Exists {
		object = f.Table.ID
	}
	return TableOf(f, object)
}

// TableOf asks about a table that stands, or stood, in the namespace of the
// query, whatever stands at its name now.
func TableOf(f *projections.Facts, object ids.ID) authz.Facts {
	return inNamespace(f, catalog.EntityTable, object)
}

// ViewOf is [TableOf] for a view.
func ViewOf(f *projections.Facts, object ids.ID) authz.Facts {
	return inNamespace(f, catalog.EntityView, object)
}

func inNamespace(f *projections.Facts, entity catalog.Entity, object ids.ID) authz.Facts {
	ancestors := parents(f)
	if f.Namespace.Exists {
		ancestors = append(append([]ids.ID{f.Namespace.ID}, f.Namespace.Ancestors...), root(f)...)
	}
	return above(f, entity, object, ancestors...)
}

// parents are the ancestors of a namespace that is not there.
func parents(f *projections.Facts) []ids.ID {
	list := []ids.ID{f.Namespace.ParentID}
	list = append(list, f.Namespace.Ancestors...)
	return append(list, root(f)...)
}

func root(f *projections.Facts) []ids.ID {
	return []ids.ID{f.Warehouse.ID, f.Project.ID, f.Server.ID}
}

func above(f *projections.Facts, entity catalog.Entity, object ids.ID, ancestors ...ids.ID) authz.Facts {
	facts := authz.Facts{
		Entity: string(entity), Object: object,
		Project: f.Project.ID, Warehouse: f.Warehouse.ID, AuthzMark: f.Project.AuthzMark,
	}
	for _, id := range ancestors {
		if !id.IsNil() {
			facts.Ancestors = append(facts.Ancestors, id)
		}
	}
	return facts
}
