package iceberg

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// maxDepth bounds nesting. Jackson, which every JVM engine reads metadata
	// with, stops at 1,000; a schema 250 structs deep needs about 500.
	maxDepth = 500
	// maxNumberLen is Jackson's limit on the text of a number: a longer one
	// would make the document unreadable for JVM engines.
	maxNumberLen = 1000
	// pairwiseKeys is the number of members up to which comparing all pairs of
	// names beats sorting them.
	pairwiseKeys = 40
	// maxDocument keeps offsets within 32 bits.
	maxDocument = math.MaxUint32 - 1
)

// span is a half-open range of offsets into a document.
type span struct{ a, b int }

// offset narrows an offset within a document for an index: documents are
// smaller than 4 GiB, see maxDocument.
func offset(n int) uint32 { return uint32(n) }

func (s span) of(doc []byte) []byte { return doc[s.a:s.b] }
func (s span) empty() bool          { return s.a == s.b }

// cursor reads JSON strictly (RFC 8259, UTF-8, no duplicate names, bounded
// depth) in one pass over the bytes. It is pull-style so that big arrays are
// indexed without reflection or an allocation an element. The first error
// sticks and ends every loop.
type cursor struct {
	data  []byte
	pos   int
	depth int
	err   error
	// keys is the stack of member names of all open objects.
	keys []name
}

// name is a member name, unescaped, with a cheap signature to tell most
// names apart without comparing them.
type name struct {
	text []byte
	sig  uint64
}

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.err = badRequest("Invalid JSON at offset %d: %s", c.pos, fmt.Sprintf(format, args...))
	}
}

// reject records an error about the meaning of a value, not its syntax.
func (c *cursor) reject(err error) {
	if c.err == nil {
		c.err = err
	}
}

func (c *cursor) space() {
	for c.pos < len(c.data) {
		switch c.data[c.pos] {
		case ' ', '\t', '\n', '\r':
			c.pos++
		default:
			return
		}
	}
}

// peek returns the first byte of the next token, or 0 at the end.
func (c *cursor) peek() byte {
	c.space()
	if c.err != nil || c.pos >= len(c.data) {
		return 0
	}
	return c.data[c.pos]
}

// end demands that nothing follows.
func (c *cursor) end() {
	if c.err == nil && c.peek() != 0 || c.err == nil && c.pos < len(c.data) {
		c.fail("unexpected data after the value")
	}
}

func (c *cursor) unexpected(want string) {
	if c.pos >= len(c.data) {
		c.fail("unexpected end, expected %s", want)
		return
	}
	c.fail("unexpected %q, expected %s", c.data[c.pos], want)
}

// object is the state of iterating over one object's members.
type object struct {
	base  int    // first of its names in cursor.keys
	key   []byte // name of the current member
	keyAt int    // offset of the name's opening quote
	first bool
}

func (c *cursor) object() object {
	if c.peek() != '{' {
		c.unexpected("an object")
		return object{}
	}
	c.pos++
	c.enter()
	return object{base: len(c.keys), first: true}
}

func (c *cursor) enter() {
	if c.depth++; c.depth > maxDepth {
		c.fail("nesting deeper than %d levels", maxDepth)
	}
}

// member moves to the next member; the caller must consume its value.
func (c *cursor) member(o *object) bool {
	ch := c.peek()
	if c.err != nil {
		return false
	}
	if ch == '}' {
		c.pos++
		c.depth--
		c.unique(c.keys[o.base:])
		c.keys = c.keys[:o.base]
		return false
	}
	if !o.first {
		if ch != ',' {
			c.unexpected("',' or '}'")
			return false
		}
		c.pos++
		ch = c.peek()
	}
	o.first = false
	if ch != '"' {
		c.unexpected("a member name")
		return false
	}
	o.keyAt = c.pos
	text, escaped := c.stringToken()
	if c.err != nil {
		return false
	}
	if escaped {
		text = unescape(text)
	}
	o.key = text
	c.keys = append(c.keys, name{text: text, sig: signature(text)})
	if c.peek() != ':' {
		c.unexpected("':'")
		return false
	}
	c.pos++
	return c.err == nil
}

func signature(text []byte) uint64 {
	n := len(text)
	if n >= 8 {
		return binary.LittleEndian.Uint64(text[n-8:]) ^ uint64(n)<<56 ^ uint64(text[0])<<48
	}
	var s uint64
	for _, b := range text {
		s = s<<8 | uint64(b)
	}
	return s ^ uint64(n)<<56
}

// unique fails on two equal names. It may reorder names, which is why it runs
// when their object closes.
func (c *cursor) unique(names []name) {
	if len(names) <= pairwiseKeys {
		for i := range names {
			for j := range i {
				if names[i].sig == names[j].sig && bytes.Equal(names[i].text, names[j].text) {
					c.fail("duplicate member %q", clip(names[i].text))
					return
				}
			}
		}
		return
	}
	slices.SortFunc(names, func(x, y name) int { return bytes.Compare(x.text, y.text) })
	for i := 1; i < len(names); i++ {
		if bytes.Equal(names[i-1].text, names[i].text) {
			c.fail("duplicate member %q", clip(names[i].text))
			return
		}
	}
}

// array is the state of iterating over one array's elements.
type array struct{ first bool }

func (c *cursor) array() array {
	if c.peek() != '[' {
		c.unexpected("an array")
		return array{}
	}
	c.pos++
	c.enter()
	return array{first: true}
}

