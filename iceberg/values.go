package iceberg

import (
	"math"
	"strconv"
)

// The readers below take the member's name for the message; the texts are
// those of Java's JsonUtil.

func (c *cursor) int64(member string) int64 { return c.whole(member, "a long value") }

// whole reads an integer literal; a fraction or exponent is refused even when
// its value is whole, as Java does.
func (c *cursor) whole(member, want string) int64 {
	ch := c.peek()
	if c.err != nil {
		return 0
	}
	if ch != '-' && (ch < '0' || ch > '9') {
		c.mistyped(want, member)
		return 0
	}
	start := c.pos
	text, whole := c.number()
	if c.err != nil {
		return 0
	}
	if whole && len(text) < 19 { // cannot overflow
		var n int64
		digits := text
		if text[0] == '-' {
			digits = text[1:]
		}
		for _, d := range digits {
			n = n*10 + int64(d-'0')
		}
		if text[0] == '-' {
			n = -n
		}
		return n
	}
	if whole {
		if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
			return n
		}
	}
	c.pos = start
	c.mistyped(want, member)
	return 0
}

func (c *cursor) int(member string) int {
	const want = "an integer value"
	c.space()
	start := c.pos
	n := c.whole(member, want)
	if c.err == nil && (n < math.MinInt32 || n > math.MaxInt32) {
		c.pos = start
		c.mistyped(want, member)
		return 0
	}
	return int(n)
}

func (c *cursor) str(member string) string {
	if c.peek() != '"' {
		c.mistyped("a string value", member)
		return ""
	}
	text, escaped := c.stringToken()
	if escaped {
		text = unescape(text)
	}
	return string(text)
}

func (c *cursor) bool(member string) bool {
	switch c.peek() {
	case 't':
		c.literal("true")
		return true
	case 'f':
		c.literal("false")
		return false
	default:
		c.mistyped("a boolean value", member)
		return false
	}
}

// mistyped rejects the value at the cursor.
func (c *cursor) mistyped(want, member string) {
	if c.err != nil {
		return
	}
	s := c.skip()
	if c.err == nil {
		c.err = badRequest("Cannot parse to %s: %s: %s", want, member, clip(s.of(c.data)))
	}
}

// tenantText reads a value of a string map. Its message does not repeat the
// value: tenants put secrets into properties.
func (c *cursor) tenantText(member string) string {
	if !c.atString(member) {
		return ""
	}
	text, escaped := c.stringToken()
	if escaped {
		text = unescape(text)
	}
	return string(text)
}

// atString rejects what is not a string, without repeating it.
func (c *cursor) atString(member string) bool {
	if c.peek() == '"' {
		return true
	}
	if c.err == nil {
		if c.skip(); c.err == nil {
			c.err = badRequest("Cannot parse to a string value: %s", clip([]byte(member)))
		}
	}
	return false
}

func missing(kind, member string) error {
	return badRequest("Cannot parse missing %s: %s", kind, member)
}

// int64s reads an array of longs.
func (c *cursor) int64s(member string) []int64 {
	if c.peek() != '[' {
		c.mistyped("a list of long values", member)
		return nil
	}
	list := []int64{}
	for a := c.array(); c.element(&a); {
		list = append(list, c.int64(member))
	}
	return list
}

// ints reads an array of 32-bit integers.
func (c *cursor) ints(member string) []int {
	if c.peek() != '[' {
		c.mistyped("a list of integer values", member)
		return nil
	}
	list := []int{}
	for a := c.array(); c.element(&a); {
		list = append(list, c.int(member))
	}
	return list
}

// strs reads an array of strings.
func (c *cursor) strs(member string) []string {
	if c.peek() != '[' {
		c.mistyped("a list of string values", member)
		return nil
	}
	list := []string{}
	for a := c.array(); c.element(&a); {
		list = append(list, c.str(member))
	}
	return list
}

// property is one entry of a string map. raw is the whole member as it stands
// in a document, nil when the value is new.
type property struct {
	name, value string
	raw         []byte
	removed     bool
}

// stringMap reads an object of strings in its order. A lenient reader also
// takes numbers and booleans, by their text, as sloppy clients send them.
func (c *cursor) stringMap(member string, lenient bool) []property {
	if c.peek() != '{' {
		c.mistyped("a string map", member)
		return nil
	}
	list := []property{}
	o := c.object()
	for c.member(&o) {
		p := property{name: string(o.key)}
		switch ch := c.peek(); {
		case ch == '"' || !lenient || ch == 'n' || ch == '{' || ch == '[':
			p.value = c.tenantText(p.name)
			p.raw = c.data[o.keyAt:c.pos]
		default:
			p.value = string(c.skip().of(c.data))
		}
		list = append(list, p)
	}
	return list
}
