package iceberg

import (
	"fmt"
	"strings"
)

// sortField is the typed overlay of one sort field.
type sortField struct {
	raw       []byte
	at        span // in the order's raw bytes
	sources   []int
	transform transform
	direction string // lower case
	nullOrder string
}

// String is Java's rendering, used in failure texts.
func (f *sortField) String() string {
	return fmt.Sprintf("%s(%d) %s %s", f.transform.text, f.sources[0], strings.ToUpper(f.direction),
		strings.ToUpper(strings.ReplaceAll(f.nullOrder, "-", " ")))
}

// sortOrder is the typed overlay of one sort order.
type sortOrder struct {
	raw    []byte
	id     int
	fields []sortField
}

func (s *sortOrder) unsorted() bool { return len(s.fields) == 0 }

// parseOrder decodes a sort order object. The id may be absent: a server
// assigns its own.
func parseOrder(raw []byte) (*sortOrder, error) {
	c := &cursor{data: raw}
	if c.peek() != '{' {
		c.mistyped("a sort order", "sort-order")
		return nil, c.err
	}
	s := &sortOrder{raw: raw}
	fields := false
	for o := c.object(); c.member(&o); {
		switch string(o.key) {
		case "order-id":
			if !c.null() {
				s.id = c.int("order-id")
			}
		case "fields":
			fields = true
			if c.peek() != '[' {
				c.mistyped("a list of sort fields", "fields")
				break
			}
			for a := c.array(); c.element(&a); {
				s.fields = append(s.fields, c.sortField())
			}
		default:
			c.skip()
		}
	}
	if c.err == nil && !fields {
		c.reject(missing("field", "fields"))
	}
	return s, c.err
}

func (c *cursor) sortField() sortField {
	var f sortField
	if c.peek() != '{' {
		c.mistyped("a sort field", "fields")
		return f
	}
	start := c.pos
	transformed := false
	for o := c.object(); c.member(&o); {
		switch string(o.key) {
		case "source-id":
			if !c.null() {
				f.sources = []int{c.int("source-id")}
			}
		case "source-ids":
			if !c.null() {
				f.sources = c.ints("source-ids")
			}
		case "transform":
			transformed = true
			f.transform = c.transform()
		case "direction":
			f.direction = strings.ToLower(c.str("direction"))
			if c.err == nil && f.direction != "asc" && f.direction != "desc" {
				c.reject(illegal("Invalid sort direction: %s", clip([]byte(f.direction))))
			}
		case "null-order":
			f.nullOrder = strings.ToLower(c.str("null-order"))
			if c.err == nil && f.nullOrder != "nulls-first" && f.nullOrder != "nulls-last" {
				c.reject(illegal("Invalid null order: %s", clip([]byte(f.nullOrder))))
			}
		default:
			c.skip()
		}
	}
	switch {
	case c.err != nil:
	case len(f.sources) == 0:
		c.reject(missing("int", "source-id"))
	case !transformed:
		c.reject(missing("string", "transform"))
	case f.direction == "":
		c.reject(missing("string", "direction"))
	case f.nullOrder == "":
		c.reject(missing("string", "null-order"))
	}
	f.at = span{start, c.pos}
	f.raw = c.data[start:c.pos]
	return f
}

// checkSources is Java's SortOrder.checkCompatibility.
func (s *sortOrder) checkSources(sc *schema) error {
	for i := range s.fields {
		f := &s.fields[i]
		for _, id := range f.sources {
			column, ok := sc.find(id)
			switch {
			case !ok:
				return invalid("Cannot find source column for sort field: %s", f)
			case column.typ.kind != primitiveKind:
				return invalid("Cannot sort by non-primitive source field: %s", column.typ)
			case !f.transform.accepts(column.typ):
				return invalid("Invalid source type %s for transform: %s", column.typ, f.transform.text)
			}
		}
	}
	return nil
}

// checkKnown refuses a default order that clients may not understand.
func (s *sortOrder) checkKnown() error {
	for i := range s.fields {
		if f := &s.fields[i]; f.transform.name == "" {
			return invalid("Cannot use unknown transform in the default sort order: %s", f)
		}
	}
	return nil
}

func (s *sortOrder) withID(id int) []byte {
	return withMember(s.raw, "order-id", appendInt(nil, int64(id)), "")
}
