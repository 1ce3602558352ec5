package storage

import (
	"context"
	"time"
)

// Objects reads, writes, lists and deletes objects. A location is a full text
// such as file:///srv/warehouse/ns/t/metadata/00000-….metadata.json, in any
// accepted spelling. Implementations are safe for concurrent use and give
// read-your-writes across all of their callers.
//
// Every method may return an [*Error] of kind [ErrOutside] or [ErrInvalid].
type Objects interface {
	// Put writes an object, replacing one that is there in one step. A new one
	// may be seen before it is whole: nobody may be told its name before Put has
	// returned, which is after object and name are durable. On [ErrNoSpace]
	// nothing is left behind; after any other error the object may be there or not.
	Put(ctx context.Context, location string, data []byte) error
	// PutIfAbsent is Put, but fails with [ErrExists] when there is an object.
	// Not every store can promise that under concurrency: where correctness
	// depends on it, let the name hold a UUID and use Put.
	PutIfAbsent(ctx context.Context, location string, data []byte) error
	// Get returns the whole object if it has at most limit bytes, otherwise
	// [ErrTooLarge]; [ErrNotFound] when there is none.
	Get(ctx context.Context, location string, limit int64) ([]byte, error)
	// Stat returns what the store knows of an object, or [ErrNotFound].
	Stat(ctx context.Context, location string) (Info, error)
	// List returns up to limit (at least 1) objects whose location begins with
	// prefix and a slash, in bytewise order of location, starting behind the
	// location after; an empty after starts at the beginning. Fewer than limit
	// results mean that the end was reached. A prefix where nothing lies
	// yields nothing. Links are listed as objects and not followed. Objects
	// that come or go meanwhile may be seen or not; all others are seen once.
	List(ctx context.Context, prefix, after string, limit int) ([]Info, error)
	// Delete removes an object; a missing one is no error. A link is removed
	// itself, not what it leads to. It need not be durable on return.
	Delete(ctx context.Context, location string) error
	// Prune removes the empty folders at and below prefix, in stores that have
	// folders, and makes deletions below it durable.
	Prune(ctx context.Context, prefix string) error
}

// Info describes one object.
type Info struct {
	Location string    // canonical; comparable with [Location.String]
	Size     int64     // bytes
	ModTime  time.Time // last modification by the store's clock, UTC
}

// Store is the opened store of one profile. It implements [Objects] for all
// that lies below the profile's root; commands use it through [Scope].
type Store interface {
	Objects
	// Profile returns what the store was opened with.
	Profile() Profile
	// Locate parses a location and checks by its text that it lies below the
	// profile's root.
	Locate(location string) (Location, error)
	// Key returns the canonical claim key of the folder at a location, which
	// need not exist: links on the way are resolved, so that two spellings of
	// one place give one key. What they lead to must be UTF-8 of at most
	// [MaxLocation] bytes, else the error is [ErrInvalid]. That a key is not
	// the root's is for the caller to see to.
	Key(ctx context.Context, location string) (Key, error)
	// Folder returns the location that a claim key stands for, to list and to
	// delete below it; [ErrOutside] when it is not below the profile's root.
	Folder(claim Key) (Location, error)
	// Scoped returns the objects below the claims; see [Scope].
	Scoped(claims []Key) Objects
}

// Scope narrows a store to the claims of one object (design, law 5): a read,
// write or deletion must lie below one of them, a list or prune at or below
// one, else it fails with [ErrOutside] and touches nothing. Without claims
// everything is refused.
func Scope(store Store, claims []Key) Objects { return store.Scoped(claims) }
