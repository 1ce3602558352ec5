package publishers

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// maxSettingLength bounds one setting's text.
const maxSettingLength = 4096

// Reader reads the settings of a destination. It remembers what is wrong with
// them, a setting that nobody asked for included, and [Reader.Err] tells all of
// it at once. No error repeats the text of a setting: somebody may have put a
// password where its name belongs.
type Reader struct {
	values map[string]string
	asked  map[string]bool
	wrong  []error
}

// NewReader reads from settings, which it does not change.
func NewReader(settings map[string]string) *Reader {
	r := &Reader{values: settings, asked: map[string]bool{}}
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		switch value := settings[key]; {
		case len(value) > maxSettingLength:
			r.Fail(key, fmt.Sprintf("is longer than %d bytes", maxSettingLength))
		case !utf8.ValidString(value) || strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c == 0x7f }):
			r.Fail(key, "holds control characters or is not UTF-8")
		}
	}
	return r
}

// Fail says that a setting cannot be used, and why: "setting <key> <reason>".
func (r *Reader) Fail(key, reason string) {
	r.wrong = append(r.wrong, fmt.Errorf("setting %s %s", key, reason))
}

// Err returns what is wrong, or nil. It is asked last.
func (r *Reader) Err() error {
	var unknown []error
	for _, key := range slices.Sorted(maps.Keys(r.values)) {
		if !r.asked[key] {
			unknown = append(unknown, fmt.Errorf("unknown setting %q; there are %s", key, strings.Join(slices.Sorted(maps.Keys(r.asked)), ", ")))
		}
	}
	return errors.Join(append(unknown, r.wrong...)...)
}

// Has reports whether the setting is there and not empty.
func (r *Reader) Has(key string) bool {
	r.asked[key] = true
	return r.values[key] != ""
}

// Text returns a setting, or fallback where it is not set.
func (r *Reader) Text(key, fallback string) string {
	if !r.Has(key) {
		return fallback
	}
	return r.values[key]
}

// Required returns a setting that has to be there.
func (r *Reader) Required(key string) string {
	if !r.Has(key) {
		r.Fail(key, "is required")
	}
	return r.values[key]
}

// Word returns a setting that is one of allowed, whose first it is by default.
func (r *Reader) Word(key string, allowed ...string) string {
	word := r.Text(key, allowed[0])
	if !slices.Contains(allowed, word) {
		r.Fail(key, "is one of "+strings.Join(allowed, ", "))
		return allowed[0]
	}
	return word
}

// Flag returns a setting that is true or false.
func (r *Reader) Flag(key string, fallback bool) bool {
	switch r.Text(key, strconv.FormatBool(fallback)) {
	case "true":
		return true
	case "false":
		return false
	}
	r.Fail(key, "is true or false")
	return fallback
}

// Number returns a setting that is a whole number from least to most.
func (r *Reader) Number(key string, fallback, least, most int) int {
	if !r.Has(key) {
		return fallback
	}
	n, err := strconv.Atoi(r.values[key])
	if err != nil || n < least || n > most {
		r.Fail(key, fmt.Sprintf("is a number from %d to %d", least, most))
		return fallback
	}
	return n
}

// Duration returns a setting that is a time such as 10s, from least to most.
func (r *Reader) Duration(key string, fallback, least, most time.Duration) time.Duration {
	if !r.Has(key) {
		return fallback
	}
	d, err := time.ParseDuration(r.values[key])
	if err != nil || d < least || d > most {
		r.Fail(key, fmt.Sprintf("is a time such as 10s, from %s to %s", least, most))
		return fallback
	}
	return d
}

// List returns a setting that is a list, separated by commas.
func (r *Reader) List(key string) []string {
	var list []string
	for part := range strings.SplitSeq(r.Text(key, ""), ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// Secret returns a setting that names a secret; empty where it is not set.
func (r *Reader) Secret(key string) string {
	name := r.Text(key, "")
	if name != "" && CheckSecretName(name) != nil {
		r.Fail(key, "is the name of a secret: the plain name of a file (letters, digits, '-', '_' and '.', not at the beginning)")
		return ""
	}
	return name
}
