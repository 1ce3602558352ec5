package subject

import (
	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// Object asks about a namespace, a table or a view that was resolved by its id.
// What has that id and is of another kind is not there, and looks like it.
func Object(f *projections.Facts, kind catalog.Entity, id ids.ID) (facts authz.Facts, found bool) {
	if kind == catalog.EntityNamespace {
		if f.Namespace.Exists && f.Namespace.ID == id {
			return Namespace(f), true
		}
	} else if f.Table.Exists && f.Table.ID == id && f.Table.Kind == string(kind) {
		return inNamespace(f, kind, id), true
	}
	missing := *f
	missing.Namespace, missing.Table = projections.NamespaceFacts{}, projections.TabularFacts{}
	return above(&missing, kind, ids.Nil, root(&missing)...), false
}
