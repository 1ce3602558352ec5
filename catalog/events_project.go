package catalog

import (
	"errors"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// Types of the events of the server and of projects.
const (
	TypeServerBootstrapped = TypePrefix + "server.bootstrapped"
	TypeProjectCreated     = TypePrefix + "project.created"
	TypeProjectRenamed     = TypePrefix + "project.renamed"
	TypeProjectDeleted     = TypePrefix + "project.deleted"
)

// MaxProjectIdent bounds the id by which callers name a project.
const MaxProjectIdent = 128

// ServerBootstrapped is the first event of a server's stream.
type ServerBootstrapped struct {
	TermsAccepted  bool
	DefaultProject ids.ID // project created in the same commit; Nil if none
}

// EventType implements [Event].
func (*ServerBootstrapped) EventType() string { return TypeServerBootstrapped }

func (e *ServerBootstrapped) fields(c *coder) {
	c.flag("terms-of-use-accepted", &e.TermsAccepted)
	c.optID("default-project-id", &e.DefaultProject)
}

// ProjectCreated opens a project.
type ProjectCreated struct {
	Name string
	// Ident is the id by which callers name the project, if the creator asked for
	// one; else they name it by the id of its stream.
	Ident string
}

// EventType implements [Event].
func (*ProjectCreated) EventType() string { return TypeProjectCreated }

func (e *ProjectCreated) fields(c *coder) {
	c.text("name", &e.Name, MaxNameBytes)
	c.optText("ident", &e.Ident, MaxProjectIdent)
	if e.Ident != "" && !ValidProjectIdent(e.Ident) {
		c.fail("ident", "a character that is no ASCII letter, digit, hyphen or underscore")
	}
}

// projectCreatedV1 lifts the first version, which knew no ident.
func projectCreatedV1(data []byte) ([]byte, error) {
	list, err := members(data)
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		if m.name == "ident" {
			return nil, errors.New("version 1 has no member ident")
		}
	}
	return data, nil
}

// ValidProjectIdent reports whether text can be the id of a project on the
// wire: 1 to [MaxProjectIdent] ASCII letters, digits, hyphens and underscores
// (Lakekeeper's rule; its letters are Unicode's).
func ValidProjectIdent(text string) bool {
	if text == "" || len(text) > MaxProjectIdent {
		return false
	}
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// ProjectRenamed gives a project another name.
type ProjectRenamed struct{ From, To string }

// EventType implements [Event].
func (*ProjectRenamed) EventType() string { return TypeProjectRenamed }

func (e *ProjectRenamed) fields(c *coder) {
	c.text("from", &e.From, MaxNameBytes)
	c.text("to", &e.To, MaxNameBytes)
}

// ProjectDeleted ends a project that held no warehouse.
type ProjectDeleted struct{ Name string }

// EventType implements [Event].
func (*ProjectDeleted) EventType() string { return TypeProjectDeleted }

func (e *ProjectDeleted) fields(c *coder) { c.text("name", &e.Name, MaxNameBytes) }

// projectKind is what the codec knows of the events of the server and of
// projects.
func projectKind(typ string) (kind, bool) {
	switch typ {
	case TypeServerBootstrapped:
		return first(func() Event { return new(ServerBootstrapped) })
	case TypeProjectCreated:
		return kind{
			version: 2, event: func() Event { return new(ProjectCreated) },
			upcasters: []func([]byte) ([]byte, error){projectCreatedV1},
		}, true
	case TypeProjectRenamed:
		return first(func() Event { return new(ProjectRenamed) })
	case TypeProjectDeleted:
		return first(func() Event { return new(ProjectDeleted) })
	}
	return kind{}, false
}
