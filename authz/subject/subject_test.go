package subject_test

import (
	"slices"
	"testing"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

func id(b byte) ids.ID { return ids.ID{6: 0x70, 8: 0x80, 15: b} }

func TestSubjectsNameTheirAncestorsFromTheParentUp(t *testing.T) {
	t.Parallel()
	found := projections.Facts{
		Server:    projections.ServerFacts{ID: id(1)},
		Project:   projections.ProjectFacts{Exists: true, ID: id(2), AuthzMark: id(9)},
		Warehouse: projections.WarehouseFacts{Exists: true, ID: id(3)},
		Namespace: projections.NamespaceFacts{Exists: true, ID: id(5), Ancestors: []ids.ID{id(4)}},
		Table:     projections.TabularFacts{Exists: true, ID: id(6)},
	}
	missingTable := found
	missingTable.Table = projections.TabularFacts{}
	missingNamespace := found
	missingNamespace.Table = projections.TabularFacts{}
	missingNamespace.Namespace = projections.NamespaceFacts{ParentExists: true, ParentID: id(4)}
	path := []string{"a", "b"}

	cases := map[string]struct {
		got       authz.Facts
		entity    string
		object    ids.ID
		ancestors []ids.ID
	}{
		"server":                       {subject.Server(&found), "server", id(1), nil},
		"project":                      {subject.Project(&found), "project", id(2), []ids.ID{id(1)}},
		"warehouse":                    {subject.Warehouse(&found), "warehouse", id(3), []ids.ID{id(2), id(1)}},
		"namespace":                    {subject.Namespace(&found), "namespace", id(5), []ids.ID{id(4), id(3), id(2), id(1)}},
		"missing namespace":            {subject.Namespace(&missingNamespace), "namespace", ids.Nil, []ids.ID{id(4), id(3), id(2), id(1)}},
		"parent of a namespace":        {subject.Parent(&found, path), "namespace", id(4), []ids.ID{id(3), id(2), id(1)}},
		"parent of a missing one":      {subject.Parent(&missingNamespace, path), "namespace", id(4), []ids.ID{id(3), id(2), id(1)}},
		"parent at the top":            {subject.Parent(&missingNamespace, path[:1]), "warehouse", id(3), []ids.ID{id(2), id(1)}},
		"table":                        {subject.Table(&found), "table", id(6), []ids.ID{id(5), id(4), id(3), id(2), id(1)}},
		"missing table":                {subject.Table(&missingTable), "table", ids.Nil, []ids.ID{id(5), id(4), id(3), id(2), id(1)}},
		"table in a missing namespace": {subject.Table(&missingNamespace), "table", ids.Nil, []ids.ID{id(4), id(3), id(2), id(1)}},
		"view":                         {subject.ViewOf(&found, id(6)), "view", id(6), []ids.ID{id(5), id(4), id(3), id(2), id(1)}},
		"view in a missing namespace":  {subject.ViewOf(&missingNamespace, ids.Nil), "view", ids.Nil, []ids.ID{id(4), id(3), id(2), id(1)}},
		"table that was":               {subject.TableOf(&missingTable, id(8)), "table", id(8), []ids.ID{id(5), id(4), id(3), id(2), id(1)}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.got.Entity != c.entity || c.got.Object != c.object || !slices.Equal(c.got.Ancestors, c.ancestors) {
				t.Errorf("%s %s below %v; want %s %s below %v", c.got.Entity, c.got.Object, c.got.Ancestors, c.entity, c.object, c.ancestors)
			}
			if c.entity != "server" && c.got.AuthzMark != id(9) {
				t.Errorf("the rights' mark is %s", c.got.AuthzMark)
			}
		})
	}
}
