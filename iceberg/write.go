package iceberg

import (
	"bytes"
	"slices"
)

// writer assembles a document and, in the same pass, the index that parsing
// it would give. Members stand in the order in which Java prints them, empty
// lists included, for some clients reject their absence; unknown members
// follow.
type writer struct {
	out []byte
	m   *Metadata
}

func (w *writer) member(name string) {
	if len(w.out) > 1 {
		w.out = append(w.out, ',')
	}
	w.out = append(w.out, '"')
	w.out = append(w.out, name...)
	w.out = append(w.out, '"', ':')
}

func (w *writer) int(name string, n int64) {
	w.member(name)
	w.out = appendInt(w.out, n)
}

func (w *writer) str(name, value string) {
	w.member(name)
	w.out = appendString(w.out, value)
}

// raw appends a value and returns where it stands.
func (w *writer) raw(value []byte) span {
	a := len(w.out)
	w.out = append(w.out, value...)
	return span{a, len(w.out)}
}

// separate puts a comma unless this is the list's first element.
func (w *writer) separate(open int) {
	if len(w.out) > open {
		w.out = append(w.out, ',')
	}
}

func (w *writer) items(name string, n int, at func(i int) (id int, raw []byte)) []item {
	w.member(name)
	w.out = append(w.out, '[')
	open := len(w.out)
	list := make([]item, n)
	for i := range n {
		w.separate(open)
		id, raw := at(i)
		list[i] = item{id, w.raw(raw)}
	}
	w.out = append(w.out, ']')
	return list
}

// write builds the next document. All checks have passed.
func (b *builder) write() (*Metadata, error) {
	if b.base != nil && (b.base.schemasIncomplete || b.base.specsIncomplete || len(b.base.orders) == 0) {
		if err := b.loadAll(); err != nil {
			return nil, err
		}
	}
	log, err := b.planHistory()
	if err != nil {
		return nil, err
	}
	files := b.planFiles()

	m := &Metadata{
		formatVersion: b.formatVersion, uuid: b.uuid, location: b.location, lastColumnID: b.lastColumnID,
		currentSchemaID: b.currentSchemaID, defaultSpecID: b.defaultSpecID, lastPartitionID: b.lastPartitionID,
		defaultOrderID: b.defaultOrderID, current: b.current, facts: b.facts,
	}
	m.lastUpdated = max(b.ctx.NowMS, log.last, files.last)
	size := b.added + 4096
	if b.base != nil {
		size += len(b.base.doc)
	}
	w := &writer{out: append(make([]byte, 0, size), '{'), m: m}

	w.int("format-version", int64(b.formatVersion))
	w.str("table-uuid", b.uuid)
	w.str("location", b.location)
	if b.formatVersion > 1 {
		m.lastSequence = b.lastSequence
		w.int("last-sequence-number", m.lastSequence)
	}
	w.int("last-updated-ms", m.lastUpdated)
	w.int("last-column-id", int64(b.lastColumnID))
	b.writeSchemas(w)
	b.writeSpecs(w)
	b.writeOrders(w)
	b.writeProperties(w)
	switch {
	case b.current != noSnapshot || b.formatVersion < 3:
		w.int("current-snapshot-id", b.current)
	default:
		w.member("current-snapshot-id")
		w.raw([]byte("null"))
	}
	if b.formatVersion >= 3 {
		m.nextRowID = b.nextRowID
		w.int("next-row-id", m.nextRowID)
	}
	b.writeKeys(w)
	b.writeRefs(w)
	b.writeSnapshots(w)
	m.stats = b.writeStats(w, "statistics", false)
	m.partStats = b.writeStats(w, "partition-statistics", true)
	b.writeHistory(w, log)
	b.writeFiles(w, files)
	b.writeUnknown(w)
	w.out = append(w.out, '}')
	if len(w.out) > maxDocument {
		return nil, invalid("metadata document of %d bytes is too large", len(w.out))
	}
	m.doc = fitted(w.out)
	return m, nil
}

// fitted returns the bytes without much room behind them: documents are kept,
// and a small one would keep several times its size.
func fitted(doc []byte) []byte {
	if cap(doc)-len(doc) <= len(doc)/8 {
		return doc
	}
	return bytes.Clone(doc)[:len(doc):len(doc)]
}

