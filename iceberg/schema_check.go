package iceberg

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// check holds the rules for a schema that enters a table of the given format
// version: unique ids and names, known types that the version has, identifier
// fields that identify.
func (s *schema) check(formatVersion int) error {
	var err error
	fail := func(e error) {
		if err == nil {
			err = e
		}
	}
	byID := map[int]found{}
	byName := map[string]*field{}
	var problems []string
	s.walk(func(f *field, path string, parents []*field) {
		if first, ok := byID[f.id]; ok {
			fail(invalid("Invalid schema: multiple fields for id %d: %s and %s", f.id, first.path, path))
		}
		if f.id < 0 {
			fail(invalid("Invalid schema: negative id %d of field %s", f.id, path))
		}
		byID[f.id] = found{f, path, parents}
		if first, ok := byName[path]; ok {
			fail(invalid("Invalid schema: multiple fields for name %s: %d and %d", path, first.id, f.id))
		}
		byName[path] = f
		broken := f.typ.check()
		fail(broken)
		if broken == nil {
			fail(f.checkDefaults(path))
		}
		if f.required && f.typ.name == "unknown" {
			fail(illegal("Cannot create required field with unknown type: %s", path))
		}
		if least := f.typ.minFormatVersion(); f.typ.kind == primitiveKind && least > formatVersion {
			problems = append(problems, fmt.Sprintf("Invalid type for %s: %s is not supported until v%d", path, f.typ, least))
		}
		if f.initialDefault != nil && formatVersion < 3 {
			problems = append(problems, fmt.Sprintf("Invalid initial default for %s: non-null default (%s) is not supported until v3",
				path, clip(f.initialDefault)))
		}
	})
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return invalid("Invalid schema for v%d:\n- %s", formatVersion, strings.Join(problems, "\n- "))
	}
	for _, id := range s.identifiers {
		if err := checkIdentifier(id, byID); err != nil {
			return err
		}
	}
	return nil
}

// check refuses types that no reader could make sense of.
func (t *dataType) check() error {
	if t.kind != primitiveKind {
		return nil
	}
	if !t.known {
		return illegal("Cannot parse type string to primitive: %s", clip([]byte(t.name)))
	}
	switch strings.ToLower(t.base()) {
	case "decimal":
		m := decimalPattern.FindStringSubmatch(t.name)
		precision, err := strconv.Atoi(m[1])
		if err != nil || precision > 38 {
			return illegal("Decimals with precision larger than 38 are not supported: %s", clip([]byte(m[1])))
		}
		if scale, err := strconv.Atoi(m[2]); err != nil || scale > precision {
			return illegal("Invalid decimal scale: %s (precision %d)", clip([]byte(m[2])), precision)
		}
	case "fixed":
		m := fixedPattern.FindStringSubmatch(t.name)
		if _, err := strconv.ParseInt(m[1], 10, 32); err != nil {
			return illegal("Invalid fixed length: %s", clip([]byte(m[1])))
		}
	case "geometry", "geography":
		_, _, problem := geospatial(t.name)
		return problem
	}
	return nil
}

func checkIdentifier(id int, byID map[int]found) error {
	f, ok := byID[id]
	switch {
	case !ok:
		return illegal("Cannot add fieldId %d as an identifier field: field does not exist", id)
	case f.typ.kind != primitiveKind || f.typ.base() == "variant":
		return illegal("Cannot add field %s as an identifier field: not a primitive type field", f.name)
	case !f.required:
		return illegal("Cannot add field %s as an identifier field: not a required field", f.name)
	case f.typ.name == "float" || f.typ.name == "double":
		return illegal("Cannot add field %s as an identifier field: must not be float or double field", f.name)
	}
	for _, p := range f.parents {
		if p.typ.kind != structKind {
			return illegal("Cannot add field %s as an identifier field: must not be nested in %s", f.name, p)
		}
		if !p.required {
			return illegal("Cannot add field %s as an identifier field: must not be nested in an optional field %s", f.name, p)
		}
	}
	return nil
}

// fresh gives every field a new id from 1, a struct's children before what is
// nested in them (Java's AssignFreshIds), and returns the schema with id 0,
// its highest id, and the new id of each old one. A client's ids are only
// hints: some number from 0. An old id that occurs twice maps to -1.
func (s *schema) fresh() (*schema, map[int]int, error) {
	var edits []edit
	ids := map[int]int{}
	next := 0
	var assign func(fields []field)
	assign = func(fields []field) {
		for i := range fields {
			f := &fields[i]
			next++
			if _, twice := ids[f.id]; twice {
				ids[f.id] = -1
			} else {
				ids[f.id] = next
			}
			edits = append(edits, edit{f.idAt, appendInt(nil, int64(next))})
		}
		for i := range fields {
			assign(fields[i].typ.fields)
		}
	}
	assign(s.columns)
	if len(s.identifiers) > 0 {
		fresh := make([]int, 0, len(s.identifiers))
		for _, id := range s.identifiers {
			n, ok := ids[id]
			switch {
			case !ok:
				return nil, nil, illegal("Cannot add fieldId %d as an identifier field: field does not exist", id)
			case n < 0:
				return nil, nil, invalid("Invalid schema: multiple fields for id %d", id)
			}
			fresh = append(fresh, n)
		}
		slices.Sort(fresh)
		edits = append(edits, edit{s.identifierAt, intList(slices.Compact(fresh))})
	}
	out, err := parseSchema(withSchemaID(splice(s.raw, edits), 0))
	return out, ids, err
}

func intList(ids []int) []byte {
	out := []byte{'['}
	for i, id := range ids {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendInt(out, int64(id))
	}
	return append(out, ']')
}

// withSchemaID returns the schema's bytes with this id; a missing type member
// is added, for readers demand it.
func withSchemaID(raw []byte, id int) []byte {
	raw = withMember(raw, "type", []byte(`"struct"`), "")
	return withMember(raw, "schema-id", appendInt(nil, int64(id)), "type")
}
