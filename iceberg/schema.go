package iceberg

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

type typeKind int

const (
	primitiveKind typeKind = iota
	structKind
	listKind
	mapKind
)

// dataType is a column type. Lists hold one field named "element", maps two,
// named "key" and "value", so that every id is the id of some field.
type dataType struct {
	kind   typeKind
	name   string // canonical name of a primitive, e.g. "decimal(9, 2)"
	known  bool   // a primitive that this package knows
	fields []field
}

// String is Java's rendering, used in failure texts.
func (t *dataType) String() string {
	switch t.kind {
	case structKind:
		parts := make([]string, len(t.fields))
		for i := range t.fields {
			parts[i] = t.fields[i].String()
		}
		return "struct<" + strings.Join(parts, ", ") + ">"
	case listKind:
		return "list<" + t.fields[0].typ.String() + ">"
	case mapKind:
		return "map<" + t.fields[0].typ.String() + ", " + t.fields[1].typ.String() + ">"
	default:
		return t.name
	}
}

// base is the primitive's name without its parameters.
func (t *dataType) base() string {
	if i := strings.IndexAny(t.name, "([ "); i > 0 {
		return t.name[:i]
	}
	return t.name
}

type field struct {
	id             int
	idAt           span // the id's text in the schema's raw bytes
	name           string
	required       bool
	typ            *dataType
	initialDefault []byte // raw, nil when absent or null
	writeDefault   []byte // likewise
}

func (f *field) String() string {
	optional := "optional"
	if f.required {
		optional = "required"
	}
	return itoa(f.id) + ": " + f.name + ": " + optional + " " + f.typ.String()
}

// schema is the typed overlay of one schema; raw stays the truth.
type schema struct {
	raw          []byte
	id           int
	hasID        bool
	columns      []field
	identifiers  []int
	identifierAt span

	byID   map[int]found // see index
	byName map[string]found
}

// parseSchema decodes a schema object. Structure is checked, rules are not:
// see check.
func parseSchema(raw []byte) (*schema, error) {
	c := &cursor{data: raw}
	if c.peek() != '{' {
		c.mistyped("a schema", "schema")
		return nil, c.err
	}
	s := &schema{raw: raw}
	fields := false
	for o := c.object(); c.member(&o); {
		switch string(o.key) {
		case "type":
			if kind := c.str("type"); c.err == nil && kind != "struct" {
				c.reject(badRequest("Cannot parse type from json: a schema must be a struct, not %q", clip([]byte(kind))))
			}
		case "schema-id":
			if !c.null() {
				s.id, s.hasID = c.int("schema-id"), true
			}
		case "fields":
			fields = true
			s.columns = c.structFields()
		case "identifier-field-ids":
			if !c.null() {
				c.space()
				s.identifierAt.a = c.pos
				s.identifiers = c.ints("identifier-field-ids")
				s.identifierAt.b = c.pos
			}
		default:
			c.skip()
		}
	}
	if c.err == nil && !fields {
		c.reject(missing("field", "fields"))
	}
	if c.err == nil && nameBytes(s.columns, 0) > maxNameBytes {
		c.reject(illegal("Invalid schema: full column names of more than %d bytes together", maxNameBytes))
	}
	return s, c.err
}

// maxNameBytes bounds the full names of a schema's columns: long names nested
// in long names would multiply to far more than the request held.
const maxNameBytes = 64 << 20

func nameBytes(fields []field, prefix int) int {
	total := 0
	for i := range fields {
		n := prefix + len(fields[i].name) + 1
		total += n + nameBytes(fields[i].typ.fields, n)
		if total > maxNameBytes {
			break
		}
	}
	return total
}

func (c *cursor) structFields() []field {
	list := []field{}
	if c.peek() != '[' {
		c.mistyped("a list of fields", "fields")
		return nil
	}
	for a := c.array(); c.element(&a); {
		list = append(list, c.structField())
	}
	return list
}

