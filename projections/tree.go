package projections

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
)

//go:embed sql/tree.sql
var treeSQL string

//go:embed sql/tree_protected.sql
var treeProtectedSQL string

// Member is an object in the tree of a namespace, or the namespace itself.
type Member struct {
	Kind      catalog.Entity // namespace, table or view
	ID        ids.ID
	Namespace ids.ID   // the namespace that it stands in; of a namespace its own id
	Levels    []string // of that namespace, as created
	Name      string   // of a table or view, as created
	UUID      ids.ID   // the client's, of a table or view
	Protected bool
	Version   int64    // guard
	Mark      ids.ID   // guard
	Pointer   string   // guard: the metadata location of a table or view
	Claims    []string // canonical location keys, in "C" order
	// Ancestors and Properties are those of a namespace.
	Ancestors  []ids.ID
	Properties []byte
}

// Tree returns up to limit objects of the tree of a namespace, in an order in
// which they can be dropped: tables and views, then the namespaces from the
// deepest up, the root last. Nothing at all means that there is no such
// namespace.
func (c Claims) Tree(ctx context.Context, warehouse, namespace ids.ID, limit int) ([]Member, error) {
	rows, err := c.db.Query(ctx, treeSQL, [16]byte(warehouse), [16]byte(catalog.MainBranch), [16]byte(namespace), limit)
	if err != nil {
		return nil, fmt.Errorf("read the tree of a namespace: %w", err)
	}
	members, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Member, error) {
		var m Member
		var uuid pgtype.UUID
		var pointer, properties pgtype.Text
		var ancestors [][16]byte
		err := row.Scan((*string)(&m.Kind), (*[16]byte)(&m.ID), (*[16]byte)(&m.Namespace), &m.Levels, &m.Name, &uuid,
			&m.Protected, &m.Version, (*[16]byte)(&m.Mark), &pointer, &m.Claims, &ancestors, &properties)
		m.UUID, m.Pointer, m.Properties = uuid.Bytes, pointer.String, []byte(properties.String)
		for _, id := range ancestors {
			m.Ancestors = append(m.Ancestors, id)
		}
		return m, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the tree of a namespace: %w", err)
	}
	return members, nil
}

// TreeProtected reports whether a namespace below this one is protected, and
// whether a table or view in its tree is.
func (c Claims) TreeProtected(ctx context.Context, warehouse, namespace ids.ID) (namespaces, tabulars bool, err error) {
	rows, err := c.db.Query(ctx, treeProtectedSQL, [16]byte(warehouse), [16]byte(catalog.MainBranch), [16]byte(namespace))
	if err != nil {
		return false, false, fmt.Errorf("read the protection of a tree: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(&namespaces, &tabulars); err != nil {
			return false, false, fmt.Errorf("read the protection of a tree: %w", err)
		}
	}
	if err := rows.Err(); err != nil {
		return false, false, fmt.Errorf("read the protection of a tree: %w", err)
	}
	return namespaces, tabulars, nil
}
