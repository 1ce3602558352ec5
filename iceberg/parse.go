package iceberg

import (
	"fmt"
	"slices"
)

// known lists the top-level members this package writes itself; all others
// are carried along.
func known(member string) bool {
	switch member {
	case "format-version", "table-uuid", "location", "last-sequence-number", "last-updated-ms", "last-column-id",
		"schema", "current-schema-id", "schemas", "partition-spec", "default-spec-id", "partition-specs",
		"last-partition-id", "default-sort-order-id", "sort-orders", "properties", "current-snapshot-id",
		"next-row-id", "encryption-keys", "refs", "snapshots", "statistics", "partition-statistics",
		"snapshot-log", "metadata-log":
		return true
	}
	return false
}

// parser holds what a document says before it is put in order.
type parser struct {
	cursor
	m *Metadata
	// has tells which members are there and not null.
	has map[string]bool

	lastSequence, nextRowID int64
	oldSchema, oldSpec      span // v1's single schema and partition fields
}

// ParseMetadata reads a table metadata document of format 1, 2 or 3. It
// accepts what the Java reference reads and rejects what that cannot read;
// members it does not know are kept. doc must not be changed afterwards. The
// error is an [Error] of kind BadRequest, Validation or Unsupported.
func ParseMetadata(doc []byte) (*Metadata, error) {
	m, err := parseMetadata(doc)
	if err != nil {
		return nil, within("Cannot parse table metadata", err)
	}
	return m, nil
}

func parseMetadata(doc []byte) (*Metadata, error) {
	if len(doc) > maxDocument {
		return nil, badRequest("document of %d bytes is too large", len(doc))
	}
	p := &parser{cursor: cursor{data: doc}, has: make(map[string]bool, 32)}
	p.m = &Metadata{doc: doc, current: noSnapshot}
	if p.peek() != '{' {
		return nil, badRequest("Cannot parse metadata from a non-object")
	}
	for o := p.object(); p.member(&o); {
		key := string(o.key)
		if !known(key) {
			p.skip()
			p.m.unknown = append(p.m.unknown, span{o.keyAt, p.pos})
			continue
		}
		if p.null() {
			continue
		}
		p.has[key] = true
		p.topMember(key)
	}
	p.end()
	if p.err != nil {
		return nil, p.err
	}
	if err := p.complete(); err != nil {
		return nil, err
	}
	return p.m, p.m.validate()
}

func (p *parser) topMember(key string) {
	m := p.m
	switch key {
	case "format-version":
		m.formatVersion = p.int(key)
	case "table-uuid":
		m.uuid = p.str(key)
	case "location":
		m.location = p.str(key)
	case "last-sequence-number":
		p.lastSequence = p.int64(key)
	case "last-updated-ms":
		m.lastUpdated = p.int64(key)
	case "last-column-id":
		m.lastColumnID = p.int(key)
	case "schema":
		p.oldSchema = p.skip()
	case "current-schema-id":
		m.currentSchemaID = p.int(key)
	case "schemas":
		m.schemas = p.items(key, "schema-id")
	case "partition-spec":
		p.oldSpec = p.skip()
	case "default-spec-id":
		m.defaultSpecID = p.int(key)
	case "partition-specs":
		m.specs = p.items(key, "spec-id")
	case "last-partition-id":
		m.lastPartitionID = p.int(key)
	case "default-sort-order-id":
		m.defaultOrderID = p.int(key)
	case "sort-orders":
		m.orders = p.items(key, "order-id")
	case "properties":
		p.readProperties()
	case "current-snapshot-id":
		m.current = p.int64(key)
	case "next-row-id":
		p.nextRowID = p.int64(key)
	case "encryption-keys":
		p.readKeys()
	case "refs":
		p.readRefs()
	case "snapshots":
		p.readSnapshots()
	case "statistics":
		m.stats = p.readStats(key)
	case "partition-statistics":
		m.partStats = p.readStats(key)
	case "snapshot-log":
		p.readHistory()
	case "metadata-log":
		p.readFiles()
	}
}