func (c *cursor) structField() field {
	var f field
	if c.peek() != '{' {
		c.mistyped("a field", "fields")
		return f
	}
	var id, name, required bool
	for o := c.object(); c.member(&o); {
		switch string(o.key) {
		case "id":
			id = true
			f.id, f.idAt = c.idValue("id")
		case "name":
			name = true
			f.name = c.str("name")
		case "type":
			f.typ = c.dataType()
		case "required":
			required = true
			f.required = c.bool("required")
		case "initial-default":
			f.initialDefault = notNull(c.skip().of(c.data))
		case "write-default":
			f.writeDefault = notNull(c.skip().of(c.data))
		default:
			c.skip()
		}
	}
	switch {
	case c.err != nil:
	case !id:
		c.reject(missing("int", "id"))
	case !name:
		c.reject(missing("string", "name"))
	case f.typ == nil:
		c.reject(missing("field", "type"))
	case !required:
		c.reject(missing("boolean", "required"))
	}
	return f
}

func (c *cursor) idValue(member string) (int, span) {
	c.space()
	start := c.pos
	n := c.int(member)
	return n, span{start, c.pos}
}

func (c *cursor) dataType() *dataType {
	if c.peek() == '"' {
		return primitive(c.str("type"))
	}
	start := c.pos
	if c.peek() != '{' {
		c.mistyped("a type", "type")
		return nil
	}
	var (
		kind                             string
		fields                           []field
		hasFields                        bool
		element, key, value              field
		hasElementReq, hasValueReq       bool
		hasElementID, hasKeyID, hasValID bool
	)
	element.name, key.name, value.name = "element", "key", "value"
	key.required = true
	for o := c.object(); c.member(&o); {
		switch string(o.key) {
		case "type":
			kind = strings.ToLower(c.str("type"))
		case "fields":
			hasFields = true
			fields = c.structFields()
		case "element-id":
			hasElementID = true
			element.id, element.idAt = c.idValue("element-id")
		case "element":
			element.typ = c.dataType()
		case "element-required":
			hasElementReq = true
			element.required = c.bool("element-required")
		case "key-id":
			hasKeyID = true
			key.id, key.idAt = c.idValue("key-id")
		case "key":
			key.typ = c.dataType()
		case "value-id":
			hasValID = true
			value.id, value.idAt = c.idValue("value-id")
		case "value":
			value.typ = c.dataType()
		case "value-required":
			hasValueReq = true
			value.required = c.bool("value-required")
		default:
			c.skip()
		}
	}
	if c.err != nil {
		return nil
	}
	need := func(present bool, what, member string) {
		if !present {
			c.reject(missing(what, member))
		}
	}
	switch kind {
	case "struct":
		need(hasFields, "field", "fields")
		return &dataType{kind: structKind, fields: fields}
	case "list":
		need(hasElementID, "int", "element-id")
		need(element.typ != nil, "field", "element")
		need(hasElementReq, "boolean", "element-required")
		return &dataType{kind: listKind, fields: []field{element}}
	case "map":
		need(hasKeyID, "int", "key-id")
		need(key.typ != nil, "field", "key")
		need(hasValID, "int", "value-id")
		need(value.typ != nil, "field", "value")
		need(hasValueReq, "boolean", "value-required")
		return &dataType{kind: mapKind, fields: []field{key, value}}
	default:
		c.reject(badRequest("Cannot parse type from json: %s", clip(c.data[start:c.pos])))
		return nil
	}
}

var (
	decimalPattern = regexp.MustCompile(`^decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)$`)
	fixedPattern   = regexp.MustCompile(`^fixed\[\s*(\d+)\s*\]$`)
)

// primitive reads a type name in any case. An unknown one is kept, so that a
// stored document of a newer writer can still be served; check refuses it in
// new schemas.
func primitive(text string) *dataType {
	lower := strings.ToLower(text)
	switch lower {
	case "boolean", "int", "long", "float", "double", "date", "time", "timestamp", "timestamptz",
		"timestamp_ns", "timestamptz_ns", "string", "uuid", "binary", "variant", "unknown":
		return &dataType{name: lower, known: true}
	}
	if m := decimalPattern.FindStringSubmatch(lower); m != nil {
		return &dataType{name: "decimal(" + m[1] + ", " + m[2] + ")", known: true}
	}
	if m := fixedPattern.FindStringSubmatch(lower); m != nil {
		return &dataType{name: "fixed[" + m[1] + "]", known: true}
	}
	if name, ok, _ := geospatial(text); ok {
		return &dataType{name: name, known: true}
	}
	return &dataType{name: text}
}

