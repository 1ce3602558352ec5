package httpapi_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// model is the catalog in a page: what names there are, and what each object's
// properties say. It answers an action with the status that a client must get.
type model struct {
	namespaces map[string]*modelNamespace // by folded path
	inactive   bool                       // the warehouse is
}

type modelNamespace struct {
	levels     []string
	properties map[string]string
	objects    map[string]*modelObject // by folded name
}

type modelObject struct {
	view       bool
	name       string
	uuid       string
	properties map[string]string
	protected  bool
}

// grave is a table or view that was dropped before the test, whose metadata
// file can be registered.
type grave struct {
	uuid, location string
	view           bool
}

// action is one mutation. Everything that it says is fixed before it is sent,
// so that it can be repeated on the model in the order of the log.
type action struct {
	verb      string
	namespace []string
	name      string
	into      []string // destination of a rename
	as        string
	view      bool
	recursive bool
	force     bool
	purge     bool
	overwrite bool
	protected bool
	key       string
	value     string
	uuid      string // asserted by a commit; what the answer told of a creation
	second    string // the other table of a transaction, in the same namespace
	uuid2     string
	grave     grave
}

func (a action) String() string {
	s := fmt.Sprintf("%s %v %q", a.verb, a.namespace, a.name)
	if a.as != "" {
		s += fmt.Sprintf(" to %v %q", a.into, a.as)
	}
	if a.second != "" {
		s += fmt.Sprintf(" and %q (%s)", a.second, a.uuid2)
	}
	if a.view {
		s += " (view)"
	}
	if a.recursive {
		s += " recursively"
	}
	for flag, set := range map[string]bool{"by force": a.force, "with purge": a.purge, "overwriting": a.overwrite, "protected": a.protected} {
		if set {
			s += " " + flag
		}
	}
	if a.uuid != "" {
		s += " uuid " + a.uuid
	}
	return s
}

func newModel() *model { return &model{namespaces: map[string]*modelNamespace{}} }

func modelKey(levels []string) string { return strings.ToLower(strings.Join(levels, "\x1f")) }

func (m *model) at(levels []string) *modelNamespace { return m.namespaces[modelKey(levels)] }

// object returns what stands at a name, nil for nothing.
func (m *model) object(levels []string, name string) *modelObject {
	if n := m.at(levels); n != nil {
		return n.objects[strings.ToLower(name)]
	}
	return nil
}

// living returns the object with the uuid, nil for none.
func (m *model) living(uuid string) *modelObject {
	for _, n := range m.namespaces {
		for _, o := range n.objects {
			if o.uuid == uuid {
				return o
			}
		}
	}
	return nil
}

// guarded reports whether something in the namespaces is protected.
func (m *model) guarded(keys []string) bool {
	for _, key := range keys {
		for _, o := range m.namespaces[key].objects {
			if o.protected {
				return true
			}
		}
	}
	return false
}

// below returns the keys of the namespaces inside a namespace.
func (m *model) below(levels []string) []string {
	var list []string
	for key := range m.namespaces {
		if strings.HasPrefix(key, modelKey(levels)+"\x1f") {
			list = append(list, key)
		}
	}
	return list
}

// apply carries the action out and returns the status that it answers.
func (m *model) apply(a action) int {
	switch a.verb {
	case "deactivate", "activate":
		m.inactive = a.verb == "deactivate"
		return 200
	case "rename warehouse":
		return 200 // clients go by its id
	}
	if m.inactive {
		return 404
	}
	n := m.at(a.namespace)
	switch a.verb {
	case "create namespace":
		switch {
		case len(a.namespace) > 1 && m.at(a.namespace[:len(a.namespace)-1]) == nil:
			return 404
		case n != nil:
			return 409
		}
		levels := a.namespace
		if above := len(levels) - 1; above > 0 { // spelled as it was created
			levels = append(slices.Clone(m.at(levels[:above]).levels), levels[above])
		}
		m.namespaces[modelKey(a.namespace)] = &modelNamespace{
			levels: levels, properties: map[string]string{a.key: a.value}, objects: map[string]*modelObject{},
		}
		return 200
	case "drop namespace":
		inside := m.below(a.namespace)
		switch {
		case n == nil:
			return 404
		case !a.recursive && (len(inside) > 0 || len(n.objects) > 0):
			return 409
		case !a.force && m.guarded(append(inside, modelKey(a.namespace))):
			return 409
		}
		for _, key := range append(inside, modelKey(a.namespace)) {
			delete(m.namespaces, key)
		}
		return 204
	case "set namespace properties":
		if n == nil {
			return 404
		}
		n.properties[a.key] = a.value
		return 200
	case "protect":
		o := m.living(a.uuid)
		if o == nil || o.view != a.view {
			return 404
		}
		o.protected = a.protected
		return 200
	case "transaction":
		one, two := m.object(a.namespace, a.name), m.object(a.namespace, a.second)
		switch {
		case one == nil || one.view || two == nil || two.view:
			return 404
		case one.uuid != a.uuid || two.uuid != a.uuid2:
			return 409
		}
		one.properties[a.key], two.properties[a.key] = a.value, a.value
		return 204
	}
	if n == nil {
		return 404
	}
	return m.applyToObject(a, n)
}

func (m *model) applyToObject(a action, n *modelNamespace) int {
	key := strings.ToLower(a.name)
	o := n.objects[key]
	switch a.verb {
	case "stage":
		if o != nil {
			return 409
		}
		return 200
	case "create", "create by commit":
		if o != nil {
			return 409
		}
		n.objects[key] = &modelObject{view: a.view, name: a.name, uuid: a.uuid, properties: map[string]string{a.key: a.value}}
		return 200
	case "register":
		other := m.living(a.grave.uuid)
		switch {
		case o != nil && (!a.overwrite || a.view || o.view || o.protected):
			return 409
		case other != nil && other != o:
			return 409
		case o != nil:
			o.uuid, o.properties = a.grave.uuid, map[string]string{"was": "buried"}
			return 200
		}
		n.objects[key] = &modelObject{view: a.view, name: a.name, uuid: a.grave.uuid, properties: map[string]string{"was": "buried"}}
		return 200
	}
	if o == nil || o.view != a.view {
		return 404
	}
	switch a.verb {
	case "commit":
		if o.uuid != a.uuid {
			return 409
		}
		o.properties[a.key] = a.value
		return 200
	case "drop", "unregister":
		if o.protected && !a.force {
			return 409
		}
		delete(n.objects, key)
		if a.verb == "unregister" {
			return 200
		}
		return 204
	case "rename":
		into := m.at(a.into)
		if into == nil {
			return 404
		}
		to := strings.ToLower(a.as)
		if other := into.objects[to]; other != nil && other != o {
			return 409
		}
		delete(n.objects, key)
		o.name = a.as
		into.objects[to] = o
		return 204
	}
	panic("unknown verb " + a.verb)
}

// describe writes the whole model down, for comparing.
func (m *model) describe() string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(m.namespaces)) {
		n := m.namespaces[key]
		fmt.Fprintf(&b, "namespace %q %s\n", n.levels, pairs(n.properties))
		for _, name := range slices.Sorted(maps.Keys(n.objects)) {
			o := n.objects[name]
			kind := "table"
			if o.view {
				kind = "view"
			}
			fmt.Fprintf(&b, "  %s %q %s %s", kind, o.name, o.uuid, pairs(o.properties))
			if o.protected {
				b.WriteString(" protected")
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func pairs(m map[string]string) string {
	var list []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, k+"="+m[k])
	}
	return strings.Join(list, " ")
}
