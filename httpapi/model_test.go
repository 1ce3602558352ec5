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
	soft       bool                       // what is dropped can come back
	dropped    map[string]*modelDropped   // by uuid: what can, by itself
	trees      map[string]*modelTree      // and as a whole: by the request that dropped it
}

// modelDropped is a table or view that can come back.
type modelDropped struct {
	*modelObject
	home   *modelNamespace // where it stood: a namespace that may be gone
	levels []string        // of that, when it was dropped
}

// modelTree is a namespace that can come back with all that stood in it.
type modelTree struct {
	root, parent *modelNamespace // no parent at the top
	members      []*modelNamespace
	levels       map[*modelNamespace][]string // when it was dropped
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
	object    string // id of what is to come back or to end
	drop      string // id of the event by which it was dropped
	request   string // id of the request; of an undropped tree, of the one that dropped it
	tree      bool   // that is a namespace
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
	if a.object != "" {
		s += fmt.Sprintf(" %s of drop %s by %s (tree %t)", a.object, a.drop, a.request, a.tree)
	}
	if a.uuid != "" {
		s += " uuid " + a.uuid
	}
	return s
}

func newModel() *model {
	return &model{namespaces: map[string]*modelNamespace{}, dropped: map[string]*modelDropped{}, trees: map[string]*modelTree{}}
}

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
	case "keep what is dropped":
		m.soft = a.protected
		return 200
	case "expire":
		return m.expire(a)
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
		case !a.recursive && (len(inside) > 0 || len(n.objects) > 0 || m.awaits(n)):
			return 409
		case !a.force && m.guarded(append(inside, modelKey(a.namespace))):
			return 409
		}
		if a.recursive && m.soft && !a.force {
			tree := &modelTree{root: n, levels: map[*modelNamespace][]string{}}
			if above := len(n.levels) - 1; above > 0 {
				tree.parent = m.at(n.levels[:above])
			}
			for _, key := range append(inside, modelKey(a.namespace)) {
				member := m.namespaces[key]
				tree.members, tree.levels[member] = append(tree.members, member), member.levels
			}
			m.trees[a.request] = tree
		}
		for _, key := range append(inside, modelKey(a.namespace)) {
			delete(m.namespaces, key)
		}
		return 204
	case "undrop":
		if a.tree {
			return m.undropTree(a)
		}
		return m.undrop(a)
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
		if o == nil || a.overwrite && !a.view && !o.view && !o.protected {
			if other == nil || other == o {
				m.adopt(a.grave.uuid)
			}
		}
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
		if m.soft && !a.force {
			m.dropped[o.uuid] = &modelDropped{o, n, n.levels}
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

// awaits reports whether something can come back into a namespace.
func (m *model) awaits(n *modelNamespace) bool {
	for _, d := range m.dropped {
		if d.home == n {
			return true
		}
	}
	for _, t := range m.trees {
		if t.parent == n {
			return true
		}
	}
	return false
}

// stands reports whether a namespace is still the one at its name.
func (m *model) stands(n *modelNamespace) bool { return m.at(n.levels) == n }

// adopt ends what was dropped under a uuid: another object is registered at its
// place.
func (m *model) adopt(uuid string) {
	delete(m.dropped, uuid)
	for _, t := range m.trees {
		for _, n := range t.members {
			for key, o := range n.objects {
				if o.uuid == uuid {
					delete(n.objects, key)
				}
			}
		}
	}
}

func (m *model) undrop(a action) int {
	d := m.dropped[a.uuid]
	if d == nil || !m.stands(d.home) {
		return 404
	}
	name := d.name
	if a.as != "" {
		name = a.as
	}
	if d.home.objects[strings.ToLower(name)] != nil || m.living(a.uuid) != nil {
		return 409
	}
	delete(m.dropped, a.uuid)
	d.modelObject.name = name
	d.home.objects[strings.ToLower(name)] = d.modelObject
	return 204
}

func (m *model) undropTree(a action) int {
	t := m.trees[a.request]
	if t == nil || t.parent != nil && !m.stands(t.parent) {
		return 404
	}
	old := t.root.levels
	levels := slices.Clone(old)
	if t.parent != nil {
		copy(levels, t.parent.levels)
	}
	if a.as != "" {
		levels[len(levels)-1] = a.as
	}
	if m.at(levels) != nil {
		return 409
	}
	delete(m.trees, a.request)
	for _, n := range t.members {
		n.levels = append(slices.Clone(levels), n.levels[len(old):]...)
		m.namespaces[modelKey(n.levels)] = n
	}
	return 204
}

// expire ends what can come back for good.
func (m *model) expire(a action) int {
	if a.tree {
		if m.trees[a.request] == nil {
			return 404
		}
		delete(m.trees, a.request)
		return 204
	}
	if m.dropped[a.uuid] == nil {
		return 404
	}
	delete(m.dropped, a.uuid)
	return 204
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
	var gone []string
	for _, d := range m.dropped {
		gone = append(gone, droppedLine(d.view, d.levels, d.modelObject.name))
	}
	for _, tree := range m.trees {
		tables, views := 0, 0
		for _, n := range tree.members {
			for _, o := range n.objects {
				gone = append(gone, droppedLine(o.view, tree.levels[n], o.name))
				if o.view {
					views++
				} else {
					tables++
				}
			}
		}
		gone = append(gone, treeLine(tree.levels[tree.root], len(tree.members), tables, views))
	}
	slices.Sort(gone)
	return b.String() + strings.Join(gone, "")
}

func droppedLine(view bool, levels []string, name string) string {
	kind := "table"
	if view {
		kind = "view"
	}
	return fmt.Sprintf("dropped %s %q %q\n", kind, levels, name)
}

func treeLine(levels []string, namespaces, tables, views int) string {
	return fmt.Sprintf("dropped namespace %q: %d, %d, %d\n", levels, namespaces, tables, views)
}

func pairs(m map[string]string) string {
	var list []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, k+"="+m[k])
	}
	return strings.Join(list, " ")
}
