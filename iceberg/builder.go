package iceberg

import (
	"crypto/sha256"
	"fmt"
)

// BuildContext holds what is clock-like, random or known to the catalog only.
// With equal contexts [Apply] and [NewTable] give equal bytes.
type BuildContext struct {
	// NowMS is the catalog's clock, milliseconds since the epoch.
	NowMS int64
	// MetadataLocation is the file of the base document; it enters the
	// metadata log. Empty for a create.
	MetadataLocation string
	// NewUUID makes the table-uuid of a created table whose request has none.
	NewUUID func() string
	// DefaultFormatVersion is that of a table whose creator names none; 0
	// means [DefaultFormatVersion].
	DefaultFormatVersion int
	// DefaultLocation is that of a table whose creator names none.
	DefaultLocation string
}

// BuildFacts are the facts of the context that went into a document, for an
// event to carry: Context makes of them the context that builds the same
// bytes again.
type BuildFacts struct {
	NowMS                int64  `json:"now-ms"`
	MetadataLocation     string `json:"previous-metadata-location,omitempty"`
	UUID                 string `json:"generated-uuid,omitempty"`
	DefaultFormatVersion int    `json:"default-format-version,omitempty"`
	DefaultLocation      string `json:"default-location,omitempty"`
}

// Context returns the context that these facts were taken from, as far as it
// was used.
func (f BuildFacts) Context() BuildContext {
	return BuildContext{
		NowMS: f.NowMS, MetadataLocation: f.MetadataLocation, NewUUID: func() string { return f.UUID },
		DefaultFormatVersion: f.DefaultFormatVersion, DefaultLocation: f.DefaultLocation,
	}
}

// Facts returns what a built document was built from; it is zero for a
// parsed one.
func (m *Metadata) Facts() BuildFacts { return m.facts }

// Apply applies updates in order to base and builds the next document; base
// is nil for a create by commit. When nothing changed it returns base itself
// and false. Requirements are checked apart, see [CheckRequirements]. A
// violated rule is an [Error] of kind BadRequest, IllegalArgument, Validation
// or StaleCommit.
func Apply(base *Metadata, updates []Update, ctx BuildContext) (next *Metadata, changed bool, err error) {
	b := newBuilder(base, ctx)
	if base == nil {
		b.formatVersion = initialFormatVersion(updates, ctx)
	}
	for _, u := range updates {
		if err := u.change.apply(b); err != nil {
			return nil, false, err
		}
		b.added += 2*len(u.raw) + 64
	}
	return b.build()
}

// initialFormatVersion is that of the first upgrade in a create commit, for a
// v1 table could not be made otherwise.
func initialFormatVersion(updates []Update, ctx BuildContext) int {
	for _, u := range updates {
		switch ch := u.change.(type) {
		case upgradeFormatVersion:
			if ch.version >= MinFormatVersion && ch.version <= MaxFormatVersion {
				return ch.version
			}
		case setProperties:
			if v, ok, err := ch.formatVersion(); ok && err == nil && v >= MinFormatVersion && v <= MaxFormatVersion {
				return v
			}
		}
	}
	return ctx.formatVersion()
}

func (ctx BuildContext) formatVersion() int {
	if ctx.DefaultFormatVersion != 0 {
		return ctx.DefaultFormatVersion
	}
	return DefaultFormatVersion
}

// builder is the state between a base and the next document. Lists are taken
// over from the base only when an update touches them; what stays untouched
// is copied as bytes.
type builder struct {
	base    *Metadata // nil for a create
	ctx     BuildContext
	changed bool
	facts   BuildFacts
	added   int // rough size of what comes new

	formatVersion   int
	uuid, location  string
	lastSequence    int64
	lastColumnID    int
	currentSchemaID int
	defaultSpecID   int
	lastPartitionID int
	defaultOrderID  int
	current         int64
	nextRowID       int64

	// requestSequence is Java's last sequence number, which a snapshot without
	// parent may lower; lastSequence keeps the highest.
	requestSequence int64

	schemas    parts[*schema]
	specs      parts[*partitionSpec]
	orders     parts[*sortOrder]
	properties propertyList
	refs       refList
	keys       keyList
	stats      statList
	partStats  statList
	snapshots  snapshotList
	history    []historyEntry // appended to the base's

	// partitionIDs maps what a partition field does to the id it has in the
	// oldest spec; made when a client leaves field ids to the server.
	partitionIDs map[string]int

	lastAddedSchema, lastAddedSpec, lastAddedOrder int // -1 when none
	checkDefaults                                  bool
}

