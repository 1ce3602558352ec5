package catalog

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// member is one name and value of a JSON object, the value as written.
type member struct {
	name  string
	value []byte
}

var errNoObject = errors.New("not a JSON object")

// maxDepth bounds nesting, as encoding/json does.
const maxDepth = 10000

// syntaxError is a fault in JSON text at a byte offset.
type syntaxError int

func (e syntaxError) Error() string { return fmt.Sprintf("not valid JSON at byte %d", int(e)) }

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// The functions below check what they pass over (RFC 8259) and return the
// index behind it. They are encoding/json's rules at a fraction of its time,
// which is what replaying a log is made of; a fuzz target holds them together.

// skipString passes over the string that starts at b[i].
func skipString(b []byte, i int) (int, error) {
	if i >= len(b) || b[i] != '"' {
		return 0, syntaxError(i)
	}
	for i++; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1, nil
		case c < 0x20:
			return 0, syntaxError(i)
		case c == '\\':
			if i++; i >= len(b) {
				return 0, syntaxError(i)
			}
			switch b[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if i+4 >= len(b) || !isHex(b[i+1]) || !isHex(b[i+2]) || !isHex(b[i+3]) || !isHex(b[i+4]) {
					return 0, syntaxError(i)
				}
				i += 4
			default:
				return 0, syntaxError(i)
			}
		}
	}
	return 0, syntaxError(i)
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

func isDigit(b []byte, i int) bool { return i < len(b) && '0' <= b[i] && b[i] <= '9' }

func skipDigits(b []byte, i int) int {
	for isDigit(b, i) {
		i++
	}
	return i
}

// skipNumber passes over the number that starts at b[i].
func skipNumber(b []byte, i int) (int, error) {
	if b[i] == '-' {
		i++
	}
	switch {
	case !isDigit(b, i):
		return 0, syntaxError(i)
	case b[i] == '0':
		i++
	default:
		i = skipDigits(b, i)
	}
	if i < len(b) && b[i] == '.' {
		if i++; !isDigit(b, i) {
			return 0, syntaxError(i)
		}
		i = skipDigits(b, i)
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !isDigit(b, i) {
			return 0, syntaxError(i)
		}
		i = skipDigits(b, i)
	}
	return i, nil
}

// skipValue passes over the value that starts at b[i].
func skipValue(b []byte, i, depth int) (int, error) {
	if i >= len(b) || depth > maxDepth {
		return 0, syntaxError(i)
	}
	switch c := b[i]; {
	case c == '"':
		return skipString(b, i)
	case c == '{':
		return eachMember(b, i, depth, nil)
	case c == '[':
		return eachElement(b, i, depth, nil)
	case c == '-' || '0' <= c && c <= '9':
		return skipNumber(b, i)
	}
	for _, literal := range []string{"true", "false", "null"} {
		if len(b)-i >= len(literal) && string(b[i:i+len(literal)]) == literal {
			return i + len(literal), nil
		}
	}
	return 0, syntaxError(i)
}

// eachMember passes over the object that starts at b[i] and shows where each
// name and value stands.
func eachMember(b []byte, i, depth int, show func(name, value []byte) error) (int, error) {
	if i = skipSpace(b, i+1); i < len(b) && b[i] == '}' {
		return i + 1, nil
	}
	for {
		nameEnd, err := skipString(b, i)
		if err != nil {
			return 0, err
		}
		name := b[i:nameEnd]
		if i = skipSpace(b, nameEnd); i >= len(b) || b[i] != ':' {
			return 0, syntaxError(i)
		}
		i = skipSpace(b, i+1)
		end, err := skipValue(b, i, depth+1)
		if err != nil {
			return 0, err
		}
		if show != nil {
			if err := show(name, b[i:end]); err != nil {
				return 0, err
			}
		}
		i = skipSpace(b, end)
		switch {
		case i < len(b) && b[i] == '}':
			return i + 1, nil
		case i >= len(b) || b[i] != ',':
			return 0, syntaxError(i)
		}
		i = skipSpace(b, i+1)
	}
}

// eachElement passes over the array that starts at b[i] and shows its elements.
func eachElement(b []byte, i, depth int, show func(value []byte) error) (int, error) {
	if i = skipSpace(b, i+1); i < len(b) && b[i] == ']' {
		return i + 1, nil
	}
	for {
		end, err := skipValue(b, i, depth+1)
		if err != nil {
			return 0, err
		}
		if show != nil {
			if err := show(b[i:end]); err != nil {
				return 0, err
			}
		}
		i = skipSpace(b, end)
		switch {
		case i < len(b) && b[i] == ']':
			return i + 1, nil
		case i >= len(b) || b[i] != ',':
			return 0, syntaxError(i)
		}
		i = skipSpace(b, i+1)
	}
}

// atEnd refuses text behind a value.
func atEnd(b []byte, i int, err error) error {
	if err == nil && skipSpace(b, i) != len(b) {
		return syntaxError(i)
	}
	return err
}

// members splits a JSON object. A name that occurs twice is an error: readers
// disagree about which one counts.
func members(b []byte) ([]member, error) {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return nil, errNoObject
	}
	list := make([]member, 0, 16)
	end, err := eachMember(b, i, 1, func(quoted, value []byte) error {
		name, err := unquote(quoted)
		if err != nil {
			return err
		}
		for _, m := range list {
			if m.name == name {
				return fmt.Errorf("member %q occurs twice", name)
			}
		}
		list = append(list, member{name, value})
		return nil
	})
	return list, atEnd(b, end, err)
}

// elements splits a JSON array.
func elements(b []byte) ([][]byte, error) {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '[' {
		return nil, errors.New("not a JSON array")
	}
	var list [][]byte
	end, err := eachElement(b, i, 1, func(value []byte) error {
		list = append(list, value)
		return nil
	})
	return list, atEnd(b, end, err)
}

// unquote returns the text of a JSON string.
func unquote(b []byte) (string, error) {
	if len(b) < 2 || b[0] != '"' {
		return "", errors.New("not a JSON string")
	}
	if !bytes.ContainsRune(b, '\\') {
		return string(b[1 : len(b)-1]), nil
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return "", fmt.Errorf("not a JSON string: %w", err)
	}
	return s, nil
}

// appendString writes s as a JSON string; s is valid UTF-8. Nothing but what
// JSON demands is escaped.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c == '\t':
			b = append(b, '\\', 't')
		case c < 0x20:
			b = append(b, `\u00`...)
			b = append(b, hex.EncodeToString([]byte{c})...)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// parseInteger reads a plain integer: what JSON Schema calls one, less the
// spellings 1.0 and 1e3.
func parseInteger(b []byte) (int64, error) {
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return 0, errors.New("not an integer of 64 bits")
	}
	return n, nil
}

// validJSON refuses what is no JSON text in UTF-8.
func validJSON(b []byte) error {
	if !utf8.Valid(b) {
		return errors.New("not valid UTF-8")
	}
	end, err := skipValue(b, skipSpace(b, 0), 1)
	return atEnd(b, end, err)
}
