package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Secret is a value that must not be shown. It prints as [hidden], also
// through fmt and slog; Reveal gives the value.
type Secret string

// Reveal returns the value itself.
func (s Secret) Reveal() string { return string(s) }

// String hides the value, and tells whether there is one.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "[hidden]"
}

// GoString hides the value from %#v.
func (s Secret) GoString() string { return strconv.Quote(s.String()) }

// MarshalText hides the value from encoders and loggers.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Bytes is a size in bytes, written as a number with an optional unit of KiB,
// MiB or GiB.
type Bytes int64

var units = []struct {
	suffix string
	factor int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}}

// ParseBytes reads "67108864", "64MiB" or "64 MiB".
func ParseBytes(s string) (Bytes, error) {
	number, factor := s, int64(1)
	for _, u := range units {
		if n, ok := strings.CutSuffix(s, u.suffix); ok {
			number, factor = strings.TrimSpace(n), u.factor
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/factor {
		return 0, fmt.Errorf("%q is not a size such as 67108864 or 64MiB", s)
	}
	return Bytes(n * factor), nil
}

// String prints the size with the largest unit that divides it.
func (b Bytes) String() string {
	for i := len(units) - 1; i >= 0; i-- {
		if u := units[i]; b != 0 && int64(b)%u.factor == 0 {
			return strconv.FormatInt(int64(b)/u.factor, 10) + u.suffix
		}
	}
	return strconv.FormatInt(int64(b), 10)
}
