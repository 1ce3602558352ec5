package httpapi_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// value is a JSON text in pieces, so that it can be broken in ways that no
// encoder would write: names that repeat, numbers out of any range.
type value struct {
	text   string // of a scalar, as it is printed
	list   []*value
	names  []string // of an object, beside list
	object bool
	array  bool
}

func scalar(text string) *value { return &value{text: text} }

func (v *value) print(b *strings.Builder) {
	switch {
	case v.object:
		b.WriteByte('{')
		for i, member := range v.list {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(v.names[i])
			b.WriteByte(':')
			member.print(b)
		}
		b.WriteByte('}')
	case v.array:
		b.WriteByte('[')
		for i, element := range v.list {
			if i > 0 {
				b.WriteByte(',')
			}
			element.print(b)
		}
		b.WriteByte(']')
	default:
		b.WriteString(v.text)
	}
}

func (v *value) String() string {
	var b strings.Builder
	v.print(&b)
	return b.String()
}

// all returns v and everything inside it.
func (v *value) all() []*value {
	found := []*value{v}
	for _, inner := range v.list {
		found = append(found, inner.all()...)
	}
	return found
}

// maker makes values that fit a schema, with texts and numbers that mean
// something to the catalog under test, so that requests get far.
type maker struct {
	*rand.Rand
	spec *specification
	// known are printed values by the name of the member that they fit.
	known map[string][]string
	// places are path segments by the placeholder that they fit.
	places map[string][]string
	root   string // of all paths, e.g. "/catalog"
	base   string // of the warehouse, e.g. "/catalog/v1/<id>"
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// chance is true once in n times.
func (m *maker) chance(n int) bool { return m.IntN(n) == 0 }

func (m *maker) value(schema *specSchema, name string, depth int) *value {
	schema = m.spec.resolve(schema)
	if schema == nil {
		return scalar("{}")
	}
	if schema.Discriminator != nil && len(schema.Discriminator.Mapping) > 0 {
		return m.object(m.spec.Components.Schemas[last(schema.Discriminator.Mapping[pick(m.Rand, slices.Sorted(maps.Keys(schema.Discriminator.Mapping)))])], depth)
	}
	for _, choice := range [][]*specSchema{schema.OneOf, schema.AnyOf} {
		if len(choice) > 0 {
			return m.value(choice[m.IntN(len(choice))], name, depth+1)
		}
	}
	switch {
	case schema.Const != nil:
		return scalar(quoted(fmt.Sprint(schema.Const)))
	case len(schema.Enum) > 0:
		return scalar(quoted(fmt.Sprint(pick(m.Rand, schema.Enum))))
	}
	if known := m.known[name]; known != nil && !m.chance(8) {
		return scalar(pick(m.Rand, known))
	}
	switch schema.kind() {
	case "object":
		return m.object(schema, depth)
	case "array":
		v := &value{array: true}
		for range m.IntN(4) {
			if depth < 12 {
				v.list = append(v.list, m.value(schema.Items, name, depth+1))
			}
		}
		return v
	case "integer":
		return scalar(strconv.Itoa(pick(m.Rand, []int{0, 1, 2, 3, -1, 7, 100})))
	case "number":
		return scalar("1.5")
	case "boolean":
		return scalar(pick(m.Rand, []string{"true", "false"}))
	}
	switch schema.Format {
	case "uuid":
		return scalar(quoted("018f3c1e-7b2a-7cde-8f01-00000000aaaa"))
	case "date-time":
		return scalar(quoted("2026-01-01T00:00:00Z"))
	}
	return scalar(quoted(pick(m.Rand, []string{"a", "b", "x y", "n", "t", ""})))
}

func (m *maker) object(schema *specSchema, depth int) *value {
	v := &value{object: true}
	members, required := m.spec.members(schema)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(required, name) && (depth > 8 || !m.chance(3)) {
			continue
		}
		v.names = append(v.names, quoted(name))
		v.list = append(v.list, m.value(members[name], name, depth+1))
	}
	if more := schema.additional(); more != nil {
		for i := range m.IntN(3) {
			v.names = append(v.names, quoted(fmt.Sprint("k", i)))
			v.list = append(v.list, m.value(more, "", depth+1))
		}
	}
	return v
}