type ref struct {
	name     string
	snapshot int64
	tag      bool
	raw      []byte
	removed  bool
}

type encryptionKey struct {
	id      string
	raw     []byte
	removed bool
}

func newBuilder(base *Metadata, ctx BuildContext) *builder {
	b := &builder{
		base: base, ctx: ctx, facts: BuildFacts{NowMS: ctx.NowMS},
		lastAddedSchema: -1, lastAddedSpec: -1, lastAddedOrder: -1,
	}
	if base == nil {
		b.current, b.lastPartitionID = noSnapshot, firstPartitionID-1
		b.currentSchemaID, b.defaultSpecID, b.defaultOrderID = -1, -1, -1
		b.schemas.loaded, b.specs.loaded, b.orders.loaded = true, true, true
		b.properties.loaded, b.refs.loaded, b.keys.loaded = true, true, true
		b.stats.loaded, b.partStats.loaded = true, true
		b.changed, b.checkDefaults = true, true
		b.facts.DefaultFormatVersion = ctx.formatVersion()
		return b
	}
	b.facts.MetadataLocation = ctx.MetadataLocation
	b.formatVersion, b.uuid, b.location = base.formatVersion, base.uuid, base.location
	b.lastSequence, b.requestSequence = base.lastSequence, base.lastSequence
	b.lastColumnID, b.currentSchemaID = base.lastColumnID, base.currentSchemaID
	b.defaultSpecID, b.lastPartitionID = base.defaultSpecID, base.lastPartitionID
	b.defaultOrderID, b.current, b.nextRowID = base.defaultOrderID, base.current, base.nextRowID
	b.snapshots.base = &base.snapshots
	return b
}

func (b *builder) loadSchemas() error {
	if b.schemas.loaded {
		return nil
	}
	return loadSchemas(&b.schemas, b.base.schemas, b.base.doc, b.base.schemasIncomplete)
}

// loadSchemas decodes the schemas of a document; incomplete says that one of
// them lacks its id.
func loadSchemas(list *parts[*schema], items []item, doc []byte, incomplete bool) error {
	for _, it := range items {
		raw := it.at.of(doc)
		if incomplete {
			raw = withSchemaID(raw, it.id)
		}
		s, err := parseSchema(raw)
		if err != nil {
			return within("schema "+itoa(it.id), err)
		}
		s.id = it.id
		list.items = append(list.items, s)
	}
	list.loaded = true
	return nil
}

// schemaToBind returns the schema that specs and orders are added against: the
// current one or, in a create that has not set it yet, the one added last
// (DuckDB sets it at the very end; what becomes the default is checked once more
// against what became current). It returns nil when there is none.
func (b *builder) schemaToBind() (*schema, error) {
	if err := b.loadSchemas(); err != nil {
		return nil, err
	}
	id := b.currentSchemaID
	if id < 0 {
		id = b.lastAddedSchema
	}
	s, _ := b.schemas.get(id)
	return s, nil
}

func (b *builder) loadSpecs() error {
	if b.specs.loaded {
		return nil
	}
	for _, it := range b.base.specs {
		s, err := b.base.spec(it)
		if err != nil {
			return within("partition spec "+itoa(it.id), err)
		}
		if b.base.specsIncomplete {
			s.raw = s.withIDs(it.id)
		}
		b.specs.items = append(b.specs.items, s)
	}
	b.specs.loaded = true
	return nil
}

