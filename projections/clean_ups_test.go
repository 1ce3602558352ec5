package projections_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// cleanUpStep opens a clean-up of a table that deletes files of these ids.
func cleanUpStep(of *object, files ...catalog.CleanedFile) step {
	return step{on: &object{id: testIDs.New(), warehouse: of.warehouse, project: of.project, entity: catalog.EntityCleanUp}, event: &catalog.CleanUpStarted{
		CleanUp: catalog.CleanUp{Object: of.id, Kind: of.entity, TableName: of.name}, ObjectVersion: of.version, ObjectEvent: of.mark, Files: files,
	}}
}

// cleaned is a line of a manifest; the file is one that was made for the object.
func cleaned(of *object, reason string) catalog.CleanedFile {
	id := catalog.FileID(ids.Nil, of.id, testIDs.New())
	return catalog.CleanedFile{Location: "file:///srv/" + of.id.String() + "/metadata/00001-" + id.String() + ".metadata.json", Size: 7, ModifiedMS: 1, Reason: reason}
}

// cleanUps does one of everything to clean-ups and leaves one.
func (w *world) cleanUps(of *object) {
	w.Helper()
	done := cleanUpStep(of, cleaned(of, catalog.CleanedOrphan))
	w.must(done)
	w.must(step{on: done.on, close: true, event: &catalog.CleanUpFinished{CleanUp: done.event.(*catalog.CleanUpStarted).CleanUp, Deleted: 1, Kept: []string{}}})
	w.must(cleanUpStep(of, cleaned(of, catalog.CleanedOrphan), cleaned(of, catalog.CleanedSuperseded)))
}

// A manifest that lists what was of use is found, whichever way it was.
func TestVerifyFindsWrongDeletions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, project := w.bootstrap()
	ns := w.newNamespace(w.newWarehouse(project, "demo"), "n")
	tb := w.tracedTable(ns, "t", 3)
	w.drain()
	verify := func() (found []string) {
		t.Helper()
		w.drain()
		report, err := projections.Verify(t.Context(), projections.VerifyConfig{CheckConfig: projections.CheckConfig{Pool: w.db.App, Log: w.store}})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range report.Findings {
			if f.Kind == projections.CleanUpWrong {
				found = append(found, f.Detail)
			}
		}
		return found
	}
	w.must(cleanUpStep(tb.object, cleaned(tb.object, catalog.CleanedOrphan), catalog.CleanedFile{Location: tb.states[0], Reason: catalog.CleanedSuperseded}))
	// The undo window of this one ended long ago: all former states may go.
	if found := verify(); len(found) != 1 || !strings.Contains(found[0], "within the undo window") {
		t.Errorf("a state of the undo window: %q", found)
	}
	far := func(files ...catalog.CleanedFile) step {
		st := cleanUpStep(tb.object, files...)
		st.event.(*catalog.CleanUpStarted).KeptSinceMS = 4_000_000_000_000
		return st
	}
	before := len(verify())
	for _, c := range []struct {
		file catalog.CleanedFile
		want string
	}{
		{catalog.CleanedFile{Location: tb.states[3], Reason: catalog.CleanedSuperseded}, "it was the object's state"},
		{catalog.CleanedFile{Location: tb.states[1], Reason: catalog.CleanedOrphan}, "it is no orphan"},
		{cleaned(tb.object, catalog.CleanedSuperseded), "it is no former state"},
		{catalog.CleanedFile{Location: "file:///srv/x/metadata/v3.metadata.json", Reason: catalog.CleanedOrphan}, "its name is none"},
		{catalog.CleanedFile{Location: tb.states[2], Reason: catalog.CleanedSuperseded}, ""},
	} {
		w.must(far(c.file))
		found := verify()
		want := before
		if c.want != "" {
			want++
		}
		if len(found) != want || c.want != "" && !slices.ContainsFunc(found, func(f string) bool { return strings.HasPrefix(f, c.want) }) {
			t.Errorf("%s, %s: %q", c.file.Location, c.file.Reason, found)
		}
		before = len(found)
	}
}

// traced is a table whose files have names as the server gives them.
type traced struct {
	*object
	states []string
}

func (w *world) tracedTable(ns *object, name string, commits int) traced {
	w.Helper()
	st := tableStep(ns, name)
	tb := traced{object: st.on}
	next := func() string { return cleaned(st.on, "").Location }
	st.pointer = next()
	st.event.(*catalog.TableCreated).MetadataFile = metadataFile(st.pointer)
	w.must(st)
	tb.states = append(tb.states, st.pointer)
	for range commits {
		c := commitStep(st.on, nil, nil)
		c.pointer = next()
		c.event.(*catalog.TableCommitted).MetadataFile = metadataFile(c.pointer)
		w.must(c)
		tb.states = append(tb.states, c.pointer)
	}
	return tb
}
