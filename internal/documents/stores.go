package documents

import (
	"context"
	"fmt"
	"sync"

	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/storage"
)

// Opener opens the store of a profile; [*storage.Stores] is one.
type Opener interface {
	Open(ctx context.Context, profile storage.Profile) (storage.Store, error)
}

// maxStores bounds the stores kept open; they hold no connection, so that
// starting over is cheap.
const maxStores = 1024

// Stores keeps the opened stores of warehouses by the warehouse's mark, under
// which its profile is immutable. It is safe for concurrent use.
type Stores struct {
	opener Opener

	mu     sync.RWMutex
	byMark map[ids.ID]storage.Store
}

// NewStores returns an empty collection on an opener.
func NewStores(opener Opener) *Stores {
	return &Stores{opener: opener, byMark: map[ids.ID]storage.Store{}}
}

// Of returns the store of a warehouse.
func (s *Stores) Of(ctx context.Context, w *projections.WarehouseFacts) (storage.Store, error) {
	s.mu.RLock()
	store := s.byMark[w.Mark]
	s.mu.RUnlock()
	if store != nil {
		return store, nil
	}
	profile, err := storage.ParseProfile(w.StorageProfile)
	if err != nil {
		return nil, fmt.Errorf("warehouse %s: %w", w.ID, err)
	}
	store, err = s.opener.Open(ctx, profile)
	if err != nil {
		return nil, fmt.Errorf("warehouse %s: %w", w.ID, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.byMark) >= maxStores {
		clear(s.byMark)
	}
	s.byMark[w.Mark] = store
	return store, nil
}
