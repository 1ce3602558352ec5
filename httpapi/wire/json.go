package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/icecore-catalog/icecore/catalog"
)

// MaxDepth is how deep arrays and objects of a body may be nested. It is the
// limit of the JSON reader inside the Java client and server.
const MaxDepth = 1000

// Object is a JSON object of a request, read without copying: its members are
// slices of the body. Names are compared exactly, as the specification says;
// encoding/json would take "Name" for "name". Explicit null is absent.
type Object struct {
	path    string // for error texts; empty at the top
	names   []string
	members []json.RawMessage
}

// ParseObject checks that body is one JSON object by RFC 8259, in UTF-8, not
// nested deeper than [MaxDepth] and without a repeated name in any object, and
// returns its members. Errors are of kind BadRequest and quote nothing of the
// body.
func ParseObject(body []byte) (Object, error) {
	s := scanner{data: body, record: true}
	s.space()
	if s.pos == len(body) {
		return Object{}, &catalog.Error{Kind: catalog.BadRequest, Message: "Malformed request: the body is empty"}
	}
	if body[s.pos] != '{' {
		s.record = false
		if err := s.document(); err != nil {
			return Object{}, malformed(err)
		}
		return Object{}, &catalog.Error{Kind: catalog.BadRequest, Message: "Malformed request: the body must be a JSON object"}
	}
	if err := s.document(); err != nil {
		return Object{}, malformed(err)
	}
	return Object{names: s.names, members: s.members}, nil
}

func malformed(err error) error {
	return &catalog.Error{Kind: catalog.BadRequest, Message: "Malformed request: " + err.Error()}
}

func (o Object) wrong(name, want string) error {
	return &catalog.Error{Kind: catalog.BadRequest, Message: "Malformed request: " + o.path + name + " must be " + want}
}

// Names returns the names of the members, in their order.
func (o Object) Names() []string { return o.names }

// Raw returns a member as it was sent, nil if it is absent or null.
func (o Object) Raw(name string) json.RawMessage {
	for i, n := range o.names {
		if n == name {
			if bytes.Equal(o.members[i], null) {
				return nil
			}
			return o.members[i]
		}
	}
	return nil
}

var null = []byte("null")

// String returns a text member; sent is false if it is absent or null. A NUL
// character in it is refused.
func (o Object) String(name string) (value string, sent bool, err error) {
	raw := o.Raw(name)
	if raw == nil {
		return "", false, nil
	}
	if raw[0] != '"' {
		return "", false, o.wrong(name, "a string")
	}
	if err := json.Unmarshal(raw, &value); err != nil {
		return "", false, o.wrong(name, "a string")
	}
	if err := checkText(value); err != nil {
		return "", false, err
	}
	return value, true, nil
}

// RequiredString is [Object.String] for a member that must be there.
func (o Object) RequiredString(name string) (string, error) {
	value, sent, err := o.String(name)
	if err == nil && !sent {
		return "", o.Missing(name)
	}
	return value, err
}

// Missing is the error for a member that must be there and is not.
func (o Object) Missing(name string) error {
	return &catalog.Error{Kind: catalog.BadRequest, Message: "Malformed request: " + o.path + name + " is missing"}
}

// Bool returns a truth member, false if it is absent or null.
func (o Object) Bool(name string) (bool, error) {
	switch raw := o.Raw(name); string(raw) {
	case "true":
		return true, nil
	case "false", "":
		return false, nil
	}
	return false, o.wrong(name, "true or false")
}

// Strings returns a member that is an array of strings; sent is false if it is
// absent or null.
func (o Object) Strings(name string) (values []string, sent bool, err error) {
	raw := o.Raw(name)
	if raw == nil {
		return nil, false, nil
	}
	const want = "an array of strings"
	if raw[0] != '[' {
		return nil, false, o.wrong(name, want)
	}
	var elements []*string // nil for null, which is no string
	if err := json.Unmarshal(raw, &elements); err != nil {
		return nil, false, o.wrong(name, want)
	}
	values = make([]string, len(elements))
	for i, e := range elements {
		if e == nil {
			return nil, false, o.wrong(name, want)
		}
		if err := checkText(*e); err != nil {
			return nil, false, err
		}
		values[i] = *e
	}
	return values, true, nil
}

// Ints returns a member that is an array of whole numbers, nil if it is absent
// or null.
func (o Object) Ints(name string) ([]int, error) {
	raw := o.Raw(name)
	if raw == nil {
		return nil, nil
	}
	var elements []*int
	if raw[0] != '[' || json.Unmarshal(raw, &elements) != nil {
		return nil, o.wrong(name, "an array of whole numbers")
	}
	values := make([]int, len(elements))
	for i, e := range elements {
		if e == nil {
			return nil, o.wrong(name, "an array of whole numbers")
		}
		values[i] = *e
	}
	return values, nil
}

