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

// The functions below walk text that json.Valid has accepted; on other text
// they may return nonsense, but end.

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index behind the string that starts at b[i].
func skipString(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// skipValue returns the index behind the value that starts at b[i].
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return len(b)
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		depth := 0
		for i < len(b) {
			switch b[i] {
			case '"':
				i = skipString(b, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return len(b)
	default:
		for i < len(b) && !bytes.ContainsRune([]byte(",]} \t\r\n"), rune(b[i])) {
			i++
		}
		return i
	}
}

// members splits a JSON object. A name that occurs twice is an error: readers
// disagree about which one counts.
func members(b []byte) ([]member, error) {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return nil, errNoObject
	}
	list := make([]member, 0, 16)
	for i = skipSpace(b, i+1); i < len(b) && b[i] != '}'; {
		end := skipString(b, i)
		name, err := unquote(b[i:end])
		if err != nil {
			return nil, err
		}
		i = skipSpace(b, skipSpace(b, end)+1) // over the colon
		end = skipValue(b, i)
		for _, m := range list {
			if m.name == name {
				return nil, fmt.Errorf("member %q occurs twice", name)
			}
		}
		list = append(list, member{name, b[i:end]})
		if i = skipSpace(b, end); i < len(b) && b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
	return list, nil
}

// elements splits a JSON array.
func elements(b []byte) ([][]byte, error) {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '[' {
		return nil, errors.New("not a JSON array")
	}
	var list [][]byte
	for i = skipSpace(b, i+1); i < len(b) && b[i] != ']'; {
		end := skipValue(b, i)
		list = append(list, b[i:end])
		if i = skipSpace(b, end); i < len(b) && b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
	return list, nil
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
	switch {
	case !utf8.Valid(b):
		return errors.New("not valid UTF-8")
	case !json.Valid(b):
		return errors.New("not valid JSON")
	}
	return nil
}
