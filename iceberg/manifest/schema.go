package manifest

import (
	"bytes"
	"encoding/json"
)

// kind is how a value is read; what is read alike is one kind.
type kind int

const (
	kindNull   kind = iota + 1
	kindFixed       // boolean, float, double, fixed
	kindVarint      // int, long, enum
	kindBytes       // bytes, string
	kindRecord
	kindUnion
	kindArray
	kindMap
)

// node is a type of the schema.
type node struct {
	kind     kind
	size     int64 // kindFixed
	fields   []field
	branches []*node
	items    *node
}

type field struct {
	name string
	node *node
}

var primitives = map[string]*node{
	"null":    {kind: kindNull},
	"boolean": {kind: kindFixed, size: 1},
	"float":   {kind: kindFixed, size: 4},
	"double":  {kind: kindFixed, size: 8},
	"int":     {kind: kindVarint},
	"long":    {kind: kindVarint},
	"bytes":   {kind: kindBytes},
	"string":  {kind: kindBytes},
}

// has reports whether a path of field names leads to a string.
func (n *node) has(path []string) bool {
	switch n.kind {
	case kindBytes:
		return len(path) == 0
	case kindUnion:
		for _, b := range n.branches {
			if b.has(path) {
				return true
			}
		}
	case kindRecord:
		for _, f := range n.fields {
			if len(path) > 0 && f.name == path[0] && f.node.has(path[1:]) {
				return true
			}
		}
	case kindNull, kindFixed, kindVarint, kindArray, kindMap:
	}
	return false
}

// schemas collects the named types that are complete.
type schemas map[string]*node

func parseSchema(text []byte) (*node, error) {
	if len(text) > maxSchema {
		return nil, invalid("a schema of %d bytes, at most %d", len(text), maxSchema)
	}
	return schemas{}.parse(bytes.TrimSpace(text), "", 0)
}

// wire is a schema as JSON.
type wire struct {
	Type      json.RawMessage `json:"type"`
	Name      string          `json:"name"`
	Namespace string          `json:"namespace"`
	Fields    []wire          `json:"fields"`
	Items     json.RawMessage `json:"items"`
	Values    json.RawMessage `json:"values"`
	Size      int64           `json:"size"`
}

func (s schemas) parse(text []byte, space string, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, invalid("a schema of more than %d levels", maxDepth)
	}
	if len(text) == 0 {
		return nil, invalid("a type is missing in its schema")
	}
	switch text[0] {
	case '"':
		var name string
		if err := json.Unmarshal(text, &name); err != nil {
			return nil, invalid("its schema: %v", err)
		}
		return s.named(name, space)
	case '[':
		var parts []json.RawMessage
		if err := json.Unmarshal(text, &parts); err != nil {
			return nil, invalid("its schema: %v", err)
		}
		union := &node{kind: kindUnion}
		for _, part := range parts {
			n, err := s.parse(part, space, depth+1)
			if err != nil {
				return nil, err
			}
			union.branches = append(union.branches, n)
		}
		return union, nil
	}
	var w wire
	if err := json.Unmarshal(text, &w); err != nil {
		return nil, invalid("its schema: %v", err)
	}
	return s.compound(&w, space, depth)
}

// named finds a primitive or a type that is complete. A type within itself is
// not: Iceberg has none, and nothing here recurses.
func (s schemas) named(name, space string) (*node, error) {
	if n := primitives[name]; n != nil {
		return n, nil
	}
	if n := s[fullName(name, space)]; n != nil {
		return n, nil
	}
	if n := s[name]; n != nil {
		return n, nil
	}
	return nil, invalid("its schema refers to a type that is not complete")
}

func fullName(name, space string) string {
	if space == "" {
		return name
	}
	return space + "." + name
}

func (s schemas) compound(w *wire, space string, depth int) (*node, error) {
	if w.Namespace != "" {
		space = w.Namespace
	}
	if len(w.Type) == 0 || w.Type[0] != '"' {
		return s.parse(w.Type, space, depth+1)
	}
	var typ string
	if err := json.Unmarshal(w.Type, &typ); err != nil {
		return nil, invalid("its schema: %v", err)
	}
	n := &node{}
	var err error
	switch typ {
	case "record", "error":
		n.kind = kindRecord
		for i := range w.Fields {
			f := field{name: w.Fields[i].Name}
			if f.node, err = s.parse(w.Fields[i].Type, space, depth+1); err != nil {
				return nil, err
			}
			n.fields = append(n.fields, f)
		}
	case "array":
		n.kind = kindArray
		n.items, err = s.parse(w.Items, space, depth+1)
	case "map":
		n.kind = kindMap
		n.items, err = s.parse(w.Values, space, depth+1)
	case "enum":
		n.kind = kindVarint
	case "fixed":
		n.kind, n.size = kindFixed, w.Size
		if w.Size < 0 {
			return nil, invalid("a fixed type of %d bytes", w.Size)
		}
	default:
		return s.named(typ, space)
	}
	if err != nil {
		return nil, err
	}
	if w.Name != "" {
		s[fullName(w.Name, space)] = n
	}
	return n, nil
}
