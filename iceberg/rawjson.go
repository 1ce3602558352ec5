package iceberg

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// appendString appends text as a JSON string, escaping only what JSON demands
// (as Jackson does), so that paths and names stay readable.
func appendString(dst []byte, text string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(text); {
		b := text[i]
		switch {
		case b == '"' || b == '\\':
			dst = append(dst, '\\', b)
		case b >= 0x20 && b < utf8.RuneSelf:
			dst = append(dst, b)
		case b == '\n':
			dst = append(dst, '\\', 'n')
		case b == '\r':
			dst = append(dst, '\\', 'r')
		case b == '\t':
			dst = append(dst, '\\', 't')
		case b < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
		default:
			r, n := utf8.DecodeRuneInString(text[i:])
			dst = utf8.AppendRune(dst, r) // invalid bytes become U+FFFD
			i += n
			continue
		}
		i++
	}
	return append(dst, '"')
}

func appendInt(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }

func itoa(n int) string { return strconv.Itoa(n) }

// rawMember is one member of a checked object: raw[at:end] is the whole
// member, raw[value:end] its value.
type rawMember struct {
	key            string
	at, value, end int
}

// rawMembers splits a checked object.
func rawMembers(raw []byte) []rawMember {
	c := cursor{data: raw}
	var list []rawMember
	for o := c.object(); c.member(&o); {
		s := c.skip()
		list = append(list, rawMember{string(o.key), o.keyAt, s.a, s.b})
	}
	return list
}

// rebuild writes an object anew: edit returns the value of a member and
// whether it stays. added members follow those of front (by name), or stand
// first when front is empty or absent.
func rebuild(raw []byte, edit func(m rawMember) (value []byte, keep bool), front string, added ...property) []byte {
	out := make([]byte, 0, len(raw)+32*len(added)+16)
	out = append(out, '{')
	comma := func() {
		if len(out) > 1 {
			out = append(out, ',')
		}
	}
	add := func() {
		for _, p := range added {
			comma()
			out = appendString(out, p.name)
			out = append(out, ':')
			out = append(out, p.raw...)
		}
		added = nil
	}
	members := rawMembers(raw)
	if front == "" || !slices.ContainsFunc(members, func(m rawMember) bool { return m.key == front }) {
		add()
	}
	for _, m := range members {
		value, keep := edit(m)
		if !keep {
			continue
		}
		comma()
		out = append(out, raw[m.at:m.value]...)
		out = append(out, value...)
		if m.key == front {
			add()
		}
	}
	return append(out, '}')
}

// withMember sets one member's value, inserting it after front when absent.
func withMember(raw []byte, member string, value []byte, front string) []byte {
	members := rawMembers(raw)
	i := slices.IndexFunc(members, func(m rawMember) bool { return m.key == member })
	if i >= 0 {
		m := members[i]
		if bytes.Equal(raw[m.value:m.end], value) {
			return raw
		}
		return splice(raw, []edit{{span{m.value, m.end}, value}})
	}
	keep := func(m rawMember) ([]byte, bool) { return raw[m.value:m.end], true }
	return rebuild(raw, keep, front, property{name: member, raw: value})
}

// edit replaces a range of a raw value.
type edit struct {
	at   span
	text []byte
}

// splice applies edits that do not overlap.
func splice(raw []byte, edits []edit) []byte {
	if len(edits) == 0 {
		return raw
	}
	slices.SortFunc(edits, func(x, y edit) int { return x.at.a - y.at.a })
	size := len(raw)
	for _, e := range edits {
		size += len(e.text) - (e.at.b - e.at.a)
	}
	out := make([]byte, 0, size)
	from := 0
	for _, e := range edits {
		out = append(out, raw[from:e.at.a]...)
		out = append(out, e.text...)
		from = e.at.b
	}
	return append(out, raw[from:]...)
}

// node is a small JSON value for comparing meaning instead of spelling.
type node struct {
	kind    byte // '{', '[', '"' or 0 for numbers and literals
	text    string
	members map[string]*node
	items   []*node
}

// tree reads a checked value. Members that are null count as absent.
func tree(raw []byte) *node {
	c := cursor{data: raw}
	return c.tree()
}

func (c *cursor) tree() *node {
	switch ch := c.peek(); ch {
	case '{':
		n := &node{kind: ch, members: map[string]*node{}}
		for o := c.object(); c.member(&o); {
			key := string(o.key)
			if c.null() {
				continue
			}
			n.members[key] = c.tree()
		}
		return n
	case '[':
		n := &node{kind: ch}
		for a := c.array(); c.element(&a); {
			n.items = append(n.items, c.tree())
		}
		return n
	case '"':
		return &node{kind: ch, text: c.str("")}
	default:
		return &node{text: string(c.skip().of(c.data))}
	}
}

func (n *node) equal(o *node) bool {
	if n.kind != o.kind || n.text != o.text || len(n.members) != len(o.members) || len(n.items) != len(o.items) {
		return false
	}
	for key, value := range n.members {
		other, ok := o.members[key]
		if !ok || !value.equal(other) {
			return false
		}
	}
	for i, item := range n.items {
		if !item.equal(o.items[i]) {
			return false
		}
	}
	return true
}

// sameJSON compares two checked values by meaning: order of members, white
// space, escapes and explicit nulls do not matter.
func sameJSON(a, b []byte) bool {
	return bytes.Equal(a, b) || tree(a).equal(tree(b))
}

// stripTrailingSlash is Java's LocationUtil: the slashes of a bare scheme stay.
func stripTrailingSlash(location string) string {
	for strings.HasSuffix(location, "/") && !strings.HasSuffix(location, "://") {
		location = location[:len(location)-1]
	}
	return location
}