// odd are texts of JSON values that a reader likes to get wrong; some are no
// JSON at all.
var odd = []string{
	"null", "true", "false", "0", "-0", "1", "-1", "1.0", "1e2", "1e999", "-1e999", "1e-999", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
	"-9223372036854775809", "18446744073709551616", "2147483647", "2147483648", "0.1", "1.7976931348623157e309", "123456789012345678901234567890", "01", "+1", ".5", "1.", "NaN", "Infinity", "0x10",
	`""`, `"a"`, `"\u0000"`, `"\ud800"`, `"\udc00\ud800"`, `"\ud83d\ude00"`, "\"\xff\"", "\"\xed\xa0\x80\"", "\"\x00\"", "\"\n\"", `"\x"`, `"\u12"`, `" "`, `"."`, `".."`, `"a.b"`, `"a\u001fb"`, `"%1F"`, `"%00"`, `"a/b"`,
	`"file:///etc"`, `"file:"`, `"s3://bucket/x"`, `"://"`, `"file://host/x"`, `"file:///%00"`, `"../../x"`, `"'; --"`, `"$1"`, `"{}"`, `"main"`, `"long"`, `"decimal(0,0)"`, `"fixed[-1]"`, `"bucket[0]"`, `"void"`, `"string"`, `"struct"`,
	`"00000000-0000-0000-0000-000000000000"`, `"\u202e\ufeff"`, "[]", "{}", "[[]]", "[null]", `{"":null}`, `{"a":{}}`, `{"type":"struct","fields":[]}`, `{"type":"list"}`, `{"type":"map"}`, "undefined", "'a'", "/**/1", "1 2", "",
}

// breakValue changes one place of v.
func (m *maker) breakValue(v *value) {
	places := v.all()
	at := places[m.IntN(len(places))]
	switch m.IntN(7) {
	case 0, 1, 2:
		*at = value{text: pick(m.Rand, odd)}
	case 3: // a member or element is missing
		if n := len(at.list); n > 0 {
			i := m.IntN(n)
			at.list = slices.Delete(at.list, i, i+1)
			if at.object {
				at.names = slices.Delete(at.names, i, i+1)
			}
		}
	case 4: // one stands twice
		if n := len(at.list); n > 0 {
			i := m.IntN(n)
			at.list = append(at.list, at.list[i])
			if at.object {
				at.names = append(at.names, at.names[i])
			}
		}
	case 5: // a name is another
		if n := len(at.names); n > 0 {
			at.names[m.IntN(n)] = pick(m.Rand, []string{`""`, `"unknown"`, `"\u0000"`, `"\ud800"`, "\"\xff\"", `"Action"`, `"type"`, `"action"`, `"id"`, `"a\u001f"`, "7", `"` + strings.Repeat("n", 300) + `"`})
		}
	case 6: // one is deep, wide or long
		*at = value{text: pick(m.Rand, []func() string{
			func() string { return strings.Repeat("[", 999) + strings.Repeat("]", 999) },
			func() string { return strings.Repeat(`{"a":`, 1001) + "1" + strings.Repeat("}", 1001) },
			func() string { return strings.Repeat("[", 100_000) },
			func() string { return quoted(strings.Repeat("x", 70_000)) },
			func() string { return "[" + strings.Repeat("1,", 5_000) + "1]" },
			func() string { return strings.Repeat("9", 5_000) },
			func() string { return at.String() + at.String() },
			func() string { return "[" + at.String() + "]" },
		})()}
	}
}

// breakText changes some bytes of a text.
func (m *maker) breakText(text string) string {
	at := m.IntN(len(text) + 1)
	switch m.IntN(6) {
	case 0:
		return text[:at]
	case 1:
		return "\ufeff" + text
	case 2:
		return text + pick(m.Rand, []string{"}", "{}", "\x00", " x", "//", "\xff"})
	case 3:
		return text[:at] + pick(m.Rand, []string{"\x00", "\xff", "\xc3", "\"", "\\", "{", "]", ",", ":", "\u2028", "\x1f", "-", "e"}) + text[at:]
	case 4:
		if at < len(text) {
			return text[:at] + text[at+1:]
		}
		return " \t\r\n" + text + "\n"
	default:
		return pick(m.Rand, []string{"", " ", "null", "[]", "{}", "7", `"x"`, "{", "{{", "{\"a\"}", "\x1f\x8b\x08", "a=b&c=d", "<xml/>"})
	}
}