func (b *builder) loadOrders() error {
	if b.orders.loaded {
		return nil
	}
	for _, it := range b.base.orders {
		s, err := parseOrder(it.at.of(b.base.doc))
		if err != nil {
			return within("sort order "+itoa(it.id), err)
		}
		s.id = it.id
		b.orders.items = append(b.orders.items, s)
	}
	if len(b.base.orders) == 0 { // v1 from before sort orders
		b.orders.items = append(b.orders.items, &sortOrder{raw: []byte(`{"order-id":0,"fields":[]}`)})
	}
	b.orders.loaded = true
	return nil
}

func (b *builder) loadProperties() {
	if !b.properties.loaded {
		b.properties.load(b.base.properties, b.base.doc)
	}
}

func (b *builder) property(name string) (string, bool) {
	if !b.properties.loaded {
		return b.base.Property(name)
	}
	return b.properties.get(name)
}

func (b *builder) loadRefs() {
	if b.refs.loaded {
		return
	}
	b.refs.items = make([]ref, len(b.base.refs), len(b.base.refs)+1)
	for i := range b.base.refs {
		r := &b.base.refs[i]
		b.refs.items[i] = ref{name: r.name, snapshot: r.snapshot, tag: r.tag, raw: r.at.of(b.base.doc)}
	}
	b.refs.loaded = true
}

func (b *builder) loadKeys() {
	if b.keys.loaded {
		return
	}
	for _, k := range b.base.keys {
		b.keys.items = append(b.keys.items, encryptionKey{id: k.id, raw: k.at.of(b.base.doc)})
	}
	b.keys.loaded = true
}

// newUUID makes the table-uuid that neither document nor request has. An old
// v1 document gets one from its own bytes, so that replay needs no more than
// the document; a created table gets the catalog's.
func (b *builder) newUUID() string {
	if b.base != nil {
		sum := sha256.Sum256(b.base.doc)
		sum[6] = sum[6]&0x0f | 0x80 // version 8: made by a rule of one's own (RFC 9562)
		sum[8] = sum[8]&0x3f | 0x80
		return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
	}
	if b.ctx.NewUUID == nil {
		return ""
	}
	b.facts.UUID = b.ctx.NewUUID()
	return b.facts.UUID
}

// build runs the final checks and writes the document.
func (b *builder) build() (*Metadata, bool, error) {
	if err := b.checkProperties(); err != nil {
		return nil, false, err
	}
	if b.propertiesChanged() {
		b.changed = true
	}
	if !b.changed {
		return b.base, false, nil
	}
	if b.uuid == "" {
		b.uuid = b.newUUID()
	}
	if b.location == "" && b.base == nil {
		b.location = stripTrailingSlash(b.ctx.DefaultLocation)
		b.facts.DefaultLocation = b.location
	}
	if err := b.check(); err != nil {
		return nil, false, err
	}
	next, err := b.write()
	if err != nil {
		return nil, false, err
	}
	return next, true, nil
}

// check holds the build-time checks. Those on schema, spec and order run when
// the request touched one of them, so that an old fault of a registered
// document doesn't stop its writers.
func (b *builder) check() error {
	switch {
	case b.uuid == "":
		return illegal("UUID is required in format v%d", b.formatVersion)
	case b.location == "":
		return illegal("Invalid location: empty")
	case b.formatVersion == 1 && b.lastSequence != 0:
		return illegal("Sequence number must be 0 in v1: %d", b.lastSequence)
	}
	if !b.checkDefaults {
		return nil
	}
	if err := b.loadAll(); err != nil {
		return err
	}
	current, _ := b.schemas.get(b.currentSchemaID)
	switch {
	case current == nil:
		return invalid("Cannot find current schema: %d", b.currentSchemaID)
	case len(b.specs.items) == 0:
		return illegal("Partition specs cannot be null or empty")
	case len(b.orders.items) == 0:
		return illegal("Sort orders cannot be null or empty")
	}
	spec, ok := b.specs.get(b.defaultSpecID)
	if !ok {
		return invalid("Cannot find default partition spec: %d", b.defaultSpecID)
	}
	if err := spec.checkSources(current); err != nil {
		return err
	}
	order, ok := b.orders.get(b.defaultOrderID)
	if !ok {
		return invalid("Cannot find default sort order: %d", b.defaultOrderID)
	}
	return order.checkSources(current)
}
