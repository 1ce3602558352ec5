package iceberg

import (
	"slices"
	"strconv"
)

// SnapshotSummary is what an event says about a table's current snapshot. It
// holds numbers and the operation only, no text of a tenant.
type SnapshotSummary struct {
	FormatVersion      int   `json:"format-version"`
	LastSequenceNumber int64 `json:"last-sequence-number"`
	SnapshotCount      int   `json:"snapshot-count"`

	// The rest is absent when the table has no current snapshot.
	SnapshotID       *int64 `json:"snapshot-id,omitempty"`
	ParentSnapshotID *int64 `json:"parent-snapshot-id,omitempty"`
	SequenceNumber   int64  `json:"sequence-number,omitempty"`
	TimestampMS      int64  `json:"timestamp-ms,omitempty"`
	// Operation is append, replace, overwrite or delete; empty when the
	// snapshot names none of them.
	Operation string `json:"operation,omitempty"`
	// Totals holds the counters of the summary that are numbers, by their
	// names in the Iceberg spec.
	Totals map[string]int64 `json:"totals,omitempty"`
}

// counter lists the summary fields an event carries.
func counter(name string) bool {
	switch name {
	case "total-records", "total-data-files", "total-delete-files", "total-files-size",
		"added-records", "added-data-files", "added-files-size",
		"deleted-records", "deleted-data-files", "removed-files-size":
		return true
	}
	return false
}

// Summarize describes the current snapshot.
func Summarize(m *Metadata) SnapshotSummary {
	s := SnapshotSummary{
		FormatVersion: m.formatVersion, LastSequenceNumber: m.lastSequence, SnapshotCount: m.SnapshotCount(),
	}
	snap, ok := m.Snapshot(m.current)
	if m.current == noSnapshot || !ok {
		return s
	}
	s.SnapshotID = &snap.ID
	if snap.HasParent {
		s.ParentSnapshotID = &snap.ParentID
	}
	s.SequenceNumber, s.TimestampMS = snap.SequenceNumber, snap.TimestampMS
	for _, p := range summaryOf(snap.Raw) {
		if p.name == "operation" {
			switch p.value {
			case "append", "replace", "overwrite", "delete":
				s.Operation = p.value
			}
			continue
		}
		if !counter(p.name) {
			continue
		}
		if n, err := strconv.ParseInt(p.value, 10, 64); err == nil {
			if s.Totals == nil {
				s.Totals = map[string]int64{}
			}
			s.Totals[p.name] = n
		}
	}
	return s
}

// RefsOnly returns the document with those snapshots only that a branch or
// tag names (loadTable with snapshots=refs); all else is the same byte for
// byte. It returns the whole document when every snapshot is named.
func (m *Metadata) RefsOnly() []byte {
	named := make([]int64, 0, len(m.refs))
	for i := range m.refs {
		named = append(named, m.refs[i].snapshot)
	}
	slices.Sort(named)
	named = slices.Compact(named)
	if len(named) >= len(m.snapshots.ids) {
		return m.doc
	}
	at := make([]int, 0, len(named))
	size := 0
	for i, id := range m.snapshots.ids {
		if _, ok := slices.BinarySearch(named, id); ok {
			at = append(at, i)
			size += len(m.snapshots.raw(m.doc, i)) + 1
		}
	}
	body := m.snapshots.body
	out := make([]byte, 0, len(m.doc)-(body.b-body.a)+size)
	out = append(out, m.doc[:body.a]...)
	for n, i := range at {
		if n > 0 {
			out = append(out, ',')
		}
		out = append(out, m.snapshots.raw(m.doc, i)...)
	}
	return append(out, m.doc[body.b:]...)
}

// HasSnapshots says whether the table holds every snapshot that the updates
// add, equal in meaning: then a commit whose answer was lost has happened, and
// a repeat of it, which must fail its requirement, may be answered as done.
// False when the updates add none.
func HasSnapshots(m *Metadata, updates []Update) bool {
	added := false
	for _, u := range updates {
		ch, ok := u.change.(addSnapshot)
		if !ok {
			continue
		}
		added = true
		raw := ch.raw
		if m.formatVersion == 1 {
			var err error
			if raw, err = v1Snapshot(raw, &ch.facts); err != nil {
				return false
			}
		}
		have, ok := m.Snapshot(ch.facts.id)
		if !ok || !sameJSON(have.Raw, raw) {
			return false
		}
	}
	return added
}
