package iceberg

import (
	"regexp"
	"strconv"
	"strings"
)

// transform is a partition or sort transform. An unknown one is kept on old
// specs but refused on a new default.
type transform struct {
	text  string // as given, lower case when known
	name  string // "" when unknown
	width int
}

var widthPattern = regexp.MustCompile(`^(\w+)\[(\d+)\]$`)

func parseTransform(text string) (transform, error) {
	lower := strings.ToLower(text)
	switch lower {
	case "identity", "year", "month", "day", "hour", "void":
		return transform{text: lower, name: lower}, nil
	}
	if m := widthPattern.FindStringSubmatch(lower); m != nil && (m[1] == "bucket" || m[1] == "truncate") {
		width, err := strconv.ParseInt(m[2], 10, 32)
		if err != nil || width <= 0 {
			if m[1] == "bucket" {
				return transform{}, illegal("Invalid number of buckets: %s (must be > 0)", clip([]byte(m[2])))
			}
			return transform{}, illegal("Invalid truncate width: %s (must be > 0)", clip([]byte(m[2])))
		}
		return transform{text: m[1] + "[" + strconv.FormatInt(width, 10) + "]", name: m[1], width: int(width)}, nil
	}
	return transform{text: text}, nil
}

func (t transform) void() bool { return t.name == "void" }

// accepts says whether the transform can be applied to a primitive type
// (Iceberg spec, partition transforms).
func (t transform) accepts(typ *dataType) bool {
	if typ.kind != primitiveKind {
		return t.void()
	}
	base := strings.ToLower(typ.base())
	switch t.name {
	case "void", "": // an unknown transform decides for itself
		return true
	case "identity":
		return base != "variant" && base != "geometry" && base != "geography"
	case "year", "month", "day":
		return base == "date" || strings.HasPrefix(base, "timestamp")
	case "hour":
		return strings.HasPrefix(base, "timestamp")
	case "truncate":
		switch base {
		case "int", "long", "decimal", "string", "binary":
			return true
		}
	case "bucket":
		switch base {
		case "int", "long", "decimal", "date", "time", "timestamp", "timestamptz", "timestamp_ns",
			"timestamptz_ns", "string", "uuid", "fixed", "binary":
			return true
		}
	}
	return false
}
