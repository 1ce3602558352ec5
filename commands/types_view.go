package commands

import (
	"encoding/json"

	"github.com/icecore-catalog/icecore/internal/ids"
)

// CreateView is POST {namespace}/views.
type CreateView struct {
	Warehouse ids.ID
	Namespace []string
	Request   json.RawMessage // CreateViewRequest as sent, the name inside
}

// CommitView is POST {namespace}/views/{view}.
type CommitView struct {
	Warehouse    ids.ID
	View         Identifier      // from the path; the body's identifier is ignored
	Requirements json.RawMessage // JSON array or empty
	Updates      json.RawMessage // JSON array or empty
}

// RenameView is POST {prefix}/views/rename.
type RenameView struct {
	Warehouse           ids.ID
	Source, Destination Identifier
}

// RegisterView is POST {namespace}/register-view.
type RegisterView struct {
	Warehouse        ids.ID
	Namespace        []string
	Name             string
	MetadataLocation string
}

// DropView is DELETE {namespace}/views/{view}.
type DropView struct {
	Warehouse ids.ID
	View      Identifier
	Force     bool // drops a protected view
	// PurgeRequested has a job delete the view's metadata files.
	PurgeRequested bool
}

// View is the state of a view after a command: what LoadViewResult is spliced
// from.
type View struct {
	ID      ids.ID
	Mark    ids.ID // id of the event that made this state
	Pointer string // metadata location
	// Document is the metadata document, verbatim.
	Document []byte
	// Config is the view's client configuration (LoadViewResult.config).
	Config map[string]string
}
