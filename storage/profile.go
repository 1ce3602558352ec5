package storage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// Profile says where a warehouse keeps its files. It holds no secret. Its wire
// form, in the management API and in events, is {"type":"file","root":"file:///…"}.
type Profile struct {
	root Location
}

// FileProfile returns the profile of local files below a root.
func FileProfile(root string) (Profile, error) {
	l, err := ParseLocation(root)
	if err != nil {
		return Profile{}, fmt.Errorf("storage profile: root: %w", err)
	}
	if err := l.Claimable(); err != nil {
		return Profile{}, fmt.Errorf("storage profile: root: %w", err)
	}
	return Profile{root: l}, nil
}

type profileJSON struct {
	Type string `json:"type"`
	Root string `json:"root"`
}

// ParseProfile reads the wire form. Unknown members are refused, for a setting
// that is silently ignored is a surprise later.
func ParseProfile(raw []byte) (Profile, error) {
	var wire profileJSON
	var kind struct {
		Type *string `json:"type"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return Profile{}, unreadable(err)
	}
	switch {
	case kind.Type == nil:
		return Profile{}, errors.New(`storage profile: "type" is missing`)
	case *kind.Type != schemeFile:
		return Profile{}, fmt.Errorf("storage profile: type %q is not supported, only %q", *kind.Type, schemeFile)
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&wire); err != nil {
		return Profile{}, unreadable(err)
	}
	if wire.Root == "" {
		return Profile{}, errors.New(`storage profile: "root" is missing`)
	}
	return FileProfile(wire.Root)
}

// unreadable says what is wrong with a profile in the words of its wire form:
// clients read it, and encoding/json speaks of Go's types.
func unreadable(err error) error {
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mistyped) && mistyped.Field != "":
		return fmt.Errorf("storage profile: %q must be a %s", mistyped.Field, mistyped.Type)
	case errors.As(err, &mistyped):
		return errors.New("storage profile: it must be a JSON object")
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return errors.New("storage profile: unknown field " + name)
	}
	return errors.New("storage profile: it is not well-formed JSON")
}

// MarshalJSON prints the wire form, with the canonical root.
func (p Profile) MarshalJSON() ([]byte, error) {
	if p.root.IsZero() {
		return nil, errors.New("storage profile: zero value")
	}
	return json.Marshal(profileJSON{Type: p.Type(), Root: p.root.String()})
}

// UnmarshalJSON is [ParseProfile].
func (p *Profile) UnmarshalJSON(raw []byte) error {
	parsed, err := ParseProfile(raw)
	if err != nil {
		return err
	}
	*p = parsed
	return nil
}

// Type returns the kind of store, "file".
func (p Profile) Type() string { return p.root.store }

// Root returns the location that everything of the warehouse lies below.
func (p Profile) Root() Location { return p.root }

// IsZero reports whether p was never set.
func (p Profile) IsZero() bool { return p.root.IsZero() }

// How long the readable parts of a generated location may get. They are there
// for people; what makes a location unique is the id.
const (
	maxNamePart   = 64 // bytes of a table's or namespace's name
	maxLevelParts = 6  // namespace levels, the rest is left out
)

// DefaultTableLocation returns where a new table lives if the client does not
// say: <namespace location>/<name>-<id>, where an empty nsLocation stands for
// the root. The name is made path-safe, so that every engine understands the
// location alike; the id keeps two tables apart whose names become equal.
func (p Profile) DefaultTableLocation(nsLocation, name string, id ids.ID) string {
	base := p.root.String()
	if nsLocation != "" {
		base = strings.TrimRight(nsLocation, "/")
	}
	if part := safePart(name); part != "" {
		return base + "/" + part + "-" + id.String()
	}
	return base + "/" + id.String()
}

// DefaultNamespaceLocation returns <root>/<level>/<level>… with path-safe
// levels: the base of table locations in a namespace without a location of its
// own. It is not unique and nothing is claimed by it.
func (p Profile) DefaultNamespaceLocation(levels []string) string {
	var b strings.Builder
	b.WriteString(p.root.String())
	for i, level := range levels {
		if i == maxLevelParts {
			break
		}
		if part := safePart(level); part != "" {
			b.WriteByte('/')
			b.WriteString(part)
		}
	}
	return b.String()
}

// safePart keeps ASCII letters, digits, '-', '_' and '.', and puts one '_' for
// every run of other characters: no engine, shell or URL parser reads those
// differently. It does not begin with '.' or '_', which Hadoop takes for
// hidden, nor end with '.' or '_'.
func safePart(name string) string {
	b := make([]byte, 0, min(len(name), maxNamePart))
	for i := 0; i < len(name) && len(b) < maxNamePart; i++ {
		c := name[i]
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z', '0' <= c && c <= '9', c == '-', c == '.':
			b = append(b, c)
		case len(b) > 0 && b[len(b)-1] != '_':
			b = append(b, '_')
		}
	}
	return strings.Trim(string(b), "._")
}