func (b *builder) loadAll() error {
	if err := b.loadSchemas(); err != nil {
		return err
	}
	if err := b.loadSpecs(); err != nil {
		return err
	}
	return b.loadOrders()
}

func (b *builder) writeSchemas(w *writer) {
	n, at := len(b.schemas.items), b.schemas.at
	if !b.schemas.loaded {
		n, at = len(b.base.schemas), b.baseItems(b.base.schemas)
	}
	if b.formatVersion == 1 { // for readers from before schemas
		w.member("schema")
		w.raw(byID(n, at, b.currentSchemaID))
	}
	w.int("current-schema-id", int64(b.currentSchemaID))
	w.m.schemas = w.items("schemas", n, at)
}

func (b *builder) baseItems(list []item) func(i int) (int, []byte) {
	return func(i int) (int, []byte) { return list[i].id, list[i].at.of(b.base.doc) }
}

func byID(n int, at func(i int) (int, []byte), id int) []byte {
	for i := range n {
		if other, raw := at(i); other == id {
			return raw
		}
	}
	return nil // unreachable: build has checked it
}

func (b *builder) writeSpecs(w *writer) {
	n, at := len(b.specs.items), b.specs.at
	if !b.specs.loaded {
		n, at = len(b.base.specs), b.baseItems(b.base.specs)
	}
	if b.formatVersion == 1 { // for readers from before specs
		spec := byID(n, at, b.defaultSpecID)
		w.member("partition-spec")
		for _, m := range rawMembers(spec) {
			if m.key == "fields" {
				w.raw(spec[m.value:m.end])
			}
		}
	}
	w.int("default-spec-id", int64(b.defaultSpecID))
	w.m.specs = w.items("partition-specs", n, at)
	w.int("last-partition-id", int64(b.lastPartitionID))
}

func (b *builder) writeOrders(w *writer) {
	n, at := len(b.orders.items), b.orders.at
	if !b.orders.loaded {
		n, at = len(b.base.orders), b.baseItems(b.base.orders)
	}
	w.int("default-sort-order-id", int64(b.defaultOrderID))
	w.m.orders = w.items("sort-orders", n, at)
}

func (b *builder) writeProperties(w *writer) {
	if !b.properties.loaded {
		w.m.properties = w.oldProperties(b.base.properties, b.base.doc)
		return
	}
	w.m.properties = w.properties(&b.properties)
}

// oldProperties copies the properties of a document.
func (w *writer) oldProperties(base []propertyItem, doc []byte) []propertyItem {
	w.member("properties")
	w.out = append(w.out, '{')
	open := len(w.out)
	list := make([]propertyItem, len(base))
	for i, p := range base {
		w.separate(open)
		list[i] = propertyItem{p.name, p.value, w.raw(p.at.of(doc))}
	}
	w.out = append(w.out, '}')
	return list
}

// properties writes what is left of a list.
func (w *writer) properties(l *propertyList) []propertyItem {
	w.member("properties")
	w.out = append(w.out, '{')
	open := len(w.out)
	list := make([]propertyItem, 0, len(l.items))
	for _, p := range l.items {
		if p.removed {
			continue
		}
		w.separate(open)
		a := len(w.out)
		if p.raw != nil {
			w.out = append(w.out, p.raw...)
		} else {
			w.out = appendString(w.out, p.name)
			w.out = append(w.out, ':')
			w.out = appendString(w.out, p.value)
		}
		list = append(list, propertyItem{p.name, p.value, span{a, len(w.out)}})
	}
	w.out = append(w.out, '}')
	return list
}

func (b *builder) writeKeys(w *writer) {
	b.loadKeys()
	if !slices.ContainsFunc(b.keys.items, func(k encryptionKey) bool { return !k.removed }) {
		return
	}
	w.member("encryption-keys")
	w.out = append(w.out, '[')
	open := len(w.out)
	for _, k := range b.keys.items {
		if k.removed {
			continue
		}
		w.separate(open)
		w.m.keys = append(w.m.keys, keyItem{k.id, w.raw(k.raw)})
	}
	w.out = append(w.out, ']')
}

