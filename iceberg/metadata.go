package iceberg

import (
	"slices"
	"strconv"
	"strings"
)

// Format versions this package reads and writes. A fourth exists in draft;
// PyIceberg and others cannot read it.
const (
	MinFormatVersion = 1
	MaxFormatVersion = 3
	// DefaultFormatVersion is that of tables whose creator names none.
	DefaultFormatVersion = 2
)

// MainBranch is the ref whose snapshot is the table's current one.
const MainBranch = "main"

// noSnapshot stands for "none" wherever the wire form prints -1 or null.
const noSnapshot int64 = -1

// Metadata is a table metadata document (Iceberg spec, Table Metadata
// Fields): its bytes, and an index of the parts the rules need. It never
// changes and may be shared. It keeps only offsets into the bytes, so that a
// successor does not keep its predecessor's bytes alive.
type Metadata struct {
	doc []byte

	formatVersion   int
	uuid            string // empty only in old v1 documents
	location        string
	lastSequence    int64
	lastUpdated     int64 // ms since the epoch
	lastColumnID    int
	currentSchemaID int
	defaultSpecID   int
	lastPartitionID int
	defaultOrderID  int
	current         int64 // noSnapshot when none
	nextRowID       int64 // v3

	schemas    []item
	specs      []item
	orders     []item
	properties []propertyItem
	keys       []keyItem
	refs       []refItem
	snapshots  snapshotIndex
	stats      []statItem
	partStats  []statItem
	history    historyIndex // snapshot-log
	files      fileIndex    // metadata-log
	unknown    []span       // top-level members this package does not know

	// These tell that a v1 document lacks a schema's id or a partition
	// field's id, which a rewrite then fills in.
	schemasIncomplete, specsIncomplete bool

	facts BuildFacts
}

// item is an element of schemas, partition-specs or sort-orders.
type item struct {
	id int
	at span
}

type propertyItem struct {
	name, value string
	at          span // the whole member
}

type keyItem struct {
	id string
	at span
}

type refItem struct {
	name     string
	snapshot int64
	tag      bool
	at       span // the value
}

type statItem struct {
	snapshot int64
	at       span
}

// snapshotIndex indexes the snapshots array. body runs from the first
// element to the last; offsets in heads are relative to it, so that it can be
// copied as one block. ids stands apart to be searched fast.
type snapshotIndex struct {
	body  span
	ids   []int64
	heads []snapshotHead
}

type snapshotHead struct {
	parent    int64 // noSnapshot when none
	sequence  int64
	timestamp int64
	a, b      uint32
}

type historyIndex struct {
	body    span
	entries []historyEntry
}

type historyEntry struct {
	timestamp int64
	snapshot  int64
	a, b      uint32
}

type fileIndex struct {
	body    span
	entries []fileEntry
}

type fileEntry struct {
	timestamp int64
	a, b      uint32
	fa, fb    uint32 // the metadata-file string with its quotes
}

// Bytes returns the document, exactly as parsed or as built. The caller must
// not write to it.
func (m *Metadata) Bytes() []byte { return m.doc }

// FormatVersion returns format-version, 1 to 3.
func (m *Metadata) FormatVersion() int { return m.formatVersion }

// UUID returns table-uuid as written; empty only for v1 documents without.
func (m *Metadata) UUID() string { return m.uuid }

// Location returns the table's base location.
func (m *Metadata) Location() string { return m.location }

// LastUpdatedMS returns last-updated-ms, milliseconds since the epoch.
func (m *Metadata) LastUpdatedMS() int64 { return m.lastUpdated }

// LastSequenceNumber returns last-sequence-number, 0 in v1.
func (m *Metadata) LastSequenceNumber() int64 { return m.lastSequence }

// LastColumnID returns last-column-id, the highest field id ever assigned.
func (m *Metadata) LastColumnID() int { return m.lastColumnID }

// LastPartitionID returns last-partition-id; 999 before the first field.
func (m *Metadata) LastPartitionID() int { return m.lastPartitionID }

// CurrentSchemaID returns current-schema-id.
func (m *Metadata) CurrentSchemaID() int { return m.currentSchemaID }

// DefaultSpecID returns default-spec-id.
func (m *Metadata) DefaultSpecID() int { return m.defaultSpecID }

// DefaultSortOrderID returns default-sort-order-id.
func (m *Metadata) DefaultSortOrderID() int { return m.defaultOrderID }

// NextRowID returns next-row-id (v3), 0 before v3.
func (m *Metadata) NextRowID() int64 { return m.nextRowID }

// CurrentSnapshotID returns the snapshot main points at, if any.
func (m *Metadata) CurrentSnapshotID() (int64, bool) {
	return m.current, m.current != noSnapshot
}

// Property returns one table property.
func (m *Metadata) Property(name string) (string, bool) {
	for i := range m.properties {
		if m.properties[i].name == name {
			return m.properties[i].value, true
		}
	}
	return "", false
}

// Properties returns the table properties as a new map.
func (m *Metadata) Properties() map[string]string {
	out := make(map[string]string, len(m.properties))
	for _, p := range m.properties {
		out[p.name] = p.value
	}
	return out
}

