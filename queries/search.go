package queries

import (
	"context"
	_ "embed"
	"slices"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

var (
	//go:embed sql/search_by_name.sql
	searchByNameSQL string
	//go:embed sql/search_by_id.sql
	searchByIDSQL string
)

const (
	// searchLength is how much of a search's text counts, in characters.
	searchLength = 64
	// searchResults is how many tables and views one search shows.
	searchResults = 10
	// searchCandidates is how many are looked at: some may be hidden from the
	// caller.
	searchCandidates = 100
)

// Found is a table or view that a search found.
type Found struct {
	ID        ids.ID
	Kind      string // "table" or "view"
	Namespace []string
	Name      string
	Distance  *float32 // 0 is the same; nil of a search by id

	namespace authz.Facts
}

// SearchTabulars finds tables and views of a warehouse: by a UUID those that
// have it and those in the namespace that has it, else those whose path is
// nearest to the text, as Lakekeeper does. The index follows the log: what was
// made in the last seconds may be missing.
func (s *Service) SearchTabulars(ctx context.Context, actor authz.Actor, warehouse ids.ID, text string) ([]Found, error) {
	f, err := s.resolve(ctx, projections.Query{Warehouse: warehouse})
	if err != nil {
		return nil, err
	}
	if err := authz.Check(ctx, s.deps.Authorizer, actor, subject.Warehouse(f), authz.WarehouseUse, noSuchWarehouse()); err != nil {
		return nil, err
	}
	if err := inWarehouse(f); err != nil {
		return nil, err
	}
	list, err := s.deps.Lists.search(ctx, f, cut(text, searchLength))
	if err != nil {
		return nil, unavailable(err)
	}
	if list, err = s.visibleFound(ctx, actor, list); err != nil {
		return nil, err
	}
	return list[:min(len(list), searchResults)], nil
}

// cut returns the first n characters of a text.
func cut(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

func (l Lists) search(ctx context.Context, f *projections.Facts, text string) ([]Found, error) {
	warehouse, branch := [16]byte(f.Warehouse.ID), [16]byte(catalog.MainBranch)
	var rows pgx.Rows
	var err error
	if id, malformed := ids.Parse(text); malformed == nil {
		rows, err = l.db.Query(ctx, searchByIDSQL, warehouse, branch, [16]byte(id), searchCandidates)
	} else {
		trigrams := projections.Trigrams(text)
		if len(trigrams) == 0 || !utf8.ValidString(text) {
			return nil, nil
		}
		rows, err = l.db.Query(ctx, searchByNameSQL, warehouse, branch, trigrams, searchCandidates)
	}
	return collect(rows, err, func(row pgx.CollectableRow) (found Found, err error) {
		var namespace [16]byte
		var ancestors [][16]byte
		err = row.Scan((*[16]byte)(&found.ID), &found.Kind, &found.Namespace, &found.Name, &found.Distance, &namespace, &ancestors)
		parent := *f
		parent.Namespace = projections.NamespaceFacts{Exists: true, ID: namespace}
		for _, id := range ancestors {
			parent.Namespace.Ancestors = append(parent.Namespace.Ancestors, id)
		}
		found.namespace = subject.Namespace(&parent)
		return found, err
	})
}

// visibleFound keeps what the caller may see, in one question for each
// namespace and kind.
func (s *Service) visibleFound(ctx context.Context, actor authz.Actor, list []Found) ([]Found, error) {
	type group struct {
		namespace ids.ID
		kind      string
	}
	groups := map[group][]int{}
	for i := range list {
		g := group{list[i].namespace.Object, list[i].Kind}
		groups[g] = append(groups[g], i)
	}
	seen := make(map[ids.ID]bool, len(list))
	for g, places := range groups {
		all := make([]ids.ID, len(places))
		for i, place := range places {
			all[i] = list[place].ID
		}
		visible, err := s.deps.Authorizer.Filter(ctx, actor, list[places[0]].namespace, g.kind, all)
		if err != nil {
			return nil, &catalog.Error{Kind: catalog.Unavailable, Message: "The authorizer is not available", RetryAfter: retrySoon, Cause: err}
		}
		for _, id := range visible {
			seen[id] = true
		}
	}
	return slices.DeleteFunc(list, func(f Found) bool { return !seen[f.ID] }), nil
}