func (b *builder) writeRefs(w *writer) {
	b.loadRefs()
	w.member("refs")
	w.out = append(w.out, '{')
	open := len(w.out)
	for _, r := range b.refs.items {
		if r.removed {
			continue
		}
		w.separate(open)
		w.out = appendString(w.out, r.name)
		w.out = append(w.out, ':')
		w.m.refs = append(w.m.refs, refItem{r.name, r.snapshot, r.tag, w.raw(r.value())})
	}
	w.out = append(w.out, '}')
}

func (b *builder) writeStats(w *writer, name string, partition bool) []statItem {
	l := b.loadStats(partition)
	w.member(name)
	w.out = append(w.out, '[')
	open := len(w.out)
	var list []statItem
	for i := range l.items {
		if s := &l.items[i]; !s.removed {
			w.separate(open)
			list = append(list, statItem{s.snapshot, w.raw(s.raw)})
		}
	}
	w.out = append(w.out, ']')
	return list
}

func (b *builder) writeUnknown(w *writer) {
	if b.base == nil {
		return
	}
	for _, s := range b.base.unknown {
		w.out = append(w.out, ',')
		w.m.unknown = append(w.m.unknown, w.raw(s.of(b.base.doc)))
	}
}

// writeSnapshots copies what stays of the base in as few blocks as possible
// and appends what is new.
func (b *builder) writeSnapshots(w *writer) {
	w.member("snapshots")
	w.out = append(w.out, '[')
	l, x := &b.snapshots, &w.m.snapshots
	open := len(w.out)
	x.body = span{open, open}
	total := l.baseLen() + len(l.added)
	if total > 0 {
		x.ids, x.heads = make([]int64, 0, total), make([]snapshotHead, 0, total)
	}
	for i := 0; i < l.baseLen(); {
		if l.removed != nil && l.removed[i] {
			i++
			continue
		}
		j := i + 1
		for j < l.baseLen() && (l.removed == nil || !l.removed[j]) {
			j++
		}
		w.separate(open)
		from := l.base.heads[i].a
		shift := offset(len(w.out)-open) - from
		block := span{l.base.body.a + int(from), l.base.body.a + int(l.base.heads[j-1].b)}
		w.raw(block.of(b.base.doc))
		x.ids = append(x.ids, l.base.ids[i:j]...)
		for _, h := range l.base.heads[i:j] {
			h.a, h.b = h.a+shift, h.b+shift
			x.heads = append(x.heads, h)
		}
		i = j
	}
	for i := range l.added {
		s := &l.added[i]
		if s.removed {
			continue
		}
		w.separate(open)
		at := w.raw(s.raw)
		h := s.facts.head
		h.a, h.b = offset(at.a-open), offset(at.b-open)
		x.ids, x.heads = append(x.ids, s.facts.id), append(x.heads, h)
	}
	x.body.b = len(w.out)
	if len(x.ids) == 0 {
		*x = snapshotIndex{}
	}
	w.out = append(w.out, ']')
}

// historyPlan says what of the snapshot log stays.
type historyPlan struct {
	from  int // first entry of the base that stays
	added []historyEntry
	last  int64
}

// planHistory drops intermediate snapshots of this request: only the last one
// that it made current is history. When a snapshot was removed, its entry and
// everything before it go too, else the log would claim that an older snapshot
// had been current in the gap.
func (b *builder) planHistory() (historyPlan, error) {
	var base []historyEntry
	if b.base != nil {
		base = b.base.history.entries
	}
	p := historyPlan{added: b.history}
	if b.snapshots.hasRemoved {
		exists := func(e historyEntry) bool {
			_, ok := b.snapshots.find(e.snapshot)
			return ok
		}
		for i := len(base) - 1; i >= 0; i-- {
			if !exists(base[i]) {
				p.from = i + 1
				break
			}
		}
		for i := len(p.added) - 1; i >= 0; i-- {
			if !exists(p.added[i]) {
				p.from, p.added = len(base), p.added[i+1:]
				break
			}
		}
	}
	kept := make([]historyEntry, 0, len(p.added))
	intermediate := false
	for _, e := range p.added {
		if _, here := b.snapshots.addedHere(e.snapshot); here && e.snapshot != b.current {
			intermediate = true
			continue
		}
		kept = append(kept, e)
	}
	p.added = kept
	last := historyEntry{snapshot: b.current}
	if n := len(kept); n > 0 {
		last = kept[n-1]
	} else if p.from < len(base) {
		last = base[len(base)-1]
	}
	if (intermediate || b.snapshots.hasRemoved) && b.current != noSnapshot && last.snapshot != b.current {
		return p, invalid("Cannot set invalid snapshot log: latest entry is not the current snapshot")
	}
	p.last = last.timestamp
	return p, nil
}

