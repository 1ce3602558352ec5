package iceberg

import (
	"slices"
	"strconv"
)

// part is a schema, partition spec or sort order: it has an id, and a key that
// is equal for equal parts.
type part interface {
	partID() int
	key() string
	bytes() []byte
}

func (s *schema) partID() int        { return s.id }
func (s *schema) bytes() []byte      { return s.raw }
func (s *partitionSpec) partID() int { return s.id }
func (s *partitionSpec) bytes() []byte {
	return s.raw
}
func (s *sortOrder) partID() int   { return s.id }
func (s *sortOrder) bytes() []byte { return s.raw }

// parts is a list of them, decoded from the base on first use. Look-ups go
// through maps: a request may hold very many updates.
type parts[T part] struct {
	items  []T
	loaded bool
	byID   map[int]T
	byKey  map[string]int // to the id of the first with that key
	next   int            // above every id
	sent   map[int]int    // the id that the request has for a part it added → ours, where they differ
}

func (p *parts[T]) get(id int) (T, bool) {
	if p.byID == nil {
		p.byID = make(map[int]T, len(p.items))
		for _, it := range p.items {
			p.byID[it.partID()] = it
		}
	}
	it, ok := p.byID[id]
	return it, ok
}

// name remembers the id by which the request calls a part that it adds.
func (p *parts[T]) name(sent, id int) {
	if sent == id {
		delete(p.sent, sent)
		return
	}
	if p.sent == nil {
		p.sent = map[int]int{}
	}
	p.sent[sent] = id
}

// named finds a part by its id or, where none has it, by the one that the
// request gave to a part it added: those are hints to us (an equal part is
// reused, another gets the next id), but DuckDB chooses by them afterwards.
// Java knows only the ids of its own choice.
func (p *parts[T]) named(id int) (it T, ok bool) {
	if it, ok = p.get(id); ok {
		return it, true
	}
	if ours, sent := p.sent[id]; sent {
		return p.get(ours)
	}
	return it, false
}

// own returns the id of the part that the request calls so, where it added one;
// else the id itself. Views look there first.
func (p *parts[T]) own(id int) int {
	if ours, sent := p.sent[id]; sent {
		return ours
	}
	return id
}

func (p *parts[T]) at(i int) (id int, raw []byte) {
	return p.items[i].partID(), p.items[i].bytes()
}

// same returns the id of the part that is equal to it, if any.
func (p *parts[T]) same(it T) (int, bool) {
	if p.byKey == nil {
		p.byKey = make(map[string]int, len(p.items))
		for _, it := range p.items {
			if k := it.key(); !has(p.byKey, k) {
				p.byKey[k] = it.partID()
			}
		}
	}
	id, ok := p.byKey[it.key()]
	return id, ok
}

func has[K comparable, V any](m map[K]V, k K) bool {
	_, ok := m[k]
	return ok
}

// nextID returns the id after the highest, at least first.
func (p *parts[T]) nextID(first int) int {
	if p.next == 0 {
		for _, it := range p.items {
			p.next = max(p.next, it.partID()+1)
		}
	}
	return max(p.next, first)
}

func (p *parts[T]) add(it T) {
	p.items = append(p.items, it)
	if p.byID != nil {
		p.byID[it.partID()] = it
	}
	if p.byKey != nil {
		p.byKey[it.key()] = it.partID()
	}
	p.next = max(p.next, it.partID()+1)
}

// remove takes out those with the given ids and says whether there were any.
// Java numbers on from what is left, so next is computed again.
func (p *parts[T]) remove(ids []int) bool {
	gone := make(map[int]bool, len(ids))
	for _, id := range ids {
		gone[id] = true
	}
	kept := slices.DeleteFunc(slices.Clone(p.items), func(it T) bool { return gone[it.partID()] })
	if len(kept) == len(p.items) {
		return false
	}
	p.items, p.byID, p.byKey, p.next = kept, nil, nil, 0
	return true
}

// key spells columns and identifier fields one way, without the id. Members
// this package doesn't know count: a schema that differs in one is another
// schema, else the newcomer's would be lost.
func (s *schema) key() string { return string(s.comparable().appendTo(nil)) }

// key holds each field's source, name and transform; ids don't matter.
func (s *partitionSpec) key() string {
	var out []byte
	for i := range s.fields {
		f := &s.fields[i]
		out = appendString(out, f.name)
		out = append(out, f.partitionKey()...)
	}
	return string(out)
}

// partitionKey is what two fields must share to use one field id.
func (f *partitionField) partitionKey() string {
	return string(appendString(intList(f.sources), f.transform.text))
}

func (s *sortOrder) key() string {
	var out []byte
	for i := range s.fields {
		f := &s.fields[i]
		out = append(out, intList(f.sources)...)
		out = appendString(out, f.transform.text)
		out = append(out, f.direction...)
		out = append(out, f.nullOrder...)
	}
	return string(out)
}

// refList is the branches and tags. Removed ones stay as marks, so that
// indexes hold.
type refList struct {
	items  []ref
	loaded bool
	byName map[string]int
	// uses counts the refs at a snapshot; made at the first removal.
	uses map[int64]int
}

// fewRefs is how many are searched without a map: an append finds main at
// once and must not pay for one.
const fewRefs = 16