// items indexes an array of objects that have a 32-bit id.
func (p *parser) items(member, idMember string) []item {
	list, seen := []item{}, map[int]bool{}
	if p.peek() != '[' {
		p.mistyped("a list", member)
		return nil
	}
	for a := p.array(); p.element(&a); {
		if p.peek() != '{' {
			p.mistyped("an object", member)
			return nil
		}
		it := item{id: -1}
		it.at.a = p.pos
		for o := p.object(); p.member(&o); {
			if string(o.key) == idMember && !p.null() {
				it.id = p.int(idMember)
			} else if string(o.key) != idMember {
				p.skip()
			}
		}
		it.at.b = p.pos
		if p.err == nil && it.id < 0 {
			if idMember != "schema-id" {
				p.reject(missing("int", idMember))
				return nil
			}
			it.id = 0 // Java's default for a schema without id
			p.m.schemasIncomplete = true
		}
		if seen[it.id] {
			p.reject(invalid("duplicate %s: %d", idMember, it.id))
		}
		seen[it.id] = true
		list = append(list, it)
	}
	return list
}

func (p *parser) readProperties() {
	if p.peek() != '{' {
		p.mistyped("a string map", "properties")
		return
	}
	list := []propertyItem{}
	for o := p.object(); p.member(&o); {
		name := string(o.key)
		value := p.tenantText(name)
		list = append(list, propertyItem{name, value, span{o.keyAt, p.pos}})
	}
	p.m.properties = list
}

func (p *parser) readKeys() {
	if p.peek() != '[' {
		p.mistyped("a list", "encryption-keys")
		return
	}
	seen := map[string]bool{}
	for a := p.array(); p.element(&a); {
		id, at := p.encryptionKey()
		if seen[id] {
			p.reject(invalid("duplicate encryption key: %s", clip([]byte(id))))
		}
		seen[id] = true
		p.m.keys = append(p.m.keys, keyItem{id, at})
	}
}

func (p *parser) readRefs() {
	if p.peek() != '{' {
		p.mistyped("a map of references", "refs")
		return
	}
	for o := p.object(); p.member(&o); {
		name := string(o.key)
		r := p.refValue()
		p.m.refs = append(p.m.refs, refItem{name: name, snapshot: r.snapshot, tag: r.tag, at: r.at})
	}
}

func (p *parser) readStats(member string) []statItem {
	if p.peek() != '[' {
		p.mistyped("a list", member)
		return nil
	}
	var list []statItem
	for a := p.array(); p.element(&a); {
		id, at := p.statistics(member)
		list = append(list, statItem{id, at})
	}
	return list
}

// complete fills in what older formats leave out (Java's
// TableMetadataParser.fromJson).
func (p *parser) complete() error {
	m := p.m
	if !p.has["format-version"] {
		return missing("int", "format-version")
	}
	if m.formatVersion < MinFormatVersion || m.formatVersion > MaxFormatVersion {
		return errorf(Unsupported, "Cannot read unsupported version %d", m.formatVersion)
	}
	for _, need := range []struct{ kind, member string }{
		{"string", "location"}, {"int", "last-column-id"}, {"long", "last-updated-ms"},
	} {
		if !p.has[need.member] {
			return missing(need.kind, need.member)
		}
	}
	if m.formatVersion > 1 {
		if !p.has["table-uuid"] {
			return illegal("UUID is required in format v%d", m.formatVersion)
		}
		if !p.has["last-sequence-number"] {
			return missing("long", "last-sequence-number")
		}
		m.lastSequence = p.lastSequence
		for _, member := range []string{"schemas", "partition-specs", "sort-orders", "last-partition-id"} {
			if !p.has[member] {
				return badRequest("%s must exist in format v%d", member, m.formatVersion)
			}
		}
	}
	if m.formatVersion >= 3 {
		if !p.has["next-row-id"] {
			return missing("long", "next-row-id")
		}
		m.nextRowID = p.nextRowID
	}
	for _, step := range []func() error{p.completeSchemas, p.completeSpecs, p.completeOrders, p.completeRefs} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) completeSchemas() error {
	m := p.m
	if p.has["schemas"] {
		if !p.has["current-schema-id"] {
			return missing("int", "current-schema-id")
		}
	} else {
		if !p.has["schema"] {
			return missing("field", "schema")
		}
		s, err := parseSchema(p.oldSchema.of(m.doc))
		if err != nil {
			return err
		}
		m.schemas = []item{{s.id, p.oldSchema}}
		m.schemasIncomplete = true
		m.currentSchemaID = s.id
	}
	s, err := m.schema(m.currentSchemaID)
	if err != nil {
		return within("current schema", err)
	}
	if s == nil {
		return invalid("Cannot find schema with current-schema-id=%d from schemas", m.currentSchemaID)
	}
	return nil
}

