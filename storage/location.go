package storage

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxLocation is the greatest length in bytes of a location that can be
// claimed: both ends of its range have to fit into one index entry, and object
// stores end at 1,024 bytes.
const MaxLocation = 1024

// schemeFile is the scheme, the store identity and the profile type of local
// files.
const schemeFile = "file"

// Location is a parsed place in a store, known by the store's identity, a
// container in it (bucket, file system; empty for local files) and a path
// without slash at either end. The zero value is no location.
type Location struct {
	store, container, path string
	spelling               string
}

// ParseLocation reads a location. Of local files it accepts file:///x,
// file:/x, file://localhost/x and /x; scheme and localhost in any letter case.
// Repeated and trailing slashes are dropped, as all engines do; segments "."
// and ".." are refused, so are NUL bytes and a location without a path.
// Everything else is literal, percent signs too.
func ParseLocation(spelling string) (Location, error) {
	invalid := func(format string, args ...any) (Location, error) {
		return Location{}, &Error{Op: "parse", Location: spelling, Kind: ErrInvalid, Cause: fmt.Errorf(format, args...)}
	}
	if spelling == "" {
		return invalid("it is empty")
	}
	if strings.ContainsRune(spelling, 0) {
		return invalid("it holds a NUL character")
	}
	rest := spelling
	if scheme, after, ok := cutScheme(spelling); ok {
		if !strings.EqualFold(scheme, schemeFile) {
			return invalid("locations with the scheme %q are not supported", scheme)
		}
		rest = after
		if authority, ok := strings.CutPrefix(rest, "//"); ok {
			host, path, _ := strings.Cut(authority, "/")
			if host != "" && !strings.EqualFold(host, "localhost") {
				return invalid("local files have no host, but it names %q", host)
			}
			rest = "/" + path
		}
	}
	if !strings.HasPrefix(rest, "/") {
		return invalid("it is not an absolute path")
	}
	path, err := cleanPath(rest)
	if err != nil {
		return invalid("%w", err)
	}
	return Location{store: schemeFile, path: path, spelling: spelling}, nil
}

// cutScheme splits "scheme:rest" by the grammar of RFC 3986, section 3.1.
func cutScheme(s string) (scheme, rest string, ok bool) {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c|0x20 && c|0x20 <= 'z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return s[:i], s[i+1:], true
		default:
			return "", s, false
		}
	}
	return "", s, false
}

// cleanPath drops empty segments and refuses those that step.
func cleanPath(p string) (string, error) {
	clean := p != "" && p[0] == '/' && !strings.HasSuffix(p, "/") && !strings.Contains(p, "//") && !strings.Contains(p, "/.")
	if clean {
		return p[1:], nil
	}
	segments := make([]string, 0, strings.Count(p, "/"))
	for segment := range strings.SplitSeq(p, "/") {
		switch segment {
		case "":
		case ".", "..":
			return "", fmt.Errorf("it holds the segment %q", segment)
		default:
			segments = append(segments, segment)
		}
	}
	if len(segments) == 0 {
		return "", fmt.Errorf("it names the whole file system")
	}
	return strings.Join(segments, "/"), nil
}

// String returns the canonical spelling, which the catalog writes and returns:
// file:///x for local files, without trailing slash.
func (l Location) String() string {
	if l.store == "" {
		return ""
	}
	return l.store + "://" + l.container + "/" + l.path
}

// Spelling returns the text that was parsed.
func (l Location) Spelling() string { return l.spelling }

// Store returns the identity of the store: two locations with the same store,
// container and path are the same text for the same place.
func (l Location) Store() string { return l.store }

// Container returns the bucket or file system, empty for local files.
func (l Location) Container() string { return l.container }

// Path returns the path in the container, without slash at either end.
func (l Location) Path() string { return l.path }

// IsZero reports whether l is no location.
func (l Location) IsZero() bool { return l == Location{} }

// Within reports whether l is the folder or lies below it, by the text alone.
func (l Location) Within(folder Location) bool {
	return l.store == folder.store && l.container == folder.container && within(l.path, folder.path)
}

// within reports whether path is folder or below it; an empty folder holds all.
func within(path, folder string) bool {
	return folder == "" || path == folder ||
		len(path) > len(folder) && path[len(folder)] == '/' && path[:len(folder)] == folder
}

// Claimable returns an error of kind [ErrInvalid] if a table must not live at
// l: when it is too long, is not printable UTF-8, or is spelled so that engines
// disagree about the place it names, some of them outside the claim.
func (l Location) Claimable() error {
	invalid := func(format string, args ...any) error {
		return &Error{Op: "claim", Location: l.spelling, Kind: ErrInvalid, Cause: fmt.Errorf(format, args...)}
	}
	switch text := l.String(); {
	case text == "":
		return invalid("it is empty")
	case len(text) > MaxLocation:
		return invalid("it has %d bytes, more than %d", len(text), MaxLocation)
	case !utf8.ValidString(text):
		return invalid("it is not UTF-8")
	case strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 || r == 0x7f }):
		return invalid("it holds a control character")
	case strings.ContainsAny(text, "?#"):
		return invalid("it holds '?' or '#', where some engines cut it off")
	}
	for i := range len(l.path) {
		if l.path[i] != '%' || len(l.path) < i+3 {
			continue
		}
		switch strings.ToUpper(l.path[i+1 : i+3]) {
		case "2F", "2E", "5C", "00":
			return invalid("it holds %q, which some engines decode", l.path[i:i+3])
		}
	}
	return nil
}
