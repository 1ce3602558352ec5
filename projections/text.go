package projections

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// hexText marks a value that is hexadecimal text already in bytes.
func hexText(b []byte) string { return hex.EncodeToString(b) }

// textOf writes a value of a change as PostgreSQL reads it from text. null
// reports SQL NULL.
func textOf(v any) (s string, null bool) {
	switch v := v.(type) {
	case nil:
		return "", true
	case string:
		return v, false
	case [16]byte:
		return hex.EncodeToString(v[:]), false
	case int64:
		return strconv.FormatInt(v, 10), false
	case int16:
		return strconv.FormatInt(int64(v), 10), false
	case bool:
		return strconv.FormatBool(v), false
	case time.Time:
		return v.UTC().Format("2006-01-02 15:04:05.999999Z07:00"), false
	case [][16]byte:
		parts := make([]string, len(v))
		for i, id := range v {
			parts[i] = hex.EncodeToString(id[:])
		}
		return "{" + strings.Join(parts, ",") + "}", false
	case []int16:
		parts := make([]string, len(v))
		for i, n := range v {
			parts[i] = strconv.Itoa(int(n))
		}
		return "{" + strings.Join(parts, ",") + "}", false
	case []string:
		parts := make([]string, len(v))
		for i, s := range v {
			parts[i] = quoted(s)
		}
		return "{" + strings.Join(parts, ",") + "}", false
	case textRange:
		return "[" + quoted(v.lower) + "," + quoted(v.upper) + ")", false
	}
	panic(fmt.Sprintf("projections: no text form of %T", v)) // derive uses no other
}

// quoted is an element of an array or a bound of a range.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// appendCopy writes a value as a field of COPY's text format.
func appendCopy(dst []byte, v any) []byte {
	s, null := textOf(v)
	if null {
		return append(dst, `\N`...)
	}
	for i := range len(s) {
		switch c := s[i]; c {
		case '\\':
			dst = append(dst, `\\`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}