func (p *parser) completeSpecs() error {
	m := p.m
	highest := firstPartitionID - 1
	if p.has["partition-specs"] {
		if !p.has["default-spec-id"] {
			return missing("int", "default-spec-id")
		}
		for _, it := range m.specs {
			s, err := parseSpec(it.at.of(m.doc))
			if err != nil {
				return err
			}
			if complete, err := s.fillIDs(m.formatVersion); err != nil {
				return err
			} else if !complete {
				m.specsIncomplete = true
			}
			highest = max(highest, s.highestID())
		}
		if !hasItem(m.specs, m.defaultSpecID) {
			return invalid("Cannot find partition spec with default-spec-id=%d from partition-specs", m.defaultSpecID)
		}
	} else {
		if !p.has["partition-spec"] {
			return missing("field", "partition-spec")
		}
		m.specs, m.defaultSpecID = []item{{0, p.oldSpec}}, 0
		s, err := m.spec(m.specs[0])
		if err != nil {
			return err
		}
		m.specsIncomplete = true
		highest = s.highestID()
	}
	if !p.has["last-partition-id"] {
		m.lastPartitionID = highest
	}
	return nil
}

// spec decodes one spec; v1's bare list of partition fields becomes spec 0.
func (m *Metadata) spec(it item) (*partitionSpec, error) {
	raw := it.at.of(m.doc)
	if raw[0] == '[' {
		raw = fmt.Appendf(nil, `{"spec-id":0,"fields":%s}`, raw)
	}
	s, err := parseSpec(raw)
	if err != nil {
		return nil, err
	}
	s.id = it.id
	_, err = s.fillIDs(m.formatVersion)
	return s, err
}

// fillIDs numbers fields without id from 1000, as v1 means it; complete tells
// that none lacked one.
func (s *partitionSpec) fillIDs(formatVersion int) (complete bool, err error) {
	complete = true
	for i := range s.fields {
		f := &s.fields[i]
		if f.hasID {
			continue
		}
		if formatVersion > 1 {
			return false, missing("int", "field-id")
		}
		f.id, complete = firstPartitionID+i, false
	}
	return complete, nil
}

func (p *parser) completeOrders() error {
	m := p.m
	if !p.has["sort-orders"] {
		m.defaultOrderID = 0 // unsorted; written on the next commit
		return nil
	}
	if !p.has["default-sort-order-id"] {
		return missing("int", "default-sort-order-id")
	}
	for _, it := range m.orders {
		if _, err := parseOrder(it.at.of(m.doc)); err != nil {
			return err
		}
	}
	if !hasItem(m.orders, m.defaultOrderID) {
		return invalid("Cannot find sort order with default-sort-order-id=%d from sort-orders", m.defaultOrderID)
	}
	return nil
}

func hasItem(list []item, id int) bool {
	return slices.ContainsFunc(list, func(it item) bool { return it.id == id })
}

// completeRefs makes main of the current snapshot where refs don't name it,
// as documents from before branches do.
func (p *parser) completeRefs() error {
	m := p.m
	main, ok := m.Ref(MainBranch)
	switch {
	case m.current == noSnapshot && ok:
		return invalid("Current snapshot is not set, but main branch exists: %d", main.SnapshotID)
	case m.current == noSnapshot:
		return nil
	case ok && main.SnapshotID != m.current:
		return invalid("Current snapshot ID does not match main branch (%d != %d)", m.current, main.SnapshotID)
	case !ok:
		m.refs = slices.Insert(m.refs, 0, refItem{name: MainBranch, snapshot: m.current})
	}
	return nil
}
