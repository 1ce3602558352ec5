package queries

import (
	"context"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// Credential is what opens the files below a location, in the keys that
// engines read (spec, StorageCredential).
type Credential struct {
	Prefix string // location, as a URI
	Config map[string]string
}

// Credentials returns what a reader of a table's files needs beside the file
// system itself, fresh in each request; the caller needs the right to read the
// data. Local and mounted file systems need nothing, so there is none today,
// and an empty entry is never made up for it.
func (s *Service) Credentials(ctx context.Context, actor authz.Actor, warehouse ids.ID, table Identifier) ([]Credential, error) {
	query := tableQuery(warehouse, table)
	if hint := s.deps.Documents.Last(pathOf(warehouse, table)); hint != nil {
		query.Hint = hint.Mark // leaves the document out of the answer
	}
	_, err := s.resolveTable(ctx, actor, query, table, authz.TableReadData)
	return nil, err
}