func (l *refList) find(name string) int {
	if l.byName == nil && len(l.items) <= fewRefs {
		return slices.IndexFunc(l.items, func(r ref) bool { return r.name == name && !r.removed })
	}
	if l.byName == nil {
		l.byName = make(map[string]int, len(l.items))
		for i := range l.items {
			if !l.items[i].removed {
				l.byName[l.items[i].name] = i
			}
		}
	}
	if i, ok := l.byName[name]; ok {
		return i
	}
	return -1
}

func (l *refList) put(i int, r ref) {
	if i < 0 {
		i = len(l.items)
		l.items = append(l.items, r)
		if l.byName != nil {
			l.byName[r.name] = i
		}
	} else {
		l.count(l.items[i].snapshot, -1)
		l.items[i] = r
	}
	l.count(r.snapshot, 1)
}

func (l *refList) count(snapshot int64, n int) {
	if l.uses != nil {
		l.uses[snapshot] += n
	}
}

func (l *refList) drop(i int) {
	l.items[i].removed = true
	delete(l.byName, l.items[i].name)
	l.count(l.items[i].snapshot, -1)
}

// used says whether a live ref points at the snapshot.
func (l *refList) used(snapshot int64) bool {
	if l.uses == nil {
		l.uses = make(map[int64]int, len(l.items))
		for i := range l.items {
			if !l.items[i].removed {
				l.uses[l.items[i].snapshot]++
			}
		}
	}
	return l.uses[snapshot] > 0
}

// propertyList is the table properties in order.
type propertyList struct {
	items  []property
	loaded bool
	byName map[string]int
}

func (l *propertyList) index() map[string]int {
	if l.byName == nil {
		l.byName = make(map[string]int, len(l.items))
		for i := range l.items {
			if !l.items[i].removed {
				l.byName[l.items[i].name] = i
			}
		}
	}
	return l.byName
}

func (l *propertyList) get(name string) (string, bool) {
	if i, ok := l.index()[name]; ok {
		return l.items[i].value, true
	}
	return "", false
}

// set keeps a property that has the value already as it is written.
func (l *propertyList) set(p property) {
	if i, ok := l.index()[p.name]; ok {
		if l.items[i].value != p.value {
			l.items[i] = p
		}
		return
	}
	l.byName[p.name] = len(l.items)
	l.items = append(l.items, p)
}

func (l *propertyList) remove(name string) {
	if i, ok := l.index()[name]; ok {
		l.items[i].removed = true
		delete(l.byName, name)
	}
}

// load takes over a document's properties.
func (l *propertyList) load(base []propertyItem, doc []byte) {
	if l.loaded {
		return
	}
	l.items = make([]property, len(base))
	for i, p := range base {
		l.items[i] = property{name: p.name, value: p.value, raw: p.at.of(doc)}
	}
	l.loaded = true
}

// differs compares with a document: setting what is set already is no change.
func (l *propertyList) differs(base []propertyItem) bool {
	now := l.index()
	if len(now) != len(base) {
		return true
	}
	return slices.ContainsFunc(base, func(p propertyItem) bool {
		i, ok := now[p.name]
		return !ok || l.items[i].value != p.value
	})
}

// keyList is the encryption keys.
type keyList struct {
	items  []encryptionKey
	loaded bool
	byID   map[string]int
}

func (l *keyList) find(id string) (int, bool) {
	if l.byID == nil {
		l.byID = make(map[string]int, len(l.items))
		for i := range l.items {
			l.byID[l.items[i].id] = i
		}
	}
	i, ok := l.byID[id]
	return i, ok
}

// statList is statistics or partition-statistics: at most one for a snapshot
// comes by updates, but a document may hold more.
type statList struct {
	items  []stat
	loaded bool
	byID   map[int64][]int // made at the first change
}

type stat struct {
	snapshot int64
	raw      []byte
	removed  bool
}

func (l *statList) index() map[int64][]int {
	if l.byID == nil {
		l.byID = make(map[int64][]int, len(l.items))
		for i := range l.items {
			l.byID[l.items[i].snapshot] = append(l.byID[l.items[i].snapshot], i)
		}
	}
	return l.byID
}

func (l *statList) remove(snapshot int64) bool {
	if len(l.items) == 0 {
		return false
	}
	at := l.index()[snapshot]
	for _, i := range at {
		l.items[i].removed = true
	}
	delete(l.byID, snapshot)
	return len(at) > 0
}

// set puts the snapshot's only file and says whether that is a change.
func (l *statList) set(snapshot int64, raw []byte) bool {
	at := l.index()[snapshot]
	if len(at) == 0 {
		l.byID[snapshot] = []int{len(l.items)}
		l.items = append(l.items, stat{snapshot: snapshot, raw: raw})
		return true
	}
	for _, i := range at[1:] {
		l.items[i].removed = true
	}
	l.byID[snapshot] = at[:1]
	if sameJSON(l.items[at[0]].raw, raw) {
		return len(at) > 1
	}
	l.items[at[0]].raw = raw
	return true
}

// appendTo spells the value one way: members sorted by name.
func (n *node) appendTo(dst []byte) []byte {
	switch n.kind {
	case '{':
		names := make([]string, 0, len(n.members))
		for name := range n.members {
			names = append(names, name)
		}
		slices.Sort(names)
		dst = append(dst, '{')
		for _, name := range names {
			dst = strconv.AppendQuote(dst, name)
			dst = append(dst, ':')
			dst = append(n.members[name].appendTo(dst), ',')
		}
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		for _, item := range n.items {
			dst = append(item.appendTo(dst), ',')
		}
		return append(dst, ']')
	case '"':
		return strconv.AppendQuote(dst, n.text)
	default:
		return append(dst, n.text...)
	}
}
