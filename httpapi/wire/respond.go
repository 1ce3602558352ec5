package wire

import (
	"encoding/json"
	"net/http"
	"sort"
	"strconv"
	"unicode/utf8"
)

// JSON sends a ready JSON text.
func JSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a failure means that the client is gone
}

// NoContent sends 204 without a body.
func NoContent(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }

// NotModified sends 304 without a body, the entity tag repeated.
func NotModified(w http.ResponseWriter, etag string) {
	SetETag(w.Header(), etag)
	w.WriteHeader(http.StatusNotModified)
}

// AppendString appends s as a JSON string. Only what JSON demands is escaped;
// invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[start:i]...), "\ufffd"...)
				start = i + 1
			}
			i += size
			continue
		}
		if c >= 0x20 && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

// AppendStrings appends an array of strings, [] if there is none.
func AppendStrings(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendString(dst, s)
	}
	return append(dst, ']')
}

// AppendMap appends an object of strings, names in order, {} if there is none.
func AppendMap(dst []byte, m map[string]string) []byte {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	dst = append(dst, '{')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(AppendString(dst, name), ':')
		dst = AppendString(dst, m[name])
	}
	return append(dst, '}')
}

// AppendRaw appends a stored JSON object, {} if there is none.
func AppendRaw(dst []byte, object json.RawMessage) []byte {
	if len(object) == 0 {
		return append(dst, '{', '}')
	}
	return append(dst, object...)
}

// EndList closes a list and the object that it is the last member of, and names
// the next page between them, if there is one.
func EndList(body []byte, next string) []byte {
	body = append(body, ']')
	if next != "" {
		body = AppendString(append(body, `,"next-page-token":`...), next)
	}
	return append(body, '}')
}
