package iceberg

import (
	"math"
	"slices"
)

// maxDisorder is how far the logs may run backwards, and the last update
// behind them, for Java to read a document: one minute, in milliseconds.
const maxDisorder = 60_000

// validate holds the checks of Java's TableMetadata constructor. A document
// that fails them could not be read by any JVM engine.
func (m *Metadata) validate() error {
	if m.location == "" {
		return invalid("Invalid location: empty")
	}
	if m.formatVersion == 1 && m.lastSequence != 0 {
		return invalid("Sequence number must be 0 in v1: %d", m.lastSequence)
	}
	ids := slices.Clone(m.snapshots.ids)
	slices.Sort(ids)
	for i := 1; i < len(ids); i++ {
		if ids[i] == ids[i-1] {
			return invalid("duplicate snapshot-id: %d", ids[i])
		}
	}
	if m.formatVersion > 1 {
		for i := range m.snapshots.heads {
			if s := m.snapshots.heads[i].sequence; s > m.lastSequence {
				return invalid("Invalid snapshot with sequence number %d greater than last sequence number %d", s, m.lastSequence)
			}
		}
	}
	for i := range m.refs {
		if _, ok := slices.BinarySearch(ids, m.refs[i].snapshot); !ok {
			return invalid("Snapshot for reference %s does not exist in the existing snapshots list", m.refs[i].name)
		}
	}
	return m.validateLogs()
}

func (m *Metadata) validateLogs() error {
	for i, e := range m.history.entries {
		if i > 0 && before(e.timestamp, m.history.entries[i-1].timestamp) {
			return invalid("Expected sorted snapshot log entries")
		}
		if i == len(m.history.entries)-1 && before(m.lastUpdated, e.timestamp) {
			return invalid("Invalid update timestamp %d: before last snapshot log entry at %d", m.lastUpdated, e.timestamp)
		}
	}
	for i, e := range m.files.entries {
		if i > 0 && before(e.timestamp, m.files.entries[i-1].timestamp) {
			return invalid("Expected sorted previous metadata log entries")
		}
		if i == len(m.files.entries)-1 && before(m.lastUpdated, e.timestamp) {
			return invalid("Invalid update timestamp %d: before the latest metadata log entry timestamp %d", m.lastUpdated, e.timestamp)
		}
	}
	return nil
}

// before says whether t is more than the allowed disorder before earlier.
func before(t, earlier int64) bool {
	return earlier >= math.MinInt64+maxDisorder && t < earlier-maxDisorder
}
