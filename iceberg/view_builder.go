package iceberg

import (
	"slices"
	"strconv"
	"strings"
)

// ApplyView applies updates in order to base and builds the next document.
// When nothing changed it returns base itself and false. Requirements are
// checked apart, see [CheckViewRequirements]. A violated rule is an [Error] of
// kind BadRequest, IllegalArgument or Validation. Of the context only the clock
// is used.
func ApplyView(base *ViewMetadata, updates []ViewUpdate, ctx BuildContext) (next *ViewMetadata, changed bool, err error) {
	b := newViewBuilder(base, ctx)
	for _, u := range updates {
		if err := u.change.applyView(b); err != nil {
			return nil, false, err
		}
		b.size += 2*len(u.raw) + 64
	}
	return b.build()
}

// viewBuilder is the state between a base and the next document. Lists are
// taken over from the base only when an update touches them.
type viewBuilder struct {
	base    *ViewMetadata // nil for a create
	ctx     BuildContext
	facts   BuildFacts
	changed bool
	size    int // rough size of what comes new

	uuid, location   string
	currentVersionID int

	schemas    parts[*schema]
	versions   parts[*viewVersion]
	properties propertyList
	entry      *viewLogItem // to be appended to the log
	added      map[int]bool // versions that came with this request

	lastAddedSchema  int          // -1 when none
	lastAddedVersion *viewVersion // nil when none
}

func newViewBuilder(base *ViewMetadata, ctx BuildContext) *viewBuilder {
	b := &viewBuilder{base: base, ctx: ctx, facts: BuildFacts{NowMS: ctx.NowMS}, added: map[int]bool{}, lastAddedSchema: -1}
	if base == nil {
		b.schemas.loaded, b.versions.loaded, b.properties.loaded = true, true, true
		b.changed = true
		return b
	}
	b.uuid, b.location, b.currentVersionID = base.uuid, base.location, base.currentVersionID
	b.size = len(base.doc) + 256
	return b
}

func (b *viewBuilder) loadSchemas() error {
	if b.schemas.loaded {
		return nil
	}
	return loadSchemas(&b.schemas, b.base.schemas, b.base.doc, b.base.schemasIncomplete)
}

func (b *viewBuilder) loadVersions() error {
	if b.versions.loaded {
		return nil
	}
	for _, it := range b.base.versions {
		v, err := parseViewVersion(it.at.of(b.base.doc))
		if err != nil {
			return within("version "+itoa(it.id), err)
		}
		b.versions.items = append(b.versions.items, v)
	}
	b.versions.loaded = true
	return nil
}

func (b *viewBuilder) loadProperties() {
	if b.base != nil {
		b.properties.load(b.base.properties, b.base.doc)
	}
}

func (b *viewBuilder) property(name string) (string, bool) {
	if !b.properties.loaded {
		return b.base.Property(name)
	}
	return b.properties.get(name)
}

// build runs the final checks and writes the document.
func (b *viewBuilder) build() (*ViewMetadata, bool, error) {
	if err := b.checkProperties(); err != nil {
		return nil, false, err
	}
	if b.base != nil && b.properties.loaded && b.properties.differs(b.base.properties) {
		b.changed = true
	}
	if !b.changed {
		return b.base, false, nil
	}
	if b.location == "" {
		b.location = stripTrailingSlash(b.ctx.DefaultLocation)
		b.facts.DefaultLocation = b.location
	}
	if b.location == "" {
		return nil, false, illegal("Invalid location: empty")
	}
	if err := b.loadVersions(); err != nil {
		return nil, false, err
	}
	if err := b.checkDialects(); err != nil {
		return nil, false, err
	}
	if b.uuid == "" && b.ctx.NewUUID != nil {
		b.uuid = b.ctx.NewUUID()
		b.facts.UUID = b.uuid
	}
	if b.uuid == "" {
		return nil, false, illegal("Cannot set uuid to null")
	}
	next, err := b.write()
	return next, err == nil, err
}

// checkProperties holds the rules for properties that this request sets. What
// a stored document holds already is taken as it is.
func (b *viewBuilder) checkProperties() error {
	if !b.properties.loaded {
		return nil
	}
	set := func(name string) (string, bool) {
		value, ok := b.property(name)
		if ok && b.base != nil {
			if was, had := b.base.Property(name); had && was == value {
				return "", false
			}
		}
		return value, ok
	}
	if codec, ok := set(PropMetadataCompression); ok {
		if err := checkProperty(PropMetadataCompression, codec); err != nil {
			return err
		}
	}
	if value, ok := set(PropViewHistorySize); ok {
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil {
			return invalid("View property %s must have integer value", PropViewHistorySize)
		}
		if n <= 0 {
			return illegal("%s must be positive but was %d", PropViewHistorySize, n)
		}
	}
	if b.flag(PropViewDropDialect) && b.flag(PropViewAppendDialect) {
		return illegal("Cannot set both %s and %s to true", PropViewDropDialect, PropViewAppendDialect)
	}
	return nil
}

func (b *viewBuilder) flag(name string) bool {
	value, _ := b.property(name)
	return boolProperty(value)
}

