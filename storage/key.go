package storage

import (
	"fmt"
	"strings"
)

// Key is the canonical form of a claim, "<store>/<container>/<path>/": equal
// for two locations exactly if they are the same place. For local files it is
// "file//srv/warehouse/t/", without links. Keys are compared bytewise, as
// PostgreSQL compares text under the collation "C".
type Key string

// newKey joins the parts; path has no slash at either end and may be empty.
func newKey(store, container, path string) Key {
	if path == "" {
		return Key(store + "/" + container + "/")
	}
	return Key(store + "/" + container + "/" + path + "/")
}

// ParseKey checks the form of a stored key.
func ParseKey(s string) (Key, error) {
	store, rest, ok := strings.Cut(s, "/")
	_, path, ok2 := strings.Cut(rest, "/")
	switch {
	case !ok || !ok2 || store == "" || strings.ContainsRune(s, 0):
		return "", fmt.Errorf("storage: %q is no claim key", s)
	case path == "":
		return Key(s), nil
	case !strings.HasSuffix(path, "/"):
		return "", fmt.Errorf("storage: claim key %q does not end in a slash", s)
	}
	for segment := range strings.SplitSeq(strings.TrimSuffix(path, "/"), "/") {
		if segment == "" || segment == "." || segment == ".." {
			return "", fmt.Errorf("storage: claim key %q holds the segment %q", s, segment)
		}
	}
	return Key(s), nil
}

// String returns the key's text.
func (k Key) String() string { return string(k) }

// Range returns the half-open range [lo, hi) that holds k and every key below
// it: "path/" to "path0", for '0' is the byte behind '/'. Two claims overlap
// exactly if their ranges do (design, section 5).
func (k Key) Range() (lo, hi string) {
	if k == "" {
		return "", ""
	}
	return string(k), string(k[:len(k)-1]) + "0"
}

// Contains reports whether other is k or lies below it.
func (k Key) Contains(other Key) bool {
	return k != "" && strings.HasPrefix(string(other), string(k))
}

// Overlaps reports whether one of the two contains the other.
func (k Key) Overlaps(other Key) bool { return k.Contains(other) || other.Contains(k) }
