package iceberg

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// checkDefaults holds the rules for a column's default values (Iceberg spec,
// Default values, with the texts of Java): they are written in the JSON form of
// a single value, they fit the column's type, and columns of nested types and
// of those whose values have no such form default to null.
func (f *field) checkDefaults(path string) error {
	for _, d := range []struct {
		member string
		raw    []byte
	}{{"initial-default", f.initialDefault}, {"write-default", f.writeDefault}} {
		if d.raw == nil {
			continue
		}
		if problem := f.typ.checkDefault(d.raw); problem != "" {
			return illegal("%s (%s of %s)", problem, d.member, path)
		}
	}
	return nil
}

// checkDefault says what is wrong with a value, "" if nothing is.
func (t *dataType) checkDefault(raw []byte) string {
	base := strings.ToLower(t.base())
	if t.kind != primitiveKind || base == "unknown" || base == "variant" || base == "geometry" || base == "geography" {
		return fmt.Sprintf("Invalid default value for %s: %s (must be null)", t, clip(raw))
	}
	if reason, ok := t.fits(base, raw); !ok {
		if reason != "" {
			reason = ", " + reason
		}
		return fmt.Sprintf("Cannot parse default as a %s value: %s%s", t, clip(raw), reason)
	}
	return ""
}

// fits says whether raw is the JSON form of a value of a primitive type, and
// if not, why, where Java says more than that.
func (t *dataType) fits(base string, raw []byte) (reason string, ok bool) {
	switch base {
	case "boolean":
		return "", string(raw) == "true" || string(raw) == "false"
	case "int":
		_, err := strconv.ParseInt(string(raw), 10, 32)
		return "", err == nil
	case "long":
		_, err := strconv.ParseInt(string(raw), 10, 64)
		return "", err == nil
	case "float", "double":
		return "", raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'
	}
	if raw[0] != '"' {
		return "", false
	}
	c := &cursor{data: raw}
	text := c.str("default")
	if c.err != nil {
		return "", false
	}
	switch base {
	case "string":
		return "", true
	case "uuid":
		return "", isUUID(text)
	case "date":
		return "", isDate(text)
	case "time":
		return "", isTime(text)
	case "timestamp", "timestamp_ns":
		return "", isTimestamp(text)
	case "timestamptz", "timestamptz_ns":
		return isTimestampTZ(text)
	case "decimal":
		return t.fitsDecimal(text)
	case "fixed":
		return t.fitsFixed(text)
	case "binary":
		_, err := hex.DecodeString(text)
		return "", err == nil
	}
	return "", false // no other type is known, see dataType.check
}

func isUUID(s string) bool {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return false
	}
	_, err := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
	return err == nil
}

// isDate reads ISO 8601 calendar dates; years beyond four digits have a sign.
func isDate(s string) bool {
	if strings.HasPrefix(s, "+") || strings.HasPrefix(s, "-") {
		year, rest, ok := strings.Cut(s[1:], "-")
		if !ok || len(year) < 4 || len(year) > 9 {
			return false
		}
		n, err := strconv.Atoi(year)
		if err != nil {
			return false
		}
		s = strconv.Itoa(2000+n%400) + "-" + rest // leap years repeat after 400
	}
	_, err := time.Parse(time.DateOnly, s)
	return err == nil && len(s) == len(time.DateOnly)
}

// isTime reads ISO 8601 times of day: hours and minutes, with seconds and up
// to nine digits of a fraction if there are any.
func isTime(s string) bool {
	clock, fraction, dotted := strings.Cut(s, ".")
	if dotted && (len(clock) != len(time.TimeOnly) || len(fraction) < 1 || len(fraction) > 9 || strings.Trim(fraction, "0123456789") != "") {
		return false
	}
	for _, layout := range []string{time.TimeOnly, "15:04"} {
		if _, err := time.Parse(layout, clock); err == nil && len(clock) == len(layout) {
			return true
		}
	}
	return false
}

func isTimestamp(s string) bool {
	date, clock, ok := strings.Cut(s, "T")
	return ok && isDate(date) && isTime(clock)
}

// isTimestampTZ demands UTC: the value is an instant and keeps no zone.
func isTimestampTZ(s string) (reason string, ok bool) {
	for _, utc := range []string{"+00:00", "Z", "+00:00:00"} {
		if local, is := strings.CutSuffix(s, utc); is {
			return "", isTimestamp(local)
		}
	}
	if i := strings.LastIndexAny(s, "+-"); i > len("2006-01-02") && isTimestamp(s[:i]) {
		return "offset must be +00:00", false
	}
	return "", false
}

// fitsDecimal demands the type's own scale, as Java does.
func (t *dataType) fitsDecimal(text string) (reason string, ok bool) {
	m := decimalPattern.FindStringSubmatch(t.name)
	precision, err := strconv.Atoi(m[1])
	if err != nil {
		return "", false
	}
	scale, err := strconv.Atoi(m[2])
	if err != nil {
		return "", false
	}
	number := strings.TrimLeft(text, "+-")
	if len(text)-len(number) > 1 {
		return "", false
	}
	exponent := 0
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		if exponent, err = strconv.Atoi(number[i+1:]); err != nil {
			return "", false
		}
		number = number[:i]
	}
	whole, fraction, _ := strings.Cut(number, ".")
	digits := whole + fraction
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return "", false
	}
	if len(fraction)-exponent != scale {
		return "the scale doesn't match", false
	}
	if len(strings.TrimLeft(digits, "0")) > precision {
		return "the precision is too large", false
	}
	return "", true
}

func (t *dataType) fitsFixed(text string) (reason string, ok bool) {
	length, err := strconv.Atoi(fixedPattern.FindStringSubmatch(t.name)[1])
	if err != nil {
		return "", false
	}
	if len(text) != 2*length {
		return "incorrect length: " + strconv.Itoa(len(text)), false
	}
	_, err = hex.DecodeString(text)
	return "", err == nil
}

// notNull returns a raw value, nil for null.
func notNull(raw []byte) []byte {
	if bytes.Equal(raw, []byte("null")) {
		return nil
	}
	return raw
}
