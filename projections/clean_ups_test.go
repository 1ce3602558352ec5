package projections_test

import (
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
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
