package queries

import (
	"context"
	"strings"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// ListFunctions lists the functions of a namespace. The specification has no
// way to make one (it is read only), so no namespace holds any; the caller has
// to see the namespace all the same.
func (s *Service) ListFunctions(ctx context.Context, actor authz.Actor, warehouse ids.ID, namespace []string, page Page) error {
	f, err := s.namespace(ctx, actor, warehouse, namespace, authz.NamespaceGetMetadata)
	if err != nil {
		return err
	}
	// Page parameters are held to the rules of every list.
	_, _, err = s.opened(listing{name: "functions", actor: actor, parent: subject.Namespace(f), of: f.Namespace.ID}, page)
	return err
}

// LoadFunction tells that a function does not exist, or that its namespace
// does not.
func (s *Service) LoadFunction(ctx context.Context, actor authz.Actor, warehouse ids.ID, function Identifier) error {
	if _, err := s.namespace(ctx, actor, warehouse, function.Namespace, authz.NamespaceGetMetadata); err != nil {
		return err
	}
	name := strings.Join(append(append([]string(nil), function.Namespace...), function.Name), ".")
	return &catalog.Error{Kind: catalog.NoSuchFunction, Message: "Function does not exist: " + name}
}