// Int returns a whole number, 0 if it is absent or null.
func (o Object) Int(name string) (int, error) {
	raw := o.Raw(name)
	if raw == nil {
		return 0, nil
	}
	var value int
	if err := json.Unmarshal(raw, &value); err != nil {
		return 0, o.wrong(name, "a whole number")
	}
	return value, nil
}

// StringMap returns a member that is an object of strings, nil if it is absent
// or null.
func (o Object) StringMap(name string) (map[string]string, error) {
	raw := o.Raw(name)
	if raw == nil {
		return nil, nil
	}
	const want = "an object of strings"
	var values map[string]*string
	if raw[0] != '{' || json.Unmarshal(raw, &values) != nil {
		return nil, o.wrong(name, want)
	}
	out := make(map[string]string, len(values))
	for k, v := range values {
		if v == nil {
			return nil, o.wrong(name, want)
		}
		if err := checkText(k); err != nil {
			return nil, err
		}
		if err := checkText(*v); err != nil {
			return nil, err
		}
		out[k] = *v
	}
	return out, nil
}

// Array returns the bytes of a member that is an array, nil if it is absent or
// null.
func (o Object) Array(name string) (json.RawMessage, error) {
	raw := o.Raw(name)
	if raw != nil && raw[0] != '[' {
		return nil, o.wrong(name, "an array")
	}
	return raw, nil
}

// Object returns a member that is an object; sent is false if it is absent or
// null.
func (o Object) Object(name string) (value Object, sent bool, err error) {
	raw := o.Raw(name)
	if raw == nil {
		return Object{}, false, nil
	}
	if raw[0] != '{' {
		return Object{}, false, o.wrong(name, "an object")
	}
	return child(raw, o.path+name+"."), true, nil
}

// Objects returns a member that is an array of objects, nil if it is absent or
// null.
func (o Object) Objects(name string) ([]Object, error) {
	raw, err := o.Array(name)
	if raw == nil || err != nil {
		return nil, err
	}
	s := scanner{data: raw, record: true}
	if err := s.document(); err != nil {
		return nil, malformed(err)
	}
	objects := make([]Object, len(s.members))
	for i, element := range s.members {
		if element[0] != '{' {
			return nil, o.wrong(fmt.Sprintf("%s[%d]", name, i), "an object")
		}
		objects[i] = child(element, fmt.Sprintf("%s%s[%d].", o.path, name, i))
	}
	return objects, nil
}

// child reads the members of an object inside a body that was checked before.
func child(raw []byte, path string) Object {
	s := scanner{data: raw, record: true}
	if err := s.document(); err != nil {
		panic("wire: part of a checked body is malformed: " + err.Error())
	}
	return Object{path: path, names: s.names, members: s.members}
}

// scanner checks one JSON text in one pass. With record set it notes the
// members (or elements) of the outermost value.
type scanner struct {
	data   []byte
	pos    int
	depth  int
	record bool

	names   []string
	members []json.RawMessage

	keys [][]byte // of all open objects, innermost last
}

