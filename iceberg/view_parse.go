package iceberg

import (
	"fmt"
	"slices"
	"strings"
)

// viewVersion is the typed overlay of one version; raw stays the truth.
type viewVersion struct {
	raw          []byte
	id, schemaID int
	timestamp    int64
	dialects     []string // of its SQL, in lower case; one may occur twice
	others       []string // types of representations that are no SQL
	count        int      // of representations
}

func (v *viewVersion) partID() int   { return v.id }
func (v *viewVersion) bytes() []byte { return v.raw }

// key is equal for versions that behave the same: their id and the moment they
// were made do not matter (Java's sameViewVersion). Members this package does
// not know count, else the newcomer's would be lost.
func (v *viewVersion) key() string {
	n := tree(v.raw)
	delete(n.members, "version-id")
	delete(n.members, "timestamp-ms")
	return string(n.appendTo(nil))
}

func (v *viewVersion) item(at span) viewVersionItem {
	return viewVersionItem{v.id, v.schemaID, v.timestamp, v.dialects, at}
}

// with returns the version under other ids.
func (v *viewVersion) with(id, schemaID int) (*viewVersion, error) {
	raw := withMember(v.raw, "version-id", appendInt(nil, int64(id)), "")
	raw = withMember(raw, "schema-id", appendInt(nil, int64(schemaID)), "version-id")
	return parseViewVersion(raw)
}

// parseViewVersion decodes a version object. Structure is checked, rules are
// not: see check.
func parseViewVersion(raw []byte) (*viewVersion, error) {
	c := &cursor{data: raw}
	if c.peek() != '{' {
		c.mistyped("an object", "view-version")
		return nil, c.err
	}
	v := &viewVersion{raw: raw}
	has := make(map[string]bool, 8)
	for o := c.object(); c.member(&o); {
		key := string(o.key)
		if c.peek() == 'n' {
			c.skip()
			continue
		}
		has[key] = true
		switch key {
		case "version-id":
			v.id = c.int(key)
		case "schema-id":
			v.schemaID = c.int(key)
		case "timestamp-ms":
			v.timestamp = c.int64(key)
		case "summary":
			c.skipStringMap(key)
		case "representations":
			v.readRepresentations(c)
		case "default-catalog":
			c.skipString(key)
		case "default-namespace":
			c.strs(key)
		default:
			c.skip()
		}
	}
	for _, need := range []struct{ kind, member string }{
		{"int", "version-id"}, {"int", "schema-id"}, {"long", "timestamp-ms"}, {"map", "summary"},
		{"field", "representations"}, {"list", "default-namespace"},
	} {
		if c.err == nil && !has[need.member] {
			c.reject(missing(need.kind, need.member))
		}
	}
	return v, c.err
}

func (v *viewVersion) readRepresentations(c *cursor) {
	if c.peek() != '[' {
		c.mistyped("a list", "representations")
		return
	}
	for a := c.array(); c.element(&a); {
		if c.peek() != '{' {
			c.mistyped("an object", "representations")
			return
		}
		v.count++
		raw := c.skip().of(c.data)
		r := &cursor{data: raw}
		kind, dialect := r.representation()
		if r.err != nil {
			c.reject(r.err)
			return
		}
		if kind == "sql" {
			v.dialects = append(v.dialects, dialect)
		} else {
			v.others = append(v.others, kind)
		}
	}
}

// representation reads one representation. Only SQL is specified; of another
// type nothing but its name is known.
func (c *cursor) representation() (kind, dialect string) {
	var sqlAt, dialectAt span
	typed := false
	for o := c.object(); c.member(&o); {
		switch string(o.key) {
		case "type":
			typed = true
			kind = strings.ToLower(c.str("type"))
		case "sql":
			sqlAt = c.skip()
		case "dialect":
			dialectAt = c.skip()
		default:
			c.skip()
		}
	}
	if c.err == nil && !typed {
		c.reject(missing("string", "type"))
	}
	if c.err != nil || kind != "sql" {
		return kind, ""
	}
	text := func(member string, at span) string {
		if at.empty() {
			c.reject(missing("string", member))
			return ""
		}
		value := &cursor{data: at.of(c.data)}
		out := value.str(member)
		if value.err != nil {
			c.reject(value.err)
		}
		return out
	}
	text("sql", sqlAt)
	dialect = strings.ToLower(text("dialect", dialectAt))
	return kind, dialect
}

// check holds the rules for a version that enters a view. verb is what the
// client wanted: create or replace.
func (v *viewVersion) check(verb string) error {
	switch {
	case v.count == 0:
		return illegal("Cannot %s view without specifying a query", verb)
	case len(v.others) > 0:
		return illegal("Found unsupported view representations: [%s]", clip([]byte(strings.Join(v.others, ", "))))
	}
	for i, d := range v.dialects {
		if slices.Contains(v.dialects[:i], d) {
			return illegal("Invalid view version: Cannot add multiple queries for dialect %s", clip([]byte(d)))
		}
	}
	return nil
}

// knownOfView lists the top-level members this package writes itself.
func knownOfView(member string) bool {
	switch member {
	case "view-uuid", "format-version", "location", "current-version-id", "versions", "version-log", "schemas", "properties":
		return true
	}
	return false
}

