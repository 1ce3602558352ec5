package commands

import (
	"context"
	"fmt"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// DropNamespace ends a namespace. Unless Recursive, no table, no view and no
// namespace may stand in it.
//
// With Recursive everything in its tree ends with it, each object by its own
// event. A tree of at most [eventstore.MaxRecords] objects goes in one commit: all
// of it or nothing. A larger one goes in several, tables and views first, then
// namespaces from the deepest up, the named one last: whoever looks in between
// finds a smaller tree and never an orphan. When such a drop ends early, what is
// left is a tree as before, and the same request carries on: it is told so, as a
// [catalog.CommitStateUnknown], for a clean refusal would say that nothing happened
// (law 3). Protection is asked for the whole tree before the first commit, and in
// each one for what that drops.
//
// Where the warehouse lets what is dropped come back, a recursive drop without
// force hides the whole tree by one event of the namespace instead, and that can be
// undone as a whole ([Service.Undrop]). A namespace in which nothing stands is
// dropped for good; what stood in it and can come back counts as standing in it.
func (s *Service) DropNamespace(ctx context.Context, call Call, in DropNamespace) error {
	line := lineOf(in.Warehouse, in.Namespace, "")
	_, err := once(ctx, s, call, func(ctx context.Context) (_ struct{}, appended bool, err error) {
		d := &namespaceDrop{in: in}
		for gone := 0; ; {
			receipt, err := s.attempt(ctx, []string{line}, func(ctx context.Context, t *try) error {
				return s.dropNamespace(ctx, call, d, t)
			})
			if err != nil || d.last {
				return struct{}{}, len(receipt.Records) > 0, endedEarly(gone, err)
			}
			gone += len(receipt.Records)
			d.begun, d.profile = true, nil
		}
	}, func(ctx context.Context, stored eventstore.Idempotency) (struct{}, error) {
		_, err := s.namespace(ctx, call, in.Warehouse, in.Namespace, authz.NamespaceDelete, stored.Object)
		return struct{}{}, err
	})
	return err
}

// endedEarly is what a drop answers that could not carry on after so many objects
// were gone. A refusal that says what stands in the way is given as it is.
func endedEarly(gone int, err error) error {
	if err == nil || gone == 0 {
		return err
	}
	if kind := catalog.KindOf(err); !mayPass(err) && kind != catalog.CommitFailed {
		return err
	}
	return &catalog.Error{
		Kind:    catalog.CommitStateUnknown,
		Message: fmt.Sprintf("The drop ended early: %d objects of the tree are gone, the others are as they were; the same request carries on", gone),
		Cause:   err,
	}
}

// namespaceDrop is a DropNamespace over its commits and their tries.
type namespaceDrop struct {
	in    DropNamespace
	begun bool // a part of the tree is gone: protection was asked for the whole of it
	last  bool // the namespace itself is among what this commit drops

	// profile makes sure that the warehouse still drops for good when the first
	// commit comes.
	profile *eventstore.Stream
}

func (s *Service) dropNamespace(ctx context.Context, call Call, d *namespaceDrop, t *try) error {
	f, err := s.namespace(ctx, call, d.in.Warehouse, d.in.Namespace, authz.NamespaceDelete, ids.Nil)
	if err != nil {
		return err
	}
	if f.Namespace.Protected && !d.in.Force {
		return namespaceProtected(d.in.Namespace)
	}
	if d.in.Recursive && !d.in.Force && !d.begun {
		expires, profile := s.expiry(f)
		if expires != nil {
			d.last = true
			return s.dropTree(ctx, call, d, f, t, *expires, profile)
		}
		d.profile = &profile
	}
	members := []projections.Member{{
		Kind: catalog.EntityNamespace, ID: f.Namespace.ID, Levels: f.Namespace.Levels, Version: f.Namespace.Version,
	}}
	if d.in.Recursive {
		if members, err = s.tree(ctx, d, f); err != nil {
			return err
		}
	}
	d.last = members[len(members)-1].ID == f.Namespace.ID
	var claim *eventstore.Idempotency
	if d.last {
		claim = s.claim(call, 204, f.Namespace.ID, "", nil)
	}
	t.commit = s.newCommit(f, claim)
	t.commit.Streams = make([]eventstore.Stream, len(members))
	t.commit.Records = make([]eventstore.Record, len(members))
	for i := range members {
		m := &members[i]
		if m.Kind == catalog.EntityNamespace {
			t.commit.Streams[i] = eventstore.Stream{ID: m.ID, Mode: eventstore.Advanced, Version: m.Version, Exclusive: true, Close: true}
			t.commit.Records[i], err = s.record(call, m.ID, &catalog.NamespaceDropped{Namespace: m.Levels, Recursive: d.in.Recursive}, f)
		} else {
			t.commit.Records[i], t.commit.Streams[i], err = s.ending(call, f, m, ending{purge: d.in.PurgeRequested})
		}
		if err != nil {
			return err
		}
	}
	if d.profile != nil {
		t.commit.Streams = append(t.commit.Streams, *d.profile)
	}
	t.refuse = func(e *eventstore.ConstraintError) error {
		switch e.Constraint {
		case projections.TabularNamespaceFK, projections.NamespaceParentFK, projections.DroppedNamespaceVacant:
			if !d.in.Recursive {
				return namespaceNotEmpty(d.in.Namespace)
			}
		}
		return nil // something was made in the tree meanwhile: it goes, too
	}
	return nil
}

// tree returns what to drop of the namespace's tree in one commit, unless
// something in it is protected.
func (s *Service) tree(ctx context.Context, d *namespaceDrop, f *projections.Facts) ([]projections.Member, error) {
	members, err := s.deps.Claims.Tree(ctx, f.Warehouse.ID, f.Namespace.ID, eventstore.MaxRecords)
	switch {
	case err != nil:
		return nil, unavailable(err, "The catalog is not available")
	case len(members) == 0:
		return nil, errMoved // dropped since it was resolved
	case d.in.Force:
		return members, nil
	}
	return members, s.unprotected(ctx, d, f, members)
}

// unprotected refuses to drop a tree in which something is protected.
func (s *Service) unprotected(ctx context.Context, d *namespaceDrop, f *projections.Facts, members []projections.Member) (err error) {
	namespaces, tabulars := false, false
	if d.begun || members[len(members)-1].ID == f.Namespace.ID {
		for i := range members {
			if m := &members[i]; m.Protected && m.Kind != catalog.EntityNamespace {
				tabulars = true
			} else if m.Protected {
				namespaces = true
			}
		}
	} else if namespaces, tabulars, err = s.deps.Claims.TreeProtected(ctx, f.Warehouse.ID, f.Namespace.ID); err != nil {
		return unavailable(err, "The catalog is not available")
	}
	switch {
	case namespaces:
		return childProtected(catalog.ChildNamespaceProtected, d.in.Namespace)
	case tabulars:
		return childProtected(catalog.ChildTabularProtected, d.in.Namespace)
	}
	return nil
}
