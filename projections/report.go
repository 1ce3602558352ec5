package projections

import (
	"fmt"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// FindingKind says what is wrong.
type FindingKind string

// What [Compare], [Rebuild] and [Verify] find.
const (
	// RowDiffers: a live row is not what the log makes of it.
	RowDiffers FindingKind = "row-differs"
	// RowMissing: the log makes a row that is not there.
	RowMissing FindingKind = "row-missing"
	// RowUnexplained: a live row comes from no event.
	RowUnexplained FindingKind = "row-unexplained"
	// DocumentUnreadable: a table's metadata file could not be read.
	DocumentUnreadable FindingKind = "document-unreadable"
	// DocumentDiffers: a metadata file is not the one that its event named.
	DocumentDiffers FindingKind = "document-differs"
	// FoldDiffers: folding an event's updates does not give the document that
	// the event named.
	FoldDiffers FindingKind = "fold-differs"
	// CleanUpWrong: a clean-up deleted a file that was of use.
	CleanUpWrong FindingKind = "clean-up-wrong"
	// FoldImpossible: a table's events cannot be folded.
	FoldImpossible FindingKind = "fold-impossible"
)

// Finding is one thing that is wrong.
type Finding struct {
	Kind FindingKind

	// Of rows: the table, the key's columns joined by slashes, and both
	// versions of the row as JSON; the one that is missing is empty.
	Table, Key, Live, Rebuilt string

	// Of documents: the table's id, the event that named the document, where it
	// is and what is wrong with it.
	Object, Event    ids.ID
	Location, Detail string
}

// String says it in one line.
func (f Finding) String() string {
	switch f.Kind {
	case RowDiffers:
		return fmt.Sprintf("%s: row %s is %s, the log makes it %s", f.Table, f.Key, f.Live, f.Rebuilt)
	case RowMissing:
		return fmt.Sprintf("%s: row %s is missing, the log makes it %s", f.Table, f.Key, f.Rebuilt)
	case RowUnexplained:
		return fmt.Sprintf("%s: row %s comes from no event: %s", f.Table, f.Key, f.Live)
	default: // of documents
		return fmt.Sprintf("%s: table %s, event %s, %s: %s", f.Kind, f.Object, f.Event, f.Location, f.Detail)
	}
}

// Report is the result of a comparison or verification.
type Report struct {
	Position  int64 // the log was replayed up to here
	Rows      int64 // live rows that were compared
	Documents int64 // metadata files that were held against their events
	Folds     int64 // events whose updates were folded
	Skipped   int64 // folds that an erased payload made impossible
	// CleanUpLines are the deletions of metadata files that were held against the log.
	CleanUpLines int64

	// Findings are the first of Count, as many as were asked for.
	Findings []Finding
	Count    int64
}

// OK reports whether nothing was found.
func (r *Report) OK() bool { return r.Count == 0 }

func (r *Report) add(limit int, f Finding) {
	r.Count++
	if len(r.Findings) < limit {
		r.Findings = append(r.Findings, f)
	}
}