// minFormatVersion is the first format version that has the type.
func (t *dataType) minFormatVersion() int {
	switch strings.ToLower(t.base()) {
	case "timestamp_ns", "timestamptz_ns", "variant", "unknown", "geometry", "geography":
		return 3
	}
	return 1
}

// walk visits every field, parents before children; path is the full name and
// parents leads from the root to the parent.
func (s *schema) walk(visit func(f *field, path string, parents []*field)) {
	walkFields(s.columns, "", nil, visit)
}

func walkFields(fields []field, prefix string, parents []*field, visit func(*field, string, []*field)) {
	for i := range fields {
		f := &fields[i]
		path := prefix + f.name
		visit(f, path, parents)
		if f.typ.kind != primitiveKind {
			walkFields(f.typ.fields, path+".", append(parents[:len(parents):len(parents)], f), visit)
		}
	}
}

// found is a column with its place.
type found struct {
	*field
	path    string
	parents []*field
}

// index makes look-ups of a schema cheap. It is not safe for schemas that
// goroutines share, as those in an [Update] are.
func (s *schema) index() {
	if s.byID != nil {
		return
	}
	s.byID, s.byName = map[int]found{}, map[string]found{}
	short := map[string]found{}
	s.walk(func(f *field, path string, parents []*field) {
		hit := found{f, path, parents}
		if !has(s.byID, f.id) {
			s.byID[f.id] = hit
		}
		if !has(s.byName, path) {
			s.byName[path] = hit
		}
		if name := shortName(f, parents); name != path && !has(short, name) {
			short[name] = hit
		}
	})
	for name, hit := range short {
		if !has(s.byName, name) {
			s.byName[name] = hit
		}
	}
}

func (s *schema) find(id int) (found, bool) {
	s.index()
	hit, ok := s.byID[id]
	return hit, ok
}

// findName finds a column by its full name, or by its short name, which
// leaves out the element, key and value levels above structs.
func (s *schema) findName(path string) (found, bool) {
	s.index()
	hit, ok := s.byName[path]
	return hit, ok
}

// shortName leaves out the list element and map value levels that hold a
// struct, as Java does for filters and property names.
func shortName(f *field, parents []*field) string {
	var parts []string
	for i, p := range parents {
		inner := i > 0 && (parents[i-1].typ.kind == listKind || parents[i-1].typ.kind == mapKind && p.name == "value")
		if inner && p.typ.kind == structKind {
			continue
		}
		parts = append(parts, p.name)
	}
	return strings.Join(append(parts, f.name), ".")
}

func (s *schema) highestID() int {
	highest := 0
	s.walk(func(f *field, _ string, _ []*field) { highest = max(highest, f.id) })
	return highest
}

// comparable is the schema's meaning without its id.
func (s *schema) comparable() *node {
	n := tree(s.raw)
	delete(n.members, "schema-id")
	delete(n.members, "identifier-field-ids")
	if len(s.identifiers) > 0 {
		ids := slices.Clone(s.identifiers)
		slices.Sort(ids)
		list := &node{kind: '['}
		for _, id := range slices.Compact(ids) {
			list.items = append(list.items, &node{text: strconv.Itoa(id)})
		}
		n.members["identifier-field-ids"] = list
	}
	if _, ok := n.members["type"]; !ok {
		n.members["type"] = &node{kind: '"', text: "struct"}
	}
	n.normalizeTypes()
	return n
}

// normalizeTypes spells primitive type names one way.
func (n *node) normalizeTypes() {
	for _, item := range n.items {
		item.normalizeTypes()
	}
	for key, value := range n.members {
		switch key {
		case "type", "element", "key", "value":
			if value.kind == '"' {
				value.text = primitive(value.text).name
				continue
			}
		case "initial-default", "write-default":
			continue
		}
		value.normalizeTypes()
	}
}
