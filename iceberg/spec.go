package iceberg

import "fmt"

// firstPartitionID is where partition field ids begin; a table without any
// has last-partition-id 999.
const firstPartitionID = 1000

// partitionField is the typed overlay of one partition field.
type partitionField struct {
	raw       []byte
	at        span // in the spec's raw bytes
	id        int
	hasID     bool
	sources   []int // one, or several for a multi-argument transform (v3)
	name      string
	transform transform
}

func (f *partitionField) source() int { return f.sources[0] }

// String is Java's rendering, used in failure texts.
func (f *partitionField) String() string {
	return fmt.Sprintf("%d: %s: %s(%d)", f.id, f.name, f.transform.text, f.source())
}

// partitionSpec is the typed overlay of one partition spec.
type partitionSpec struct {
	raw    []byte
	id     int
	hasID  bool
	fields []partitionField
}

// parseSpec decodes a partition spec object.
func parseSpec(raw []byte) (*partitionSpec, error) {
	c := &cursor{data: raw}
	if c.peek() != '{' {
		c.mistyped("a partition spec", "partition-spec")
		return nil, c.err
	}
	s := &partitionSpec{raw: raw}
	fields := false
	for o := c.object(); c.member(&o); {
		switch string(o.key) {
		case "spec-id":
			if !c.null() {
				s.id, s.hasID = c.int("spec-id"), true
			}
		case "fields":
			fields = true
			s.fields = c.partitionFields()
		default:
			c.skip()
		}
	}
	if c.err == nil && !fields {
		c.reject(missing("field", "fields"))
	}
	return s, c.err
}

func (c *cursor) partitionFields() []partitionField {
	list := []partitionField{}
	if c.peek() != '[' {
		c.mistyped("a list of partition fields", "fields")
		return nil
	}
	for a := c.array(); c.element(&a); {
		list = append(list, c.partitionField())
	}
	return list
}

func (c *cursor) partitionField() partitionField {
	var f partitionField
	if c.peek() != '{' {
		c.mistyped("a partition field", "fields")
		return f
	}
	start := c.pos
	var name, transformed bool
	for o := c.object(); c.member(&o); {
		switch string(o.key) {
		case "field-id":
			if !c.null() {
				f.id, f.hasID = c.int("field-id"), true
			}
		case "source-id":
			if !c.null() {
				f.sources = []int{c.int("source-id")}
			}
		case "source-ids":
			if !c.null() {
				f.sources = c.ints("source-ids")
			}
		case "name":
			name = true
			f.name = c.str("name")
		case "transform":
			transformed = true
			f.transform = c.transform()
		default:
			c.skip()
		}
	}
	switch {
	case c.err != nil:
	case len(f.sources) == 0:
		c.reject(missing("int", "source-id"))
	case !name:
		c.reject(missing("string", "name"))
	case !transformed:
		c.reject(missing("string", "transform"))
	}
	f.at = span{start, c.pos}
	f.raw = c.data[start:c.pos]
	return f
}

func (c *cursor) transform() transform {
	text := c.str("transform")
	if c.err != nil {
		return transform{}
	}
	t, err := parseTransform(text)
	if err != nil {
		c.reject(err)
	}
	return t
}

func (s *partitionSpec) highestID() int {
	highest := firstPartitionID - 1
	for i := range s.fields {
		highest = max(highest, s.fields[i].id)
	}
	return highest
}

// checkFields holds the rules for a new spec that do not need a schema.
func (s *partitionSpec) checkFields(formatVersion int) error {
	names, ids, uses := map[string]bool{}, map[int]bool{}, map[string]*partitionField{}
	for i := range s.fields {
		f := &s.fields[i]
		use := f.partitionKey()
		switch {
		case f.name == "":
			return illegal("Cannot use empty or null partition name: %s", f.name)
		case names[f.name]:
			return illegal("Cannot use partition name more than once: %s", f.name)
		case ids[f.id]:
			return illegal("Cannot use partition field id more than once: %d", f.id)
		case !f.transform.void() && uses[use] != nil:
			return illegal("Cannot add redundant partition: %s conflicts with %s", f, uses[use])
		case formatVersion == 1 && f.id != firstPartitionID+i:
			return invalid("Spec does not use sequential IDs that are required in v1: %s", s)
		}
		names[f.name], ids[f.id], uses[use] = true, true, f
	}
	return nil
}

// String is Java's rendering, used in failure texts.
func (s *partitionSpec) String() string {
	out := "["
	for i := range s.fields {
		out += "\n  " + s.fields[i].String()
	}
	if len(s.fields) > 0 {
		out += "\n"
	}
	return out + "]"
}

// checkNames refuses a partition name that hides a column, unless the field
// is made of that very column.
func (s *partitionSpec) checkNames(sc *schema) error {
	for i := range s.fields {
		f := &s.fields[i]
		column, ok := sc.findName(f.name)
		if !ok || column.id == f.source() {
			continue
		}
		if f.transform.name == "identity" {
			return illegal("Cannot create identity partition sourced from different field in schema: %s", f.name)
		}
		return illegal("Cannot create partition from name that exists in schema: %s", f.name)
	}
	return nil
}

// checkSources is Java's PartitionSpec.checkCompatibility: every source column
// exists, is primitive, fits the transform and lies in structs only. A void
// field is what remains of a dropped column and fits always.
func (s *partitionSpec) checkSources(sc *schema) error {
	for i := range s.fields {
		f := &s.fields[i]
		if f.transform.void() {
			continue
		}
		for _, id := range f.sources {
			column, ok := sc.find(id)
			switch {
			case !ok:
				return invalid("Cannot find source column for partition field: %s", f)
			case column.typ.kind != primitiveKind:
				return invalid("Cannot partition by non-primitive source field: %s", column.typ)
			case !f.transform.accepts(column.typ):
				return invalid("Cannot create %s partition sourced from %s: Invalid source type %s for transform: %s",
					f.transform.text, column.path, column.typ, f.transform.text)
			}
			for _, p := range column.parents {
				if p.typ.kind != structKind {
					return invalid("Invalid partition field parent: %s", p.typ)
				}
			}
		}
	}
	return nil
}

// checkKnown refuses a default spec that this server's clients may not
// understand; old specs keep whatever they have.
func (s *partitionSpec) checkKnown() error {
	for i := range s.fields {
		if f := &s.fields[i]; f.transform.name == "" {
			return invalid("Cannot use unknown transform in the default partition spec: %s", f)
		}
	}
	return nil
}

// withIDs returns the spec's bytes with this spec id and every field's id.
func (s *partitionSpec) withIDs(id int) []byte {
	var edits []edit
	for i := range s.fields {
		f := &s.fields[i]
		raw := withMember(f.raw, "field-id", appendInt(nil, int64(f.id)), "source-id")
		edits = append(edits, edit{f.at, raw})
	}
	return withMember(splice(s.raw, edits), "spec-id", appendInt(nil, int64(id)), "")
}
