package catalog

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// coder walks the members of a payload in one fixed order, either writing them
// from the fields of an event or reading them into those. Each event states
// its members once, in its fields method, and both directions check the same
// rules. The first fault stays in err and ends the work.
type coder struct {
	reading bool
	out     []byte // writing: the object so far
	empty   bool   // writing: no member yet
	in      []member
	taken   int // reading: how many of in were asked for
	at      string
	err     error
}

func (c *coder) fail(name, format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%s%s: %w", c.at, name, fmt.Errorf(format, args...))
	}
}

// encodeObject writes what walk names as one object.
func encodeObject(out []byte, at string, walk func(*coder)) ([]byte, error) {
	c := &coder{out: append(out, '{'), empty: true, at: at}
	walk(c)
	return append(c.out, '}'), c.err
}

// decodeObject reads an object of exactly the members that walk names.
func decodeObject(data []byte, at string, walk func(*coder)) error {
	list, err := members(data)
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	c := &coder{reading: true, in: list, at: at}
	walk(c)
	if c.err == nil && c.taken != len(c.in) {
		c.err = fmt.Errorf("%s: unknown members beside the %d known ones", at, c.taken)
	}
	return c.err
}

// get finds a member while reading. Its absence is a fault if it is required.
func (c *coder) get(name string, required bool) ([]byte, bool) {
	if c.err != nil {
		return nil, false
	}
	for _, m := range c.in {
		if m.name == name {
			c.taken++
			return m.value, true
		}
	}
	if required {
		c.fail(name, "missing")
	}
	return nil, false
}

// name writes a member's name and reports whether to go on.
func (c *coder) name(name string) bool {
	if c.err != nil {
		return false
	}
	if !c.empty {
		c.out = append(c.out, ',')
	}
	c.empty = false
	c.out = append(appendString(c.out, name), ':')
	return true
}

// text is a required string of 1 to limit bytes.
func (c *coder) text(name string, s *string, limit int) { c.anyText(name, s, limit, true) }

// optText is absent when empty.
func (c *coder) optText(name string, s *string, limit int) { c.anyText(name, s, limit, false) }

func (c *coder) anyText(name string, s *string, limit int, required bool) {
	if c.reading {
		value, ok := c.get(name, required)
		if !ok {
			return
		}
		var err error
		if *s, err = unquote(value); err != nil {
			c.fail(name, "%w", err)
			return
		}
	} else if *s == "" && !required {
		return
	}
	if err := checkText(*s, limit); err != nil {
		c.fail(name, "%w", err)
		return
	}
	if !c.reading && c.name(name) {
		c.out = appendString(c.out, *s)
	}
}

func checkText(s string, limit int) error {
	switch {
	case s == "":
		return errors.New("empty")
	case len(s) > limit:
		return fmt.Errorf("%d bytes, at most %d are allowed", len(s), limit)
	case !utf8.ValidString(s):
		return errors.New("not valid UTF-8")
	}
	return nil
}

// texts is a required array of distinct strings, at least least of them.
func (c *coder) texts(name string, list *[]string, least int, check func(string) error) {
	if c.reading {
		value, ok := c.get(name, true)
		if !ok {
			return
		}
		parts, err := elements(value)
		if err != nil {
			c.fail(name, "%w", err)
			return
		}
		*list = make([]string, len(parts))
		for i, part := range parts {
			if (*list)[i], err = unquote(part); err != nil {
				c.fail(name, "%w", err)
				return
			}
		}
	}
	if len(*list) < least {
		c.fail(name, "%d elements, at least %d are needed", len(*list), least)
	}
	for _, s := range *list {
		if err := check(s); err != nil {
			c.fail(name, "%w", err)
		}
	}
	if c.reading || !c.name(name) {
		return
	}
	c.out = append(c.out, '[')
	for i, s := range *list {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		c.out = appendString(c.out, s)
	}
	c.out = append(c.out, ']')
}

// claims is a required array of distinct canonical location keys.
func (c *coder) claims(name string, list *[]string) {
	c.texts(name, list, 0, func(s string) error {
		if !validClaim(s) {
			return errors.New("not a canonical location key")
		}
		return nil
	})
	if repeats(*list) {
		c.fail(name, "an element occurs twice")
	}
}

// vacant is an array of those among the claims of an event whose folders were
// empty when they were claimed; absent when there are none.
func (c *coder) vacant(list *[]string) {
	const name = "claims-vacant"
	if c.reading {
		if _, ok := c.get(name, false); !ok {
			return
		}
		c.taken-- // it is read below
	} else if len(*list) == 0 {
		return
	}
	c.claims(name, list)
	if len(*list) == 0 {
		c.fail(name, "empty")
	}
}

// vacantV1 lifts the first version of the events that claim locations, which did
// not say what was vacant: nothing counts as vacant then.
func vacantV1(data []byte) ([]byte, error) {
	list, err := members(data)
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		if m.name == "claims-vacant" {
			return nil, errors.New("version 1 has no member claims-vacant")
		}
	}
	return data, nil
}

