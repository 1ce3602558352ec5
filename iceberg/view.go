package iceberg

import "strings"

// ViewFormatVersion is the one version of the view format (Iceberg view spec).
const ViewFormatVersion = 1

// View properties that the catalog itself reads (Java's ViewProperties).
// write.metadata.path and write.metadata.compression-codec mean the same as for
// tables.
const (
	PropViewHistorySize   = "version.history.num-entries"
	PropViewDropDialect   = "replace.drop-dialect.allowed"
	PropViewAppendDialect = "replace.append-dialect.allowed"

	viewHistorySizeDefault = 10
)

// ViewMetadata is a view metadata document (Iceberg view spec, View Metadata):
// its bytes, and an index of the parts the rules need. It never changes and may
// be shared.
type ViewMetadata struct {
	doc []byte

	formatVersion    int
	uuid             string
	location         string
	currentVersionID int

	schemas    []item
	versions   []viewVersionItem
	log        []viewLogItem // version-log
	properties []propertyItem
	unknown    []span // top-level members this package does not know

	// schemasIncomplete tells that a schema lacks its id, which a rewrite then
	// fills in.
	schemasIncomplete bool

	facts BuildFacts
}

// viewVersionItem is an element of versions.
type viewVersionItem struct {
	id, schemaID int
	timestamp    int64
	dialects     []string // of its SQL, in lower case
	at           span
}

// viewLogItem is an element of version-log.
type viewLogItem struct {
	timestamp int64
	version   int
	at        span
}

// Bytes returns the document, exactly as parsed or as built. The caller must
// not write to it.
func (m *ViewMetadata) Bytes() []byte { return m.doc }

// FormatVersion returns format-version, which is 1.
func (m *ViewMetadata) FormatVersion() int { return m.formatVersion }

// UUID returns view-uuid as written.
func (m *ViewMetadata) UUID() string { return m.uuid }

// Location returns the view's base location.
func (m *ViewMetadata) Location() string { return m.location }

// CurrentVersionID returns current-version-id.
func (m *ViewMetadata) CurrentVersionID() int { return m.currentVersionID }

// Property returns one view property.
func (m *ViewMetadata) Property(name string) (string, bool) {
	for i := range m.properties {
		if m.properties[i].name == name {
			return m.properties[i].value, true
		}
	}
	return "", false
}

// Properties returns the view properties as a new map.
func (m *ViewMetadata) Properties() map[string]string {
	out := make(map[string]string, len(m.properties))
	for _, p := range m.properties {
		out[p.name] = p.value
	}
	return out
}

// ViewVersion is the header of a version. Raw is its object in the document.
type ViewVersion struct {
	ID          int
	SchemaID    int
	TimestampMS int64
	Dialects    []string // of its SQL representations, in lower case
	Raw         []byte
}

// Versions returns all versions in document order.
func (m *ViewMetadata) Versions() []ViewVersion {
	out := make([]ViewVersion, len(m.versions))
	for i, v := range m.versions {
		out[i] = ViewVersion{v.id, v.schemaID, v.timestamp, append([]string(nil), v.dialects...), v.at.of(m.doc)}
	}
	return out
}

// ViewLogEntry is one entry of version-log: when a version became current.
type ViewLogEntry struct {
	TimestampMS int64
	VersionID   int
}

// VersionLog returns the changes of the current version, oldest first.
func (m *ViewMetadata) VersionLog() []ViewLogEntry {
	out := make([]ViewLogEntry, len(m.log))
	for i, e := range m.log {
		out[i] = ViewLogEntry{e.timestamp, e.version}
	}
	return out
}

// Facts returns what a built document was built from; it is zero for a parsed
// one.
func (m *ViewMetadata) Facts() BuildFacts { return m.facts }

// MetadataDir returns the directory for metadata files, without a slash at its
// end.
func (m *ViewMetadata) MetadataDir() string {
	if dir, ok := m.Property(PropMetadataPath); ok && dir != "" {
		return stripTrailingSlash(dir)
	}
	return stripTrailingSlash(m.location) + "/metadata"
}

// Gzip says whether the view asks for compressed metadata files. Java
// compresses unless told otherwise; here plain is the default, as for tables,
// for there are readers that know no gzip.
func (m *ViewMetadata) Gzip() bool {
	codec, _ := m.Property(PropMetadataCompression)
	return strings.EqualFold(codec, "gzip")
}

// NextViewFile is [NextMetadataFile] for a view.
func NextViewFile(m *ViewMetadata, previous, uuid string) string {
	return nextFile(m.MetadataDir(), m.Gzip(), previous, uuid)
}

// EncodeViewFile is [EncodeFile] for a view.
func EncodeViewFile(m *ViewMetadata) (data []byte, compressed bool) {
	if !m.Gzip() {
		return m.doc, false
	}
	return gzipped(m.doc), true
}

func (m *ViewMetadata) version(id int) (*viewVersionItem, bool) {
	for i := range m.versions {
		if m.versions[i].id == id {
			return &m.versions[i], true
		}
	}
	return nil, false
}
