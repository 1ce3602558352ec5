package queries

import (
	"context"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/ids"
)

const (
	// DefaultPageSize is the page of a client that pages and names no size.
	DefaultPageSize = 100
	// MaxPageSize bounds a page: more is cut to it, as the spec allows.
	MaxPageSize = 10_000
	// fetchSize is how many rows one statement of an unpaged list reads.
	fetchSize = 10_000
	// maxFetches bounds the statements behind one page when most rows are hidden
	// from the caller: the page then ends early, with a token to go on.
	maxFetches = 16
)

// listing is one list: what its rows are read from, and whom it is for.
type listing struct {
	name   string // kind of the list, part of the token's seal
	actor  authz.Actor
	parent authz.Facts // whose children are listed
	of     ids.ID      // the object that a token is bound to
	entity catalog.Entity
	fetch  func(ctx context.Context, after string, limit int) ([]child, error)
}

// list reads a page, or everything if the client does not page. Rows that the
// caller may not see are left out, in one question for each batch.
func (s *Service) list(ctx context.Context, l listing, page Page) (rows []child, next string, err error) {
	size, after, err := s.opened(l, page)
	if err != nil {
		return nil, "", err
	}
	paged := page.Token != nil
	for fetches := 1; ; fetches++ {
		limit := fetchSize
		if paged {
			limit = size - len(rows) + 1 // one more tells whether there is more
		}
		batch, err := l.fetch(ctx, after, limit)
		if err != nil {
			return nil, "", unavailable(err)
		}
		more := len(batch) == limit
		visible, err := s.visible(ctx, l, batch)
		if err != nil {
			return nil, "", err
		}
		if paged && len(rows)+len(visible) > size {
			rows = append(rows, visible[:size-len(rows)]...)
			return rows, s.tokens.seal(rows[size-1].fold, bind(l.actor, l.name, l.of)), nil
		}
		rows = append(rows, visible...)
		if !more {
			return rows, "", nil
		}
		after = batch[len(batch)-1].fold
		if paged && (fetches == maxFetches || len(rows) == size) {
			return rows, s.tokens.seal(after, bind(l.actor, l.name, l.of)), nil
		}
	}
}

// opened returns the size of the page and the name that it begins behind.
func (s *Service) opened(l listing, page Page) (size int, after string, err error) {
	size = DefaultPageSize
	if page.Size != nil {
		if *page.Size < 1 {
			return 0, "", &catalog.Error{Kind: catalog.BadRequest, Message: "Invalid page size: it must be at least 1"}
		}
		size = min(*page.Size, MaxPageSize)
	}
	if page.Token == nil || *page.Token == "" {
		return size, "", nil
	}
	after, err = s.tokens.open(*page.Token, bind(l.actor, l.name, l.of))
	return size, after, err
}

// visible keeps the rows that the caller may see.
func (s *Service) visible(ctx context.Context, l listing, batch []child) ([]child, error) {
	if len(batch) == 0 {
		return nil, nil
	}
	all := make([]ids.ID, len(batch))
	for i := range batch {
		all[i] = batch[i].id
	}
	seen, err := s.deps.Authorizer.Filter(ctx, l.actor, l.parent, string(l.entity), all)
	if err != nil {
		return nil, &catalog.Error{Kind: catalog.Unavailable, Message: "The authorizer is not available", RetryAfter: retrySoon, Cause: err}
	}
	if len(seen) == len(all) {
		return batch, nil
	}
	kept := make([]child, 0, len(seen))
	for _, c := range batch {
		if len(kept) < len(seen) && seen[len(kept)] == c.id {
			kept = append(kept, c)
		}
	}
	return kept, nil
}