// element moves to the next element; the caller must consume it.
func (c *cursor) element(a *array) bool {
	ch := c.peek()
	if c.err != nil {
		return false
	}
	if ch == ']' {
		c.pos++
		c.depth--
		return false
	}
	if !a.first {
		if ch != ',' {
			c.unexpected("',' or ']'")
			return false
		}
		c.pos++
		if c.peek() == ']' {
			c.unexpected("a value")
			return false
		}
	}
	a.first = false
	return c.err == nil
}

// skip consumes any value and returns where it stands.
func (c *cursor) skip() span {
	ch := c.peek()
	start := c.pos
	switch {
	case c.err != nil:
	case ch == '{':
		for o := c.object(); c.member(&o); {
			c.skip()
		}
	case ch == '[':
		for a := c.array(); c.element(&a); {
			c.skip()
		}
	case ch == '"':
		c.stringToken()
	case ch == '-' || ch >= '0' && ch <= '9':
		c.number()
	case ch == 't':
		c.literal("true")
	case ch == 'f':
		c.literal("false")
	case ch == 'n':
		c.literal("null")
	default:
		c.unexpected("a value")
	}
	return span{start, c.pos}
}

func (c *cursor) literal(text string) {
	if len(c.data)-c.pos < len(text) || string(c.data[c.pos:c.pos+len(text)]) != text {
		c.unexpected("a value")
		return
	}
	c.pos += len(text)
}

// null consumes a null and says whether there was one.
func (c *cursor) null() bool {
	if c.peek() != 'n' {
		return false
	}
	c.literal("null")
	return c.err == nil
}

// number consumes a number; whole tells that it has no fraction or exponent.
func (c *cursor) number() (text []byte, whole bool) {
	d, i := c.data, c.pos
	start := i
	if i < len(d) && d[i] == '-' {
		i++
	}
	digits := func() int {
		from := i
		for i < len(d) && d[i]-'0' <= 9 {
			i++
		}
		return i - from
	}
	leading := i
	if n := digits(); n == 0 || n > 1 && d[leading] == '0' {
		c.fail("malformed number")
		return nil, false
	}
	whole = true
	if i < len(d) && d[i] == '.' {
		whole = false
		i++
		if digits() == 0 {
			c.fail("malformed number")
			return nil, false
		}
	}
	if i < len(d) && (d[i] == 'e' || d[i] == 'E') {
		whole = false
		i++
		if i < len(d) && (d[i] == '+' || d[i] == '-') {
			i++
		}
		if digits() == 0 {
			c.fail("malformed number")
			return nil, false
		}
	}
	if i-start > maxNumberLen {
		c.fail("number of more than %d characters", maxNumberLen)
		return nil, false
	}
	c.pos = i
	return d[start:i], whole
}

// stringToken consumes a string and returns what stands between its quotes.
func (c *cursor) stringToken() (text []byte, escaped bool) {
	d := c.data
	i := c.pos + 1
	start := i
	for {
		// Eight bytes at a time while nothing needs a look.
		for i+8 <= len(d) {
			if stop := special(binary.LittleEndian.Uint64(d[i:])); stop != 0 {
				i += bits.TrailingZeros64(stop) / 8
				break
			}
			i += 8
		}
		if i >= len(d) {
			c.pos = len(d)
			c.fail("unterminated string")
			return nil, false
		}
		switch b := d[i]; {
		case b == '"':
			c.pos = i + 1
			return d[start:i], escaped
		case b == '\\':
			escaped = true
			c.pos = i
			if i = c.escape(i); i < 0 {
				return nil, false
			}
		case b < 0x20:
			c.pos = i
			c.fail("control character in a string")
			return nil, false
		case b < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRune(d[i:])
			if r == utf8.RuneError && n == 1 {
				c.pos = i
				c.fail("invalid UTF-8")
				return nil, false
			}
			i += n
		}
	}
}

// special has the high bit set in the lowest byte of x that is a quote, a
// backslash, a control character or not ASCII (higher bytes may be wrong).
func special(x uint64) uint64 {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	quote, slash := x^(ones*'"'), x^(ones*'\\')
	return (x | (x-ones*0x20)&^x | (quote-ones)&^quote | (slash-ones)&^slash) & high
}

// escape checks the escape sequence at i and returns the offset after it, or
// -1. A surrogate must be half of a pair: alone it stands for no text.
func (c *cursor) escape(i int) int {
	d := c.data
	if i+1 >= len(d) {
		c.fail("unterminated string")
		return -1
	}
	switch d[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		r := hex4(d, i+2)
		if r < 0 {
			c.fail("malformed escape sequence")
			return -1
		}
		if !utf16.IsSurrogate(r) {
			return i + 6
		}
		if i+7 < len(d) && d[i+6] == '\\' && d[i+7] == 'u' {
			if low := hex4(d, i+8); low >= 0 && utf16.DecodeRune(r, low) != utf8.RuneError {
				return i + 12
			}
		}
		c.fail("unpaired surrogate in an escape sequence")
		return -1
	default:
		c.fail("malformed escape sequence")
		return -1
	}
}

func hex4(d []byte, i int) rune {
	if i+4 > len(d) {
		return -1
	}
	n, err := strconv.ParseUint(string(d[i:i+4]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// unescape decodes the text of a checked string token.
func unescape(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		if text[i] != '\\' {
			out = append(out, text[i])
			i++
			continue
		}
		switch e := text[i+1]; e {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r := hex4(text, i+2)
			if utf16.IsSurrogate(r) {
				r = utf16.DecodeRune(r, hex4(text, i+8))
				i += 6
			}
			out = utf8.AppendRune(out, r)
			i += 4
		default:
			out = append(out, e)
		}
		i += 2
	}
	return out
}

// clip shortens client text for an error message.
func clip(text []byte) string {
	const most = 80
	if len(text) <= most {
		return string(text)
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return string(text[:cut]) + "…"
}
