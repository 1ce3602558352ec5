package projections_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/projections/projectionstest"
)

// viewStep creates a view.
func viewStep(namespace *object, name string, claims ...string) step {
	o := &object{
		id: testIDs.New(), warehouse: namespace.warehouse, project: namespace.project, entity: catalog.EntityView,
		name: catalog.ViewName{NamespaceID: namespace.id, Namespace: namespace.path, Name: name}, uuid: testIDs.New(), claims: claims,
	}
	pointer := "file:///srv/" + o.id.String() + "/metadata/0.json"
	return step{on: o, held: []*object{namespace}, pointer: pointer, event: &catalog.ViewCreated{
		ViewName: o.name, ViewUUID: o.uuid, Location: "file:///srv/" + o.id.String(), ViewFile: viewFile(pointer), NowMS: 1,
		Request: json.RawMessage(`{"name":"v","schema":{},"view-version":{}}`), Claims: claims,
	}}
}

func viewFile(pointer string) catalog.ViewFile {
	return catalog.ViewFile{MetadataFile: catalog.MetadataFile{MetadataLocation: pointer, Size: 1, Format: 1}, CurrentVersion: 1}
}

func viewCommitStep(o *object, added, removed []string) step {
	pointer := o.pointer + "+"
	return step{on: o, pointer: pointer, event: &catalog.ViewCommitted{
		ViewName: o.name, ViewUUID: o.uuid, Previous: o.pointer, ViewFile: viewFile(pointer), NowMS: 2,
		Requirements: json.RawMessage(`[]`), Updates: json.RawMessage(`[]`), ClaimsAdded: added, ClaimsRemoved: removed,
	}}
}

func TestViewsShareNamesAndLocationsWithTables(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, project := w.bootstrap()
	wh := w.newWarehouse(project, "demo")
	ns, other := w.newNamespace(wh, "ns"), w.newNamespace(wh, "other")
	w.newTable(ns, "t", "file//srv/t/")
	made := viewStep(ns, "V", "file//srv/v/")
	w.must(made)
	view := made.on
	twin := viewStep(ns, "x")
	twin.event.(*catalog.ViewCreated).ViewUUID = view.uuid
	for name, c := range map[string]struct {
		step step
		want string
	}{
		"a view at a table's name":     {viewStep(ns, "T"), projections.TabularNameKey},
		"a table at a view's name":     {tableStep(ns, "v"), projections.TabularNameKey},
		"a view below a table":         {viewStep(ns, "x", "file//srv/t/below/"), projections.LocationClaimOverlap},
		"a table around a view":        {tableStep(ns, "x", "file//srv/"), projections.LocationClaimOverlap},
		"a view of another one's uuid": {twin, projections.TabularUUIDKey},
		"a rename onto a table": {step{on: view, held: []*object{ns}, event: &catalog.ViewRenamed{
			ViewUUID: view.uuid, From: view.name, To: catalog.ViewName{NamespaceID: ns.id, Namespace: ns.path, Name: "t"},
		}}, projections.TabularNameKey},
		"a drop of the namespace": {step{on: ns, close: true, event: &catalog.NamespaceDropped{Namespace: ns.path}}, projections.TabularNamespaceFK},
	} {
		if err := w.try(c.step); constraintOf(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.must(viewCommitStep(view, []string{"file//srv/v2/"}, []string{"file//srv/v/"}))
	w.must(tableStep(ns, "x", "file//srv/v/"))
	to := catalog.ViewName{NamespaceID: other.id, Namespace: other.path, Name: "W"}
	w.must(step{on: view, held: []*object{other}, event: &catalog.ViewRenamed{ViewUUID: view.uuid, From: view.name, To: to}})
	view.name = to
	again := viewStep(ns, "v", "file//srv/again/")
	w.must(again)

	facts, err := projections.NewResolver(w.db.App, projections.Options{}).Resolve(t.Context(), projections.Query{Warehouse: wh.id, Namespace: []string{"OTHER"}, Name: "w"})
	if err != nil {
		t.Fatal(err)
	}
	if got := facts[0].Table; !got.Exists || got.Kind != "view" || got.ID != view.id || got.Pointer != view.pointer || got.Mark != view.mark || got.Version != 3 {
		t.Errorf("resolved %+v", got)
	}

	w.must(step{on: view, close: true, event: &catalog.ViewDropped{
		ViewName: view.name, ViewUUID: view.uuid, MetadataLocation: view.pointer, ClaimsReleased: []string{"file//srv/v2/"},
	}})
	registered := viewStep(other, "w", "file//srv/v2/")
	registered.event = &catalog.ViewRegistered{
		ViewName: registered.on.name, ViewUUID: view.uuid, Location: "file:///srv/v2", ViewFile: viewFile(registered.pointer), Claims: []string{"file//srv/v2/"},
	}
	w.must(registered)
	var closed *eventstore.ClosedError
	if err := w.try(viewCommitStep(view, nil, nil)); !errors.As(err, &closed) {
		t.Errorf("a dropped view is committed to: %v", err)
	}
	projectionstest.RequireRebuildEqual(t, w.db.App)
}