// checkDialects refuses to take a dialect away from the engines that read the
// view, unless the view allows it.
func (b *viewBuilder) checkDialects() error {
	if b.base == nil || b.base.currentVersionID == b.currentVersionID || b.flag(PropViewDropDialect) {
		return nil
	}
	was, _ := b.base.version(b.base.currentVersionID)
	now, _ := b.versions.get(b.currentVersionID)
	for _, d := range was.dialects {
		if !slices.Contains(now.dialects, d) {
			return invalid("Cannot replace view due to loss of view dialects (%s=false):\nPrevious dialects: %s\nNew dialects: %s",
				PropViewDropDialect, dialectSet(was.dialects), dialectSet(now.dialects))
		}
	}
	return nil
}

// dialectSet prints dialects as Java prints a set, but in one order.
func dialectSet(list []string) string {
	sorted := slices.Clone(list)
	slices.Sort(sorted)
	return "[" + clip([]byte(strings.Join(slices.Compact(sorted), ", "))) + "]"
}

// expire returns the versions that stay: the current one and those added here
// in any case, and the newest by id, as many as the view keeps. It changes no
// order. The base's list has been loaded.
func (b *viewBuilder) expire() []*viewVersion {
	value, ok := b.property(PropViewHistorySize)
	most := intProperty(value, ok, viewHistorySizeDefault)
	if most <= 0 {
		most = viewHistorySizeDefault
	}
	needed := len(b.added)
	if !b.added[b.currentVersionID] {
		needed++
	}
	most = max(most, needed)
	list := b.versions.items
	if len(list) <= most {
		return list
	}
	ids := make([]int, 0, len(list))
	for _, v := range list {
		if v.id != b.currentVersionID {
			ids = append(ids, v.id)
		}
	}
	slices.Sort(ids)
	gone := make(map[int]bool, len(list)-most)
	for _, id := range ids[:len(list)-most] {
		gone[id] = true
	}
	return slices.DeleteFunc(slices.Clone(list), func(v *viewVersion) bool { return gone[v.id] })
}

// planLog returns the log's entries that stay, those of the base by their
// place. Past a version that is gone nothing is known, so what came before goes
// too.
func (b *viewBuilder) planLog(kept []*viewVersion) []viewLogItem {
	var list []viewLogItem
	if b.base != nil {
		list = slices.Clone(b.base.log)
	}
	if b.entry != nil {
		list = append(list, *b.entry)
	}
	if len(kept) == len(b.versions.items) {
		return list
	}
	for i := len(list) - 1; i >= 0; i-- {
		if !slices.ContainsFunc(kept, func(v *viewVersion) bool { return v.id == list[i].version }) {
			return list[i+1:]
		}
	}
	return list
}

// write builds the next document. All checks have passed. Members stand in the
// order in which Java prints them; unknown members follow.
func (b *viewBuilder) write() (*ViewMetadata, error) {
	kept := b.expire()
	log := b.planLog(kept)
	m := &ViewMetadata{
		formatVersion: ViewFormatVersion, uuid: b.uuid, location: b.location, currentVersionID: b.currentVersionID, facts: b.facts,
	}
	w := &writer{out: append(make([]byte, 0, b.size+512), '{')}
	w.str("view-uuid", b.uuid)
	w.int("format-version", ViewFormatVersion)
	w.str("location", b.location)
	if b.properties.loaded {
		m.properties = w.properties(&b.properties)
	} else {
		m.properties = w.oldProperties(b.base.properties, b.base.doc)
	}
	if b.base != nil && b.base.schemasIncomplete {
		if err := b.loadSchemas(); err != nil {
			return nil, err
		}
	}
	if b.schemas.loaded {
		m.schemas = w.items("schemas", len(b.schemas.items), b.schemas.at)
	} else {
		m.schemas = w.items("schemas", len(b.base.schemas), func(i int) (int, []byte) {
			return b.base.schemas[i].id, b.base.schemas[i].at.of(b.base.doc)
		})
	}
	w.int("current-version-id", int64(b.currentVersionID))
	at := w.items("versions", len(kept), func(i int) (int, []byte) { return kept[i].id, kept[i].raw })
	for i, v := range kept {
		m.versions = append(m.versions, v.item(at[i].at))
	}
	b.writeLog(w, m, log)
	if b.base != nil {
		for _, s := range b.base.unknown {
			w.out = append(w.out, ',')
			m.unknown = append(m.unknown, w.raw(s.of(b.base.doc)))
		}
	}
	w.out = append(w.out, '}')
	if len(w.out) > maxDocument {
		return nil, invalid("metadata document of %d bytes is too large", len(w.out))
	}
	m.doc = w.out
	return m, nil
}

func (b *viewBuilder) writeLog(w *writer, m *ViewMetadata, log []viewLogItem) {
	w.member("version-log")
	w.out = append(w.out, '[')
	open := len(w.out)
	for _, e := range log {
		w.separate(open)
		if e.at.empty() {
			a := len(w.out)
			w.out = append(w.out, `{"timestamp-ms":`...)
			w.out = appendInt(w.out, e.timestamp)
			w.out = append(w.out, `,"version-id":`...)
			w.out = append(appendInt(w.out, int64(e.version)), '}')
			e.at = span{a, len(w.out)}
		} else {
			e.at = w.raw(e.at.of(b.base.doc))
		}
		m.log = append(m.log, e)
	}
	w.out = append(w.out, ']')
}