func (s *scanner) errorf(format string, args ...any) error {
	return fmt.Errorf("%s at byte %d", fmt.Sprintf(format, args...), s.pos)
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

func (s *scanner) document() error {
	s.space()
	if err := s.value(); err != nil {
		return err
	}
	s.space()
	if s.pos != len(s.data) {
		return s.errorf("something follows the JSON text")
	}
	return nil
}

func (s *scanner) value() error {
	if s.pos == len(s.data) {
		return s.errorf("the JSON text ends too early")
	}
	switch c := s.data[s.pos]; {
	case c == '{':
		return s.object()
	case c == '[':
		return s.array()
	case c == '"':
		_, _, err := s.text()
		return err
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == 'n':
		return s.literal("null")
	}
	return s.errorf("invalid JSON")
}

func (s *scanner) enter() error {
	if s.depth++; s.depth > MaxDepth {
		return s.errorf("the JSON text is nested deeper than %d", MaxDepth)
	}
	s.pos++
	s.space()
	return nil
}

func (s *scanner) object() error {
	if err := s.enter(); err != nil {
		return err
	}
	first := len(s.keys)
	var large map[string]struct{}
	if s.pos < len(s.data) && s.data[s.pos] == '}' {
		s.pos++
		s.depth--
		return nil
	}
	for {
		if s.pos == len(s.data) || s.data[s.pos] != '"' {
			return s.errorf("a member name is expected")
		}
		key, err := s.name()
		if err != nil {
			return err
		}
		if large == nil && len(s.keys)-first == 16 {
			large = make(map[string]struct{}, 64)
			for _, k := range s.keys[first:] {
				large[string(k)] = struct{}{}
			}
		}
		if large != nil {
			if _, twice := large[string(key)]; twice {
				return s.errorf("a member name is repeated")
			}
			large[string(key)] = struct{}{}
		} else {
			for _, k := range s.keys[first:] {
				if bytes.Equal(k, key) {
					return s.errorf("a member name is repeated")
				}
			}
			s.keys = append(s.keys, key)
		}
		s.space()
		if s.pos == len(s.data) || s.data[s.pos] != ':' {
			return s.errorf("a colon is expected")
		}
		s.pos++
		s.space()
		start := s.pos
		if err := s.value(); err != nil {
			return err
		}
		if s.record && s.depth == 1 {
			s.names = append(s.names, string(key))
			s.members = append(s.members, s.data[start:s.pos:s.pos])
		}
		s.space()
		if s.pos == len(s.data) {
			return s.errorf("the JSON text ends too early")
		}
		switch s.data[s.pos] {
		case ',':
			s.pos++
			s.space()
		case '}':
			s.pos++
			s.depth--
			s.keys = s.keys[:first]
			return nil
		default:
			return s.errorf("a comma or the end of the object is expected")
		}
	}
}

func (s *scanner) array() error {
	if err := s.enter(); err != nil {
		return err
	}
	if s.pos < len(s.data) && s.data[s.pos] == ']' {
		s.pos++
		s.depth--
		return nil
	}
	for {
		start := s.pos
		if err := s.value(); err != nil {
			return err
		}
		if s.record && s.depth == 1 {
			s.members = append(s.members, s.data[start:s.pos:s.pos])
		}
		s.space()
		if s.pos == len(s.data) {
			return s.errorf("the JSON text ends too early")
		}
		switch s.data[s.pos] {
		case ',':
			s.pos++
			s.space()
		case ']':
			s.pos++
			s.depth--
			return nil
		default:
			return s.errorf("a comma or the end of the array is expected")
		}
	}
}

// plain marks the bytes that need no attention inside a string.
var plain = func() (t [256]bool) {
	for c := 0x20; c < 0x80; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// name reads a member name and returns its value: a view of the body when it
// holds no escape, which is the rule.
func (s *scanner) name() ([]byte, error) {
	raw, escaped, err := s.text()
	if err != nil {
		return nil, err
	}
	if !escaped {
		return raw[1 : len(raw)-1], nil
	}
	var value string
	if err := json.Unmarshal(raw, &value); err != nil {
		return nil, s.errorf("a string is malformed")
	}
	return []byte(value), nil
}

// text checks a string and returns it as it stands, quotes included.
func (s *scanner) text() (raw []byte, escaped bool, err error) {
	start := s.pos
	s.pos++
	ascii := true
	for {
		for s.pos < len(s.data) && plain[s.data[s.pos]] {
			s.pos++
		}
		if s.pos == len(s.data) {
			return nil, false, s.errorf("the JSON text ends too early")
		}
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			raw = s.data[start:s.pos]
			if !ascii && !utf8.Valid(raw) {
				return nil, false, s.errorf("a string is not valid UTF-8")
			}
			return raw, escaped, nil
		case c == '\\':
			escaped = true
			if err := s.escape(); err != nil {
				return nil, false, err
			}
		case c < 0x20:
			return nil, false, s.errorf("a control character stands inside a string")
		default:
			ascii = false
			s.pos++
		}
	}
}

func (s *scanner) escape() error {
	s.pos++
	if s.pos == len(s.data) {
		return s.errorf("the JSON text ends too early")
	}
	switch s.data[s.pos] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos++
		return nil
	case 'u':
		s.pos++
		for range 4 {
			if s.pos == len(s.data) || !isHex(s.data[s.pos]) {
				return s.errorf("invalid escape in a string")
			}
			s.pos++
		}
		return nil
	}
	return s.errorf("invalid escape in a string")
}

func (s *scanner) number() error {
	digits := func() bool {
		start := s.pos
		for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
			s.pos++
		}
		return s.pos > start
	}
	at := func(c byte) bool { return s.pos < len(s.data) && s.data[s.pos] == c }
	if at('-') {
		s.pos++
	}
	if at('0') {
		s.pos++
	} else if !digits() {
		return s.errorf("invalid number")
	}
	if at('.') {
		s.pos++
		if !digits() {
			return s.errorf("invalid number")
		}
	}
	if at('e') || at('E') {
		s.pos++
		if at('+') || at('-') {
			s.pos++
		}
		if !digits() {
			return s.errorf("invalid number")
		}
	}
	return nil
}

func (s *scanner) literal(word string) error {
	if !bytes.HasPrefix(s.data[s.pos:], []byte(word)) {
		return s.errorf("invalid JSON")
	}
	s.pos += len(word)
	return nil
}
