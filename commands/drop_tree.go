package commands

import (
	"context"
	"slices"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/projections"
)

// maxSoftTree bounds the objects of a tree that is dropped softly: its one commit
// locks all of them.
const maxSoftTree = 5000

// dropTree hides a namespace and all that stands in it by one event. The guards of
// the others get its mark and are dormant from then on: whoever was about to commit
// to one of them finds it so.
func (s *Service) dropTree(ctx context.Context, call Call, d *namespaceDrop, f *projections.Facts, t *try, expires int64, profile eventstore.Stream) error {
	members, err := s.deps.Claims.Tree(ctx, f.Warehouse.ID, f.Namespace.ID, maxSoftTree+1)
	switch {
	case err != nil:
		return unavailable(err, "The catalog is not available")
	case len(members) == 0:
		return errMoved // dropped since it was resolved
	case len(members) > maxSoftTree:
		return badRequest("More than %d objects stand in the namespace: drop a part of them first, or all for good with force=true", maxSoftTree)
	}
	if err := s.unprotected(ctx, d, f, members); err != nil {
		return err
	}
	slices.Reverse(members) // the root, namespaces below it, and what stands in them
	root := &members[0]
	drop := &catalog.SoftDrop{PurgeRequested: d.in.PurgeRequested, ExpiresAtMS: expires, Tree: treeOf(members)}
	record, err := s.record(call, root.ID, &catalog.NamespaceDropped{Namespace: root.Levels, Recursive: true, Soft: drop}, f)
	if err != nil {
		return err
	}
	t.commit = s.newCommit(f, s.claim(call, 204, root.ID, "", nil))
	t.commit.Records = []eventstore.Record{record}
	t.commit.Streams = append(s.shifted(members, &record, eventstore.Stream{NextDormant: true}), profile)
	if len(root.Ancestors) > 0 {
		t.commit.Streams = append(t.commit.Streams, eventstore.Stream{ID: root.Ancestors[0], Mode: eventstore.Held})
	}
	return nil // a constraint means that something was made in the tree meanwhile: it goes, too
}

// treeOf is how events name the members of a tree.
func treeOf(members []projections.Member) (tree catalog.Tree) {
	tree.Tabulars = []catalog.TreeTabular{}
	for i := range members {
		m := &members[i]
		if m.Kind == catalog.EntityNamespace {
			tree.Namespaces = append(tree.Namespaces, catalog.TreeNamespace{ID: m.ID, Namespace: m.Levels, Ancestors: m.Ancestors, Properties: m.Properties})
		} else {
			tree.Tabulars = append(tree.Tabulars, tabularOf(m))
		}
	}
	return tree
}

func tabularOf(m *projections.Member) catalog.TreeTabular {
	return catalog.TreeTabular{Kind: m.Kind, ID: m.ID, NamespaceID: m.Namespace, Name: m.Name, UUID: m.UUID, MetadataLocation: m.Pointer}
}

// shifted are the guards of a tree, whose first member is the root that the record
// is of: it moves on, and the others go along. State says what they are and become.
func (s *Service) shifted(members []projections.Member, record *eventstore.Record, state eventstore.Stream) []eventstore.Stream {
	streams := make([]eventstore.Stream, len(members))
	for i := range members {
		m := &members[i]
		st := state
		st.ID, st.Version, st.Pointer, st.NextPointer = m.ID, m.Version, m.Pointer, m.Pointer
		st.Mode, st.SpokenFor = eventstore.Shifted, record.ID
		if i == 0 {
			st.Mode, st.Exclusive = eventstore.Advanced, true
		}
		streams[i] = st
	}
	return streams
}