// ParseView reads a view metadata document of version 1. It accepts what the
// Java reference reads and can show, and rejects the rest; members it does not
// know are kept. doc must not be changed afterwards. The error is an [Error] of
// kind BadRequest, Validation or Unsupported.
func ParseView(doc []byte) (*ViewMetadata, error) {
	m, err := parseView(doc)
	if err != nil {
		return nil, within("Cannot parse view metadata", err)
	}
	return m, nil
}

func parseView(doc []byte) (*ViewMetadata, error) {
	if len(doc) > maxDocument {
		return nil, badRequest("document of %d bytes is too large", len(doc))
	}
	// The readers of schemas and properties are those of tables.
	p := &parser{cursor: cursor{data: doc}, has: make(map[string]bool, 8), m: &Metadata{doc: doc}}
	m := &ViewMetadata{doc: doc}
	if p.peek() != '{' {
		return nil, badRequest("Cannot parse metadata from a non-object")
	}
	for o := p.object(); p.member(&o); {
		key := string(o.key)
		if !knownOfView(key) {
			p.skip()
			m.unknown = append(m.unknown, span{o.keyAt, p.pos})
			continue
		}
		if p.null() {
			continue
		}
		p.has[key] = true
		p.viewMember(m, key)
	}
	p.end()
	if p.err != nil {
		return nil, p.err
	}
	m.properties, m.schemasIncomplete = p.m.properties, p.m.schemasIncomplete
	for _, need := range []struct{ kind, member string }{
		{"string", "view-uuid"}, {"int", "format-version"}, {"string", "location"}, {"field", "schemas"},
		{"int", "current-version-id"}, {"field", "versions"}, {"field", "version-log"},
	} {
		if !p.has[need.member] {
			return nil, missing(need.kind, need.member)
		}
	}
	return m, m.validate()
}

func (p *parser) viewMember(m *ViewMetadata, key string) {
	switch key {
	case "view-uuid":
		m.uuid = p.str(key)
	case "format-version":
		m.formatVersion = p.int(key)
	case "location":
		m.location = p.str(key)
	case "current-version-id":
		m.currentVersionID = p.int(key)
	case "schemas":
		m.schemas = p.items(key, "schema-id")
	case "properties":
		p.readProperties()
	case "versions":
		p.readVersions(m)
	case "version-log":
		p.readVersionLog(m)
	}
}

func (p *parser) readVersions(m *ViewMetadata) {
	if p.peek() != '[' {
		p.mistyped("a list", "versions")
		return
	}
	seen := map[int]bool{}
	for a := p.array(); p.element(&a); {
		at := p.skip()
		if p.err != nil {
			return
		}
		v, err := parseViewVersion(at.of(p.data))
		if err != nil {
			p.reject(err)
			return
		}
		if seen[v.id] {
			p.reject(invalid("duplicate version-id: %d", v.id))
			return
		}
		seen[v.id] = true
		m.versions = append(m.versions, v.item(at))
	}
}

func (p *parser) readVersionLog(m *ViewMetadata) {
	if p.peek() != '[' {
		p.mistyped("a list", "version-log")
		return
	}
	for a := p.array(); p.element(&a); {
		if p.peek() != '{' {
			p.mistyped("an object", "version-log")
			return
		}
		var id, timestamp bool
		e := viewLogItem{at: span{a: p.pos}}
		for o := p.object(); p.member(&o); {
			switch string(o.key) {
			case "version-id":
				id = true
				e.version = p.int("version-id")
			case "timestamp-ms":
				timestamp = true
				e.timestamp = p.int64("timestamp-ms")
			default:
				p.skip()
			}
		}
		e.at.b = p.pos
		switch {
		case p.err != nil:
			return
		case !id:
			p.reject(missing("int", "version-id"))
		case !timestamp:
			p.reject(missing("long", "timestamp-ms"))
		}
		m.log = append(m.log, e)
	}
}

// validate holds the checks of Java's ViewMetadata, those too that Java makes
// only when the view is used.
func (m *ViewMetadata) validate() error {
	switch {
	case m.formatVersion != ViewFormatVersion:
		return errorf(Unsupported, "Unsupported format version: %d", m.formatVersion)
	case m.uuid == "":
		return invalid("Invalid view-uuid: empty")
	case m.location == "":
		return invalid("Invalid location: empty")
	}
	current, ok := m.version(m.currentVersionID)
	if !ok {
		list := make([]string, len(m.versions))
		for i, v := range m.versions {
			list[i] = itoa(v.id)
		}
		return invalid("Cannot find current version %d in view versions: [%s]", m.currentVersionID, clip([]byte(strings.Join(list, ", "))))
	}
	for _, it := range m.schemas {
		if it.id == current.schemaID {
			if _, err := parseSchema(it.at.of(m.doc)); err != nil {
				return within(fmt.Sprintf("schema %d", it.id), err)
			}
			return nil
		}
	}
	list := make([]string, len(m.schemas))
	for i, it := range m.schemas {
		list[i] = itoa(it.id)
	}
	return invalid("Cannot find current schema with id %d in schemas: [%s]", current.schemaID, clip([]byte(strings.Join(list, ", "))))
}
