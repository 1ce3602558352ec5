package commands

import (
	"context"
	"fmt"
	"strings"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/iceberg"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/storage"
)

// store returns the opened store of the request's warehouse.
func (s *Service) store(ctx context.Context, f *projections.Facts) (storage.Store, error) {
	store, err := s.deps.Documents.Of(ctx, &f.Warehouse)
	if err != nil {
		// The profile was good when the warehouse was made: what is wrong now is
		// the server's configuration or its store, not the request.
		return nil, unavailable(err, "The warehouse's store is not available")
	}
	return store, nil
}

// locate returns the canonical spelling of a location that a client named. It
// must be a place that engines understand alike, at or below the warehouse's
// root.
func locate(ctx context.Context, store storage.Store, location string) (string, error) {
	l, err := store.Locate(location)
	if err != nil {
		return "", fromStorage(ctx, err)
	}
	if err := l.Claimable(); err != nil {
		return "", fromStorage(ctx, err)
	}
	return l.String(), nil
}

// maxLocationDepth bounds the parts of a claim, for the index that guards claims
// holds a hash of each part, twice, on a page of 8 KiB.
const maxLocationDepth = 128

// claimKey returns the claim of a folder that an object wants for itself:
// strictly below the warehouse's root, for whoever owns the root owns all.
func claimKey(ctx context.Context, store storage.Store, location string) (string, error) {
	canonical, err := locate(ctx, store, location)
	if err != nil {
		return "", err
	}
	key, err := store.Key(ctx, canonical)
	if err != nil {
		return "", fromStorage(ctx, err)
	}
	root, err := store.Key(ctx, store.Profile().Root().String())
	if err != nil {
		return "", fromStorage(ctx, err)
	}
	if !root.Contains(key) || key == root {
		return "", locationOutside()
	}
	if strings.Count(key.String(), "/") > maxLocationDepth {
		return "", &catalog.Error{Kind: catalog.BadRequest, Message: fmt.Sprintf("The location lies too deep: more than %d folders", maxLocationDepth)}
	}
	return key.String(), nil
}

// located is the metadata of a table or view, as far as its places go.
type located interface {
	Location() string
	Property(name string) (string, bool)
}

// claimsOf returns what a table or view with this metadata claims: its location
// and its metadata path, without what lies below another.
func claimsOf(ctx context.Context, store storage.Store, m located) ([]string, error) {
	keys := make([]string, 0, 2)
	key, err := claimKey(ctx, store, m.Location())
	if err != nil {
		return nil, err
	}
	keys = append(keys, key)
	if path, ok := metadataPath(m); ok {
		if key, err = claimKey(ctx, store, path); err != nil {
			return nil, fmt.Errorf("%s: %w", iceberg.PropMetadataPath, err)
		}
		keys = append(keys, key)
	}
	return catalog.Claims(keys...), nil
}

// metadataPath returns the folder that the properties want metadata files in.
func metadataPath(m located) (string, bool) {
	path, ok := m.Property(iceberg.PropMetadataPath)
	return strings.TrimRight(path, "/"), ok && path != ""
}

// movesClaims reports whether the claims of next can differ from those of base.
func movesClaims(base, next located) bool {
	was, had := metadataPath(base)
	is, has := metadataPath(next)
	return base.Location() != next.Location() || had != has || was != is
}

// scope returns the objects below claims.
func scope(store storage.Store, claims []string) storage.Objects {
	keys := make([]storage.Key, len(claims))
	for i, claim := range claims {
		keys[i] = storage.Key(claim)
	}
	return storage.Scope(store, keys)
}

// vacant returns those of free claims below which nothing lies. It is asked once,
// right before they are claimed, and kept in the event: what lies there later is
// the object's own, and what lay there before, forgotten by an unregistration or
// never known here, is somebody's and outlives a purge (law 5).
func (s *Service) vacant(ctx context.Context, store storage.Store, claims []string) ([]string, error) {
	objects := scope(store, claims)
	var vacant []string
	for _, claim := range claims {
		folder, err := store.Folder(storage.Key(claim))
		if err != nil {
			return nil, fromStorage(ctx, err)
		}
		found, err := objects.List(ctx, folder.String(), "", 1)
		if err != nil {
			return nil, fromStorage(ctx, err)
		}
		if len(found) == 0 {
			vacant = append(vacant, claim)
		}
	}
	return vacant, nil
}

// claimed is what a new object claims, and what of it is vacant. A place of the
// client's choice has to be free before a client, or this server, writes there; a
// generated one holds a new uuid.
func (s *Service) claimed(ctx context.Context, store storage.Store, m located, chosen bool) (claims, vacant []string, err error) {
	if claims, err = claimsOf(ctx, store, m); err != nil {
		return nil, nil, err
	}
	if _, apart := metadataPath(m); !apart && !chosen {
		return claims, claims, nil
	}
	if err := s.mustBeFree(ctx, claims, ids.Nil); err != nil {
		return nil, nil, err
	}
	vacant, err = s.vacant(ctx, store, claims)
	return claims, vacant, err
}

// mustBeFree refuses claims that overlap with those of an object other than
// except. It keeps the server from writing, and a client from being told to
// write, where somebody else is at home; two who come at the same moment are
// told apart by the log's constraint.
func (s *Service) mustBeFree(ctx context.Context, claims []string, except ids.ID) error {
	free, err := s.deps.Claims.Free(ctx, claims, except)
	if err != nil {
		return unavailable(err, "The catalog is not available")
	}
	if !free {
		return locationTaken()
	}
	return nil
}
