package catalog

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/icecore-catalog/icecore/catalog/fold"
)

// Limits of names. Bytes, not characters: they end in keys of B-tree indexes,
// whose entries end at 2,704 bytes.
const (
	MaxNameBytes = 255  // one level, one table name, as written and folded
	MaxLevels    = 32   // levels of a namespace
	MaxPathBytes = 2000 // all folded levels with their separators
)

const (
	// Separator stands between the levels of a namespace inside one path
	// segment or query value (iceberg-rest 1.5). No level may hold it.
	Separator = "\x1f"

	// AdvertisedSeparator is the namespace-separator of the configuration, in
	// the already encoded form that clients expect.
	AdvertisedSeparator = "%1F"
)

// Namespace is the path of a namespace: its levels from the top, in the
// spelling of their creator. An empty Namespace stands for the warehouse's
// root, which is no namespace.
type Namespace []string

// String joins the levels with dots, for texts that people read. It is not
// reversible, for levels may hold dots.
func (n Namespace) String() string { return strings.Join(n, ".") }

// Validate refuses what may not become a namespace: no level, too many or too
// long ones, an empty level, NUL and the separator, dot segments, text that is
// no UTF-8.
func (n Namespace) Validate() error {
	switch {
	case len(n) == 0:
		return &Error{Kind: BadRequest, Message: "Invalid namespace: it has no level"}
	case len(n) > MaxLevels:
		return &Error{Kind: BadRequest, Message: fmt.Sprintf("Invalid namespace: %d levels, at most %d are allowed", len(n), MaxLevels)}
	}
	for _, level := range n {
		if problem := nameProblem(level); problem != "" {
			return &Error{Kind: BadRequest, Message: "Invalid namespace level: " + problem}
		}
	}
	if len(n.Fold()) > MaxPathBytes {
		return &Error{Kind: BadRequest, Message: fmt.Sprintf("Invalid namespace: more than %d bytes in all", MaxPathBytes)}
	}
	return nil
}

// Fold returns the key by which the path is unique in its warehouse: the
// folded levels, joined by [Separator], so that a parent's key followed by the
// separator is a prefix of its children's.
func (n Namespace) Fold() string {
	switch len(n) {
	case 0:
		return ""
	case 1:
		return FoldName(n[0])
	}
	folded := make([]string, len(n))
	for i, level := range n {
		folded[i] = FoldName(level)
	}
	return strings.Join(folded, Separator)
}

// Parent returns all levels but the last; nil for a namespace of one level.
func (n Namespace) Parent() Namespace {
	if len(n) < 2 {
		return nil
	}
	return n[:len(n)-1]
}

// Name returns the last level, or "" for the root.
func (n Namespace) Name() string {
	if len(n) == 0 {
		return ""
	}
	return n[len(n)-1]
}

// Equal reports whether both paths are spelled the same.
func (n Namespace) Equal(other Namespace) bool { return slices.Equal(n, other) }

// FoldName returns the key by which a name is unique among its siblings
// (design 5: our own frozen folding, never a collation).
func FoldName(name string) string { return fold.Name(name) }

// ValidateName refuses what may not become the name of a table, view or
// warehouse, under the rules of a namespace level. kind opens the message:
// "table", "view"…
func ValidateName(kind, name string) error {
	if problem := nameProblem(name); problem != "" {
		return &Error{Kind: BadRequest, Message: "Invalid " + kind + " name: " + problem}
	}
	return nil
}

// Addressable reports whether a name can exist at all. One that cannot is
// simply not there; it must not reach a statement that other requests share,
// for PostgreSQL refuses the whole statement.
func Addressable(name string) bool { return nameProblem(name) == "" }

// nameProblem says what is wrong with a name, without repeating it, or "".
func nameProblem(name string) string {
	switch {
	case name == "":
		return "it is empty"
	case len(name) > MaxNameBytes:
		return fmt.Sprintf("%d bytes, at most %d are allowed", len(name), MaxNameBytes)
	case !utf8.ValidString(name):
		return "it is not valid UTF-8"
	}
	if i := strings.IndexAny(name, "\x00"+Separator); i >= 0 {
		// PostgreSQL keeps no NUL in a text, and the separator ends a level. All
		// other characters are the tenant's choice (design 6), newlines too.
		return fmt.Sprintf("control character U+%04X", name[i])
	}
	if name == "." || name == ".." {
		return "it is a dot segment, which HTTP clients remove from paths (RFC 3986, 5.2.4)"
	}
	if len(FoldName(name)) > MaxNameBytes {
		return fmt.Sprintf("more than %d bytes when letter case is removed", MaxNameBytes)
	}
	return ""
}