// levels is the required path of a namespace.
func (c *coder) levels(name string, list *[]string) {
	c.texts(name, list, 1, func(s string) error { return checkText(s, MaxNameBytes) })
	if len(*list) > MaxLevels {
		c.fail(name, "%d levels, at most %d are allowed", len(*list), MaxLevels)
	}
}

func repeats[T comparable](list []T) bool {
	for i, v := range list {
		if slices.Contains(list[:i], v) {
			return true
		}
	}
	return false
}

// id is a required UUID in lower case.
func (c *coder) id(name string, id *ids.ID) { c.anyID(name, id, true) }

// optID is absent when Nil.
func (c *coder) optID(name string, id *ids.ID) { c.anyID(name, id, false) }

func (c *coder) anyID(name string, id *ids.ID, required bool) {
	if c.reading {
		value, ok := c.get(name, required)
		if !ok {
			return
		}
		var err error
		if *id, err = parseID(value); err != nil {
			c.fail(name, "%w", err)
		}
		return
	}
	switch {
	case id.IsNil() && required:
		c.fail(name, "missing")
	case !id.IsNil() && c.name(name):
		c.out = appendString(c.out, id.String())
	}
}

// parseID reads a quoted UUID in its canonical spelling; the nil UUID means
// none and is never written.
func parseID(value []byte) (ids.ID, error) {
	s, err := unquote(value)
	if err != nil {
		return ids.Nil, err
	}
	id, err := ids.Parse(s)
	switch {
	case err != nil:
		return ids.Nil, err
	case id.IsNil():
		return ids.Nil, errors.New("the nil UUID")
	case id.String() != s:
		return ids.Nil, errors.New("a UUID that is not in lower case")
	}
	return id, nil
}

// idList is a required array of distinct UUIDs.
func (c *coder) idList(name string, list *[]ids.ID) {
	if c.reading {
		value, ok := c.get(name, true)
		if !ok {
			return
		}
		parts, err := elements(value)
		if err != nil {
			c.fail(name, "%w", err)
			return
		}
		*list = make([]ids.ID, len(parts))
		for i, part := range parts {
			if (*list)[i], err = parseID(part); err != nil {
				c.fail(name, "%w", err)
				return
			}
		}
	}
	if repeats(*list) {
		c.fail(name, "an element occurs twice")
	}
	if c.reading || !c.name(name) {
		return
	}
	c.out = append(c.out, '[')
	for i, id := range *list {
		if id.IsNil() {
			c.fail(name, "the nil UUID")
		}
		if i > 0 {
			c.out = append(c.out, ',')
		}
		c.out = appendString(c.out, id.String())
	}
	c.out = append(c.out, ']')
}

// integer is a required whole number from least to most.
func (c *coder) integer(name string, n *int64, least, most int64) {
	if c.reading {
		value, ok := c.get(name, true)
		if !ok {
			return
		}
		var err error
		if *n, err = parseInteger(value); err != nil {
			c.fail(name, "%w", err)
			return
		}
	}
	if *n < least || *n > most {
		c.fail(name, "%d is not between %d and %d", *n, least, most)
	}
	if !c.reading && c.name(name) {
		c.out = strconv.AppendInt(c.out, *n, 10)
	}
}

// optInteger is absent when nil.
func (c *coder) optInteger(name string, n **int64, least, most int64) {
	if c.reading {
		if _, ok := c.get(name, false); !ok {
			return
		}
		c.taken-- // integer takes it again
		*n = new(int64)
	}
	if *n != nil {
		c.integer(name, *n, least, most)
	}
}

// small is integer for a field of type int.
func (c *coder) small(name string, n *int, least, most int64) {
	wide := int64(*n)
	c.integer(name, &wide, least, most)
	*n = int(wide)
}

// smalls is a required, not empty array of distinct whole numbers.
func (c *coder) smalls(name string, list *[]int, least, most int64) {
	if c.reading {
		value, ok := c.get(name, true)
		if !ok {
			return
		}
		parts, err := elements(value)
		if err != nil {
			c.fail(name, "%w", err)
			return
		}
		*list = make([]int, len(parts))
		for i, part := range parts {
			n, err := parseInteger(part)
			if err != nil || n < least || n > most {
				c.fail(name, "an element is not a number between %d and %d", least, most)
				return
			}
			(*list)[i] = int(n)
		}
	}
	switch {
	case len(*list) == 0:
		c.fail(name, "empty")
	case repeats(*list):
		c.fail(name, "an element occurs twice")
	}
	if c.reading || !c.name(name) {
		return
	}
	c.out = append(c.out, '[')
	for i, n := range *list {
		if int64(n) < least || int64(n) > most {
			c.fail(name, "%d is not between %d and %d", n, least, most)
		}
		if i > 0 {
			c.out = append(c.out, ',')
		}
		c.out = strconv.AppendInt(c.out, int64(n), 10)
	}
	c.out = append(c.out, ']')
}

