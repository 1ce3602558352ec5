package wire

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// Separator stands between the levels of a namespace in a path, as advertised
// by config in its escaped form (spec, parameter "namespace"). Its hexadecimal
// digits may come in either letter case. A dot would be ambiguous, so there is
// no other.
const Separator = "%1F"

const unitSeparator = "\x1f"

// EscapedPath returns the path of the request line in a form on which routing
// is safe: as it was sent, except that bytes which may not stand in a path
// unescaped are escaped. [net/url.URL.EscapedPath] does not do: a single raw
// byte makes it give up the sent form, and with it the difference between "/"
// and "%2F". An invalid escape is an error of kind BadRequest.
func EscapedPath(r *http.Request) (string, error) {
	raw := r.RequestURI
	if !strings.HasPrefix(raw, "/") {
		if _, rest, ok := strings.Cut(raw, "://"); ok {
			if slash := strings.IndexAny(rest, "/?"); slash >= 0 && rest[slash] == '/' {
				raw = rest[slash:]
			} else {
				raw = "/"
			}
		} else {
			raw = r.URL.EscapedPath()
		}
	}
	raw, _, _ = strings.Cut(raw, "?")
	return escapePath(raw)
}

func escapePath(raw string) (string, error) {
	clean := true
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '%':
			if i+2 >= len(raw) || !isHex(raw[i+1]) || !isHex(raw[i+2]) {
				return "", &catalog.Error{Kind: catalog.BadRequest, Message: "Malformed request: the path holds an invalid escape"}
			}
			i += 2
		case !pathByte[c]:
			clean = false
		}
	}
	if clean {
		return raw, nil
	}
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(len(raw) + 32)
	for i := 0; i < len(raw); i++ {
		if c := raw[i]; c == '%' || pathByte[c] {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String(), nil
}

// pathByte marks the bytes that may stand in a path unescaped (RFC 3986,
// pchar and "/"; brackets as net/url accepts them).
var pathByte = func() (t [256]bool) {
	for c := range 256 {
		t[c] = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.IndexByte("-._~!$&'()*+,;=:@/[]", byte(c)) >= 0
	}
	return t
}()

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// DecodeSegment decodes one name from its escaped form, exactly once and by
// the rules of forms: "+" is a space, as the Java client writes it (iceberg-
// rest 1.5). Invalid escapes, invalid UTF-8 and NUL are errors of kind
// BadRequest.
func DecodeSegment(escaped string) (string, error) {
	name, err := url.QueryUnescape(escaped)
	if err != nil {
		return "", &catalog.Error{Kind: catalog.BadRequest, Message: "Malformed request: a name holds an invalid escape", Cause: err}
	}
	if err := checkText(name); err != nil {
		return "", err
	}
	return name, nil
}

// checkText refuses what no name can hold and PostgreSQL cannot store.
func checkText(s string) error {
	if !utf8.ValidString(s) {
		return &catalog.Error{Kind: catalog.BadRequest, Message: "Malformed request: a name is not valid UTF-8"}
	}
	if strings.IndexByte(s, 0) >= 0 {
		return &catalog.Error{Kind: catalog.BadRequest, Message: "Malformed request: a name holds a NUL character"}
	}
	return nil
}

// DecodeNamespace decodes a namespace segment into its levels: split at the
// separator first, each level decoded once afterwards. An empty segment or
// level decodes into an empty level; no namespace has one, see
// [MissingNamespace].
func DecodeNamespace(segment string) ([]string, error) {
	parts := splitSeparator(segment)
	levels := make([]string, len(parts))
	for i, part := range parts {
		level, err := DecodeSegment(part)
		if err != nil {
			return nil, err
		}
		levels[i] = level
	}
	return levels, nil
}

// splitSeparator splits at %1F in either letter case. An escape before it,
// such as %251F, is skipped whole, so that it stays part of a name.
func splitSeparator(s string) []string {
	var parts []string
	start := 0
	for i := 0; i+2 < len(s); i++ {
		if s[i] != '%' {
			continue
		}
		if s[i+1] == '1' && (s[i+2] == 'F' || s[i+2] == 'f') {
			parts = append(parts, s[start:i])
			start = i + 3
		}
		i += 2
	}
	return append(parts, s[start:])
}

// DecodeParent reads the query parameter parent, which the query rules have
// decoded once: levels are joined by the unit separator. again is another
// reading for clients that escape the value twice (PyIceberg); it is nil when
// it would not differ, and is to be tried only if levels names nothing.
func DecodeParent(value string) (levels, again []string, err error) {
	if value == "" {
		return nil, nil, nil
	}
	if err := checkText(value); err != nil {
		return nil, nil, err
	}
	levels = strings.Split(value, unitSeparator)
	if strings.IndexByte(value, '%') < 0 {
		return levels, nil, nil
	}
	for _, level := range levels {
		for _, part := range splitSeparator(level) {
			// Not by form rules: who escapes twice writes a space as %20, and a
			// plus sign that is still there after one decoding is a plus sign.
			name, err := url.PathUnescape(part)
			if err != nil || checkText(name) != nil {
				return levels, nil, nil //nolint:nilerr // then it was no second escape, and the first reading stands
			}
			again = append(again, name)
		}
	}
	return levels, again, nil
}

// Empty reports whether a namespace has no level or an empty one, so that
// nothing can be found under it.
func Empty(levels []string) bool {
	for _, level := range levels {
		if level == "" {
			return true
		}
	}
	return len(levels) == 0
}

// MissingNamespace is the answer to a namespace that does not exist
// (iceberg-rest 4.3: nothing may follow the dotted levels).
func MissingNamespace(levels []string) error {
	return &catalog.Error{Kind: catalog.NoSuchNamespace, Message: "Namespace does not exist: " + strings.Join(levels, ".")}
}

// Warehouse reads the prefix of a route, which is a warehouse id. Anything
// else is a warehouse that does not exist.
func Warehouse(r *http.Request) (ids.ID, error) {
	segment := r.PathValue("prefix")
	id, err := ids.Parse(segment)
	if err != nil || id.IsNil() {
		name, err := DecodeSegment(segment)
		if err != nil {
			return ids.Nil, err
		}
		return ids.Nil, &catalog.Error{Kind: catalog.NoSuchWarehouse, Message: "A warehouse '" + name + "' does not exist"}
	}
	InfoOf(r.Context()).Warehouse = id
	return id, nil
}

// Namespace reads the namespace of a route.
func Namespace(r *http.Request) ([]string, error) {
	levels, err := DecodeNamespace(r.PathValue("namespace"))
	if err != nil {
		return nil, err
	}
	if Empty(levels) {
		return nil, MissingNamespace(levels)
	}
	return levels, nil
}

// Table reads the namespace and table of a route.
func Table(r *http.Request) (namespace []string, name string, err error) {
	// Java asks for a table in the empty namespace when it looks for a metadata
	// table; the answer has to be a plain 404 (iceberg-rest 5.2).
	return object(r, "table", catalog.NoSuchTable, "Table does not exist: ")
}

// View reads the namespace and view of a route.
func View(r *http.Request) (namespace []string, name string, err error) {
	return object(r, "view", catalog.NoSuchView, "View does not exist: ")
}

func object(r *http.Request, value string, missing catalog.Kind, text string) (namespace []string, name string, err error) {
	levels, err := DecodeNamespace(r.PathValue("namespace"))
	if err != nil {
		return nil, "", err
	}
	if name, err = DecodeSegment(r.PathValue(value)); err != nil {
		return nil, "", err
	}
	if Empty(levels) || name == "" {
		return nil, "", &catalog.Error{Kind: missing, Message: text + strings.Join(append(levels, name), ".")}
	}
	return levels, name, nil
}
