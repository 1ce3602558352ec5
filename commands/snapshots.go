package commands

import (
	"encoding/json"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/iceberg"
)

// addedIDs returns the ids of the snapshots that updates add.
func addedIDs(updates []iceberg.Update) (list []int64) {
	for _, u := range updates {
		if u.Action() != "add-snapshot" {
			continue
		}
		var wire struct {
			Snapshot struct {
				ID int64 `json:"snapshot-id"`
			} `json:"snapshot"`
		}
		if json.Unmarshal(u.Raw(), &wire) != nil {
			continue // the metadata core has refused it
		}
		list = append(list, wire.Snapshot.ID)
	}
	return list
}

// summaryMembers are the members of a snapshot's summary that an event repeats:
// the counts of the Iceberg spec, which consumers want without a look at the
// document. What engines add stays in the updates.
var summaryMembers = map[string]bool{
	"added-data-files": true, "deleted-data-files": true, "total-data-files": true,
	"added-delete-files": true, "added-equality-delete-files": true, "removed-equality-delete-files": true,
	"added-position-delete-files": true, "removed-position-delete-files": true,
	"added-dvs": true, "removed-dvs": true, "removed-delete-files": true, "total-delete-files": true,
	"added-records": true, "deleted-records": true, "total-records": true,
	"added-files-size": true, "removed-files-size": true, "total-files-size": true,
	"added-position-deletes": true, "removed-position-deletes": true, "total-position-deletes": true,
	"added-equality-deletes": true, "removed-equality-deletes": true, "total-equality-deletes": true,
	"changed-partition-count": true,
}

// maxSummaryValue bounds a repeated value, in bytes: counts are short.
const maxSummaryValue = 64

// addedSnapshots describes the snapshots that updates added to a document.
func addedSnapshots(m *iceberg.Metadata, updates []iceberg.Update) ([]catalog.Snapshot, error) {
	var list []catalog.Snapshot
	for _, id := range addedIDs(updates) {
		s, ok := m.Snapshot(id)
		if !ok {
			continue // added and removed in one request
		}
		if len(list) == catalog.MaxSnapshots {
			break
		}
		e := catalog.Snapshot{ID: id, TimestampMS: s.TimestampMS}
		if s.HasParent {
			e.ParentID = &s.ParentID
		}
		if m.FormatVersion() > 1 {
			e.SequenceNumber = &s.SequenceNumber
		}
		counts := map[string]string{}
		summary, _ := m.SnapshotSummary(id)
		for k, v := range summary {
			switch {
			case k == "operation":
				if len(v) <= catalog.MaxNameBytes {
					e.Operation = v
				}
			case summaryMembers[k] && len(v) <= maxSummaryValue:
				counts[k] = v
			}
		}
		var err error
		if e.Summary, err = marshal(counts); err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

// happenedBefore reports whether a commit whose requirement failed is one that
// has already happened: its answer was lost and the client sent it again
// (iceberg-rest 2.10). That is so when it adds snapshots, all of them are there
// and equal, and every ref that it sets to one of them has it as itself or an
// ancestor.
func happenedBefore(m *iceberg.Metadata, updates []iceberg.Update) bool {
	if !iceberg.HasSnapshots(m, updates) {
		return false
	}
	for _, u := range updates {
		if u.Action() != "set-snapshot-ref" {
			continue
		}
		var wire struct {
			Ref      string `json:"ref-name"`
			Snapshot int64  `json:"snapshot-id"`
		}
		if json.Unmarshal(u.Raw(), &wire) != nil {
			return false
		}
		ref, ok := m.Ref(wire.Ref)
		if !ok || !isAncestor(m, wire.Snapshot, ref.SnapshotID) {
			return false
		}
	}
	return true
}

// isAncestor reports whether a snapshot is of or one of its ancestors.
func isAncestor(m *iceberg.Metadata, id, of int64) bool {
	for range m.SnapshotCount() {
		if of == id {
			return true
		}
		s, ok := m.Snapshot(of)
		if !ok || !s.HasParent {
			return false
		}
		of = s.ParentID
	}
	return false
}