// flag is a required boolean.
func (c *coder) flag(name string, b *bool) {
	if c.reading {
		value, ok := c.get(name, true)
		switch {
		case !ok:
		case string(value) == "true":
			*b = true
		case string(value) == "false":
			*b = false
		default:
			c.fail(name, "not a boolean")
		}
		return
	}
	if c.name(name) {
		c.out = strconv.AppendBool(c.out, *b)
	}
}

// digest is a required SHA-256 in lower-case hexadecimal.
func (c *coder) digest(name string, sum *[32]byte) {
	if !c.reading {
		if c.name(name) {
			c.out = appendString(c.out, hex.EncodeToString(sum[:]))
		}
		return
	}
	value, ok := c.get(name, true)
	if !ok {
		return
	}
	s, err := unquote(value)
	if err == nil && len(s) == 64 {
		_, err = hex.Decode(sum[:], []byte(s))
	}
	if err != nil || hex.EncodeToString(sum[:]) != s {
		c.fail(name, "not 64 lower-case hexadecimal digits")
	}
}

// raw is a required JSON value that is kept as written.
func (c *coder) raw(name string, value *json.RawMessage, check func([]byte) error) {
	if c.reading {
		found, ok := c.get(name, true)
		if !ok {
			return
		}
		*value = slices.Clone(found)
	} else if err := validJSON(*value); err != nil {
		c.fail(name, "%w", err)
		return
	}
	if err := check(*value); err != nil {
		c.fail(name, "%w", err)
	}
	if !c.reading && c.name(name) {
		c.out = append(c.out, *value...)
	}
}

// optRaw is absent when empty.
func (c *coder) optRaw(name string, value *json.RawMessage, check func([]byte) error) {
	if c.reading {
		if _, ok := c.get(name, false); !ok {
			return
		}
		c.taken-- // raw takes it again
	} else if len(*value) == 0 {
		return
	}
	c.raw(name, value, check)
}

// object is a required object with members of its own.
func (c *coder) object(name string, walk func(*coder)) {
	if c.reading {
		value, ok := c.get(name, true)
		if ok {
			if err := decodeObject(value, c.at+name+".", walk); err != nil {
				c.err = err
			}
		}
		return
	}
	if c.name(name) {
		c.out, c.err = encodeObject(c.out, c.at+name+".", walk)
	}
}

// objects is a required array of objects; resize makes room for n of them.
func (c *coder) objects(name string, n, most int, resize func(n int), walk func(i int, c *coder)) {
	if c.reading {
		value, ok := c.get(name, true)
		if !ok {
			return
		}
		parts, err := elements(value)
		if err != nil || len(parts) > most {
			c.fail(name, "not an array of at most %d objects", most)
			return
		}
		resize(len(parts))
		for i, part := range parts {
			if err := decodeObject(part, fmt.Sprintf("%s%s[%d].", c.at, name, i), func(c *coder) { walk(i, c) }); err != nil {
				c.err = err
				return
			}
		}
		return
	}
	if n > most {
		c.fail(name, "%d elements, at most %d are allowed", n, most)
	}
	if !c.name(name) {
		return
	}
	c.out = append(c.out, '[')
	for i := range n {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		var err error
		if c.out, err = encodeObject(c.out, fmt.Sprintf("%s%s[%d].", c.at, name, i), func(c *coder) { walk(i, c) }); err != nil {
			c.err = err
			return
		}
	}
	c.out = append(c.out, ']')
}

// isStringMap accepts an object whose values are strings: properties.
func isStringMap(b []byte) error {
	list, err := members(b)
	for _, m := range list {
		if m.value[0] != '"' {
			return fmt.Errorf("the value of %q is not a string", m.name)
		}
	}
	return err
}

// isArrayOf accepts an array of objects that each have a string at the given
// member: "action" of updates, "type" of requirements.
func isArrayOf(discriminator string) func([]byte) error {
	return func(b []byte) error {
		parts, err := elements(b)
		if err != nil {
			return err
		}
		for _, part := range parts {
			list, err := members(part)
			if err != nil {
				return err
			}
			i := slices.IndexFunc(list, func(m member) bool { return m.name == discriminator })
			if i < 0 || list[i].value[0] != '"' {
				return fmt.Errorf("an element has no %q", discriminator)
			}
		}
		return nil
	}
}

// hasMembers accepts an object with at least the given members.
func hasMembers(names ...string) func([]byte) error {
	return func(b []byte) error {
		list, err := members(b)
		if err != nil {
			return err
		}
		for _, name := range names {
			if !slices.ContainsFunc(list, func(m member) bool { return m.name == name }) {
				return fmt.Errorf("no member %q", name)
			}
		}
		return nil
	}
}