// Ref is a branch or tag. Raw is its value in the document.
type Ref struct {
	Name       string
	Tag        bool
	SnapshotID int64
	Raw        []byte
}

// Ref returns one branch or tag.
func (m *Metadata) Ref(name string) (Ref, bool) {
	for i := range m.refs {
		if m.refs[i].name == name {
			return m.ref(i), true
		}
	}
	return Ref{}, false
}

// Refs returns all branches and tags in document order.
func (m *Metadata) Refs() []Ref {
	out := make([]Ref, len(m.refs))
	for i := range m.refs {
		out[i] = m.ref(i)
	}
	return out
}

func (m *Metadata) ref(i int) Ref {
	r := &m.refs[i]
	return Ref{Name: r.name, Tag: r.tag, SnapshotID: r.snapshot, Raw: r.at.of(m.doc)}
}

// Snapshot is the header of a snapshot. Raw is its object in the document.
type Snapshot struct {
	ID             int64
	ParentID       int64
	HasParent      bool
	SequenceNumber int64
	TimestampMS    int64
	Raw            []byte
}

// SnapshotCount returns the number of snapshots.
func (m *Metadata) SnapshotCount() int { return len(m.snapshots.ids) }

// Snapshot returns the snapshot with this id.
func (m *Metadata) Snapshot(id int64) (Snapshot, bool) {
	i := slices.Index(m.snapshots.ids, id)
	if i < 0 {
		return Snapshot{}, false
	}
	return m.SnapshotAt(i), true
}

// SnapshotAt returns the i-th snapshot in document order.
func (m *Metadata) SnapshotAt(i int) Snapshot {
	h := &m.snapshots.heads[i]
	return Snapshot{
		ID: m.snapshots.ids[i], ParentID: h.parent, HasParent: h.parent != noSnapshot,
		SequenceNumber: h.sequence, TimestampMS: h.timestamp, Raw: m.snapshots.raw(m.doc, i),
	}
}

func (x *snapshotIndex) raw(doc []byte, i int) []byte {
	return doc[x.body.a+int(x.heads[i].a) : x.body.a+int(x.heads[i].b)]
}

// SnapshotSummary returns the summary of a snapshot, operation included;
// false when there is no such snapshot.
func (m *Metadata) SnapshotSummary(id int64) (map[string]string, bool) {
	s, ok := m.Snapshot(id)
	if !ok {
		return nil, false
	}
	out := map[string]string{}
	for _, p := range summaryOf(s.Raw) {
		out[p.name] = p.value
	}
	return out, true
}

// summaryOf reads a snapshot's summary; what isn't a string is left out.
func summaryOf(snapshot []byte) []property {
	c := &cursor{data: snapshot}
	var list []property
	for o := c.object(); c.member(&o); {
		if string(o.key) != "summary" || c.peek() != '{' {
			c.skip()
			continue
		}
		for so := c.object(); c.member(&so); {
			key := string(so.key)
			if c.peek() == '"' {
				list = append(list, property{name: key, value: c.str(key)})
			} else {
				c.skip()
			}
		}
	}
	return list
}

// MetadataLogEntry is one entry of metadata-log: a former metadata file and
// the last-updated-ms of its document.
type MetadataLogEntry struct {
	TimestampMS  int64
	MetadataFile string
}

// MetadataLog returns the former metadata files, oldest first.
func (m *Metadata) MetadataLog() []MetadataLogEntry {
	out := make([]MetadataLogEntry, len(m.files.entries))
	for i, e := range m.files.entries {
		out[i] = MetadataLogEntry{e.timestamp, m.files.file(m.doc, i)}
	}
	return out
}

func (x *fileIndex) file(doc []byte, i int) string {
	c := cursor{data: doc[x.body.a+int(x.entries[i].fa) : x.body.a+int(x.entries[i].fb)]}
	return c.str("metadata-file")
}

// SnapshotLogEntry is one entry of snapshot-log: when a snapshot became
// current.
type SnapshotLogEntry struct {
	TimestampMS int64
	SnapshotID  int64
}

// SnapshotLog returns the changes of the current snapshot, oldest first.
func (m *Metadata) SnapshotLog() []SnapshotLogEntry {
	out := make([]SnapshotLogEntry, len(m.history.entries))
	for i, e := range m.history.entries {
		out[i] = SnapshotLogEntry{e.timestamp, e.snapshot}
	}
	return out
}

func (m *Metadata) schema(id int) (*schema, error) {
	for _, it := range m.schemas {
		if it.id == id {
			s, err := parseSchema(it.at.of(m.doc))
			if err == nil {
				s.id = id
			}
			return s, err
		}
	}
	return nil, nil
}

// boolProperty reads a property as Java does: true in any case, else false.
func boolProperty(value string) bool { return strings.EqualFold(value, "true") }

// intProperty reads a 32-bit property or returns the default; a stored value
// that is no number must not make its table unusable.
func intProperty(value string, ok bool, fallback int) int {
	if !ok {
		return fallback
	}
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		return fallback
	}
	return int(n)
}