func (b *builder) writeHistory(w *writer, p historyPlan) {
	w.member("snapshot-log")
	w.out = append(w.out, '[')
	open := len(w.out)
	x := &w.m.history
	var base []historyEntry
	if b.base != nil {
		base = b.base.history.entries[p.from:]
	}
	if len(base)+len(p.added) > 0 {
		x.entries = make([]historyEntry, 0, len(base)+len(p.added))
		x.body.a = open
	}
	if len(base) > 0 {
		from := base[0].a
		body := b.base.history.body
		w.raw(b.base.doc[body.a+int(from) : body.b])
		for _, e := range base {
			e.a, e.b = e.a-from, e.b-from
			x.entries = append(x.entries, e)
		}
	}
	for _, e := range p.added {
		w.separate(open)
		e.a = offset(len(w.out) - open)
		w.out = append(w.out, `{"timestamp-ms":`...)
		w.out = appendInt(w.out, e.timestamp)
		w.out = append(w.out, `,"snapshot-id":`...)
		w.out = appendInt(w.out, e.snapshot)
		w.out = append(w.out, '}')
		e.b = offset(len(w.out) - open)
		x.entries = append(x.entries, e)
	}
	if len(x.entries) > 0 {
		x.body.b = len(w.out)
	}
	w.out = append(w.out, ']')
}

// filesPlan says what of the metadata log stays.
type filesPlan struct {
	from int
	file string // appended unless empty
	time int64
	last int64
}

// planFiles appends the base's file with the base's time, and keeps the
// newest entries as write.metadata.previous-versions-max says.
func (b *builder) planFiles() filesPlan {
	if b.base == nil {
		return filesPlan{}
	}
	p := filesPlan{file: b.ctx.MetadataLocation, time: b.base.lastUpdated}
	old := b.base.files.entries
	if p.file == "" {
		if n := len(old); n > 0 {
			p.last = old[n-1].timestamp
		}
		return p
	}
	value, ok := b.property(PropPreviousVersionsMax)
	most := max(1, intProperty(value, ok, previousVersionsMaxDefault))
	p.from = max(0, len(old)-most+1)
	p.last = p.time
	return p
}

func (b *builder) writeFiles(w *writer, p filesPlan) {
	w.member("metadata-log")
	w.out = append(w.out, '[')
	open := len(w.out)
	x := &w.m.files
	if b.base != nil && p.from < len(b.base.files.entries) {
		old := b.base.files.entries[p.from:]
		from, body := old[0].a, b.base.files.body
		w.raw(b.base.doc[body.a+int(from) : body.b])
		x.entries = slices.Grow(x.entries, len(old)+1)
		for _, e := range old {
			e.a, e.b, e.fa, e.fb = e.a-from, e.b-from, e.fa-from, e.fb-from
			x.entries = append(x.entries, e)
		}
	}
	if p.file != "" {
		w.separate(open)
		e := fileEntry{timestamp: p.time, a: offset(len(w.out) - open)}
		w.out = append(w.out, `{"timestamp-ms":`...)
		w.out = appendInt(w.out, p.time)
		w.out = append(w.out, `,"metadata-file":`...)
		e.fa = offset(len(w.out) - open)
		w.out = appendString(w.out, p.file)
		e.fb = offset(len(w.out) - open)
		w.out = append(w.out, '}')
		e.b = offset(len(w.out) - open)
		x.entries = append(x.entries, e)
	}
	if len(x.entries) > 0 {
		x.body = span{open, len(w.out)}
	}
	w.out = append(w.out, ']')
}
