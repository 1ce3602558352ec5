package commands

import (
	"context"
	"slices"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// UndropTarget is something that is to come back: a table, a view, or a namespace
// with all that was dropped with it.
type UndropTarget struct {
	Kind   catalog.Entity
	Object ids.ID
	// Name is what it is called from now on; empty keeps its name.
	Name string
	// Namespace is where it stands from now on, of a namespace its parent, which is
	// empty for the top. Unless Elsewhere is set, it comes back to where it was.
	Namespace []string
	Elsewhere bool
}

// Undrop is POST /management/v1/warehouse/{warehouse_id}/deleted-tabulars/undrop.
type Undrop struct {
	Warehouse ids.ID
	Targets   []UndropTarget
}

// Undrop gives dropped tables, views and trees their life back, all or none of
// them: with their ids, rights and files, under the name that they had or another
// one. It and the expiry of an object race on its version: one of them wins.
func (s *Service) Undrop(ctx context.Context, call Call, in Undrop) error {
	if err := in.check(); err != nil {
		return err
	}
	lines := make([]string, len(in.Targets))
	for i := range in.Targets {
		lines[i] = lineOfDropped(in.Targets[i].Object)
	}
	_, err := once(ctx, s, call, func(ctx context.Context) (_ struct{}, appended bool, err error) {
		receipt, err := s.attempt(ctx, lines, func(ctx context.Context, t *try) error {
			return s.undrop(ctx, call, &in, t)
		})
		return struct{}{}, len(receipt.Records) > 0, err
	}, func(ctx context.Context, _ eventstore.Idempotency) (struct{}, error) {
		return struct{}{}, s.mayUndrop(ctx, call, &in)
	})
	return err
}

// lineOfDropped is the place in the queue of what is to come back or to end.
func lineOfDropped(object ids.ID) string { return "dropped " + object.String() }

func (in *Undrop) check() error {
	if len(in.Targets) > eventstore.MaxRecords {
		return badRequest("%d targets, at most %d are allowed", len(in.Targets), eventstore.MaxRecords)
	}
	for i := range in.Targets {
		t := &in.Targets[i]
		switch t.Kind {
		case catalog.EntityTable, catalog.EntityView, catalog.EntityNamespace:
		default:
			return badRequest("A %s cannot be undropped", t.Kind)
		}
		if slices.ContainsFunc(in.Targets[:i], func(o UndropTarget) bool { return o.Object == t.Object }) {
			return badRequest("The target %s occurs twice", t.Object)
		}
		if t.Name != "" {
			if err := catalog.ValidateName(string(t.Kind), t.Name); err != nil {
				return err
			}
		}
		if len(t.Namespace) > 0 || t.Elsewhere && t.Kind != catalog.EntityNamespace {
			if err := catalog.Namespace(t.Namespace).Validate(); err != nil {
				return err
			}
		}
	}
	return nil
}

func noSuchDropped(kind catalog.Entity, id ids.ID) error {
	switch kind {
	case catalog.EntityNamespace:
		return &catalog.Error{Kind: catalog.NoSuchNamespace, Message: "No dropped namespace that can come back has the id " + id.String()}
	case catalog.EntityView:
		return &catalog.Error{Kind: catalog.NoSuchView, Message: "No dropped view that can come back has the id " + id.String()}
	default:
		return &catalog.Error{Kind: catalog.NoSuchTable, Message: "No dropped table that can come back has the id " + id.String()}
	}
}

// mayUndrop asks for the rights of a repeated request: the warehouse's, and that
// of each object, wherever it stands now.
func (s *Service) mayUndrop(ctx context.Context, call Call, in *Undrop) error {
	u, err := s.undropping(ctx, call, in, nil)
	if err != nil {
		return err
	}
	for i := range in.Targets {
		t := &in.Targets[i]
		f, err := s.resolveObject(ctx, in.Warehouse, t.Object)
		if err != nil {
			return err
		}
		on, found := subject.Object(f, t.Kind, t.Object)
		if !found {
			on = u.subject(u.f, t)
		}
		if err := s.may(ctx, call, on, undropActions[t.Kind], noSuchDropped(t.Kind, t.Object)); err != nil {
			return err
		}
	}
	return nil
}

var undropActions = map[catalog.Entity]authz.Action{
	catalog.EntityTable: authz.TableUndrop, catalog.EntityView: authz.ViewUndrop, catalog.EntityNamespace: authz.NamespaceUndrop,
}

// undropping is one try of an Undrop.
type undropping struct {
	s    *Service
	call Call
	f    *projections.Facts // of the warehouse
	t    *try
	held map[ids.ID]bool   // parents
	made map[string]string // names that the request gives, by their place
}

func (s *Service) undropping(ctx context.Context, call Call, in *Undrop, t *try) (*undropping, error) {
	facts, err := s.resolve(ctx, projections.Query{Warehouse: in.Warehouse})
	if err != nil {
		return nil, err
	}
	u := &undropping{s: s, call: call, f: &facts[0], t: t, held: map[ids.ID]bool{}, made: map[string]string{}}
	if err := s.may(ctx, call, subject.Warehouse(u.f), authz.WarehouseUse, noSuchWarehouse()); err != nil {
		return nil, err
	}
	return u, inWarehouse(u.f)
}

func (s *Service) undrop(ctx context.Context, call Call, in *Undrop, t *try) error {
	u, err := s.undropping(ctx, call, in, t)
	if err != nil || len(in.Targets) == 0 {
		return err
	}
	t.commit = s.newCommit(u.f, s.claim(call, 204, ids.Nil, "", nil))
	for i := range in.Targets {
		target := &in.Targets[i]
		if target.Kind == catalog.EntityNamespace {
			err = u.tree(ctx, target)
		} else {
			err = u.tabular(ctx, target)
		}
		if err != nil {
			t.commit = nil
			return err
		}
	}
	for id := range u.held {
		t.commit.Streams = append(t.commit.Streams, eventstore.Stream{ID: id, Mode: eventstore.Held})
	}
	t.refuse = func(e *eventstore.ConstraintError) error {
		if e.Constraint == projections.TabularUUIDKey {
			return &catalog.Error{Kind: catalog.AlreadyExists, Message: "A table or view with the same UUID exists in the warehouse"}
		}
		return nil // a name that was taken meanwhile is seen now
	}
	return nil
}

// subject asks about something that was dropped from a namespace of which the facts are.
func (u *undropping) subject(f *projections.Facts, t *UndropTarget) authz.Facts {
	switch t.Kind {
	case catalog.EntityNamespace:
		at := *f
		at.Namespace = projections.NamespaceFacts{Exists: true, ID: t.Object}
		if f.Namespace.Exists {
			at.Namespace.Ancestors = append([]ids.ID{f.Namespace.ID}, f.Namespace.Ancestors...)
		}
		return subject.Namespace(&at)
	case catalog.EntityView:
		return subject.ViewOf(f, t.Object)
	default:
		return subject.TableOf(f, t.Object)
	}
}

// from resolves the namespace that a target was dropped from, and asks for the
// right to bring the target back. Without one, it is the warehouse.
func (u *undropping) from(ctx context.Context, t *UndropTarget, namespace ids.ID, name string) (*projections.Facts, error) {
	f := u.f
	if !namespace.IsNil() {
		facts, err := u.s.resolve(ctx, projections.Query{Warehouse: u.f.Warehouse.ID, Object: namespace, Name: name, Details: true})
		if err != nil {
			return nil, err
		}
		f = &facts[0]
	}
	return f, u.s.may(ctx, u.call, u.subject(f, t), undropActions[t.Kind], noSuchDropped(t.Kind, t.Object))
}

// namespaceGone says why something cannot come back to where it was.
func namespaceGone(levels []string) error {
	return &catalog.Error{Kind: catalog.NoSuchNamespace, Message: "Namespace does not exist: " + dotted(levels, "") +
		"; if it was dropped with all that stood in it, undrop that namespace, else name another one to come back to"}
}

func (u *undropping) tabular(ctx context.Context, t *UndropTarget) error {
	d, found, err := u.s.deps.Claims.Dropped(ctx, u.f.Warehouse.ID, t.Object)
	if err != nil {
		return unavailable(err, "The catalog is not available")
	}
	if !found || d.Kind != t.Kind || !d.Expires {
		if _, err := u.from(ctx, t, ids.Nil, ""); err != nil {
			return err
		}
		return noSuchDropped(t.Kind, t.Object)
	}
	name := t.Name
	if name == "" {
		name = d.Name
	}
	to, err := u.from(ctx, t, d.Namespace, name)
	if err != nil {
		return err
	}
	if t.Elsewhere {
		if to, err = u.elsewhere(ctx, t, name); err != nil {
			return err
		}
	} else if !to.Namespace.Exists {
		return namespaceGone(d.Levels)
	}
	at := Identifier{Namespace: to.Namespace.Levels, Name: name}
	if kind, taken := u.made[lineOf(u.f.Warehouse.ID, at.Namespace, at.Name)]; taken || to.Table.Exists {
		if !taken {
			kind = to.Table.Kind
		}
		if t.Kind == catalog.EntityView {
			return viewNameTaken(kind, at)
		}
		return nameTaken(kind, at)
	}
	u.made[lineOf(u.f.Warehouse.ID, at.Namespace, at.Name)] = string(t.Kind)
	record, err := u.s.record(u.call, d.ID, catalog.NewUndropped(d.Kind, catalog.Undropped{
		UUID: d.UUID, MetadataLocation: d.Pointer, From: endedOf(&d).TableName,
		To: catalog.TableName{NamespaceID: to.Namespace.ID, Namespace: to.Namespace.Levels, Name: name},
	}), u.f)
	if err != nil {
		return err
	}
	u.t.commit.Records = append(u.t.commit.Records, record)
	u.t.commit.Streams = append(u.t.commit.Streams, eventstore.Stream{
		ID: d.ID, Mode: eventstore.Advanced, Version: d.Version, Exclusive: true, Dormant: true,
		Pointer: d.Pointer, NextPointer: d.Pointer,
	})
	u.held[to.Namespace.ID] = true
	return nil
}

// elsewhere resolves another namespace that a table or view is to come back to,
// and asks for the right to put it there.
func (u *undropping) elsewhere(ctx context.Context, t *UndropTarget, name string) (*projections.Facts, error) {
	facts, err := u.s.resolve(ctx, projections.Query{Warehouse: u.f.Warehouse.ID, Namespace: t.Namespace, Name: name, Details: true})
	if err != nil {
		return nil, err
	}
	action := authz.NamespaceCreateTable
	if t.Kind == catalog.EntityView {
		action = authz.NamespaceCreateView
	}
	return &facts[0], u.s.mayAddTo(ctx, u.call, &facts[0], t.Namespace, action)
}

func (u *undropping) tree(ctx context.Context, t *UndropTarget) error {
	tree, found, err := u.s.deps.Claims.DroppedTree(ctx, u.f.Warehouse.ID, t.Object)
	if err != nil {
		return unavailable(err, "The catalog is not available")
	}
	if !found {
		if _, err := u.from(ctx, t, ids.Nil, ""); err != nil {
			return err
		}
		return noSuchDropped(t.Kind, t.Object)
	}
	root := &tree.Namespaces[0]
	old := slices.Clone(root.Levels)
	parent, err := u.from(ctx, t, tree.Parents[0], "")
	if err != nil {
		return err
	}
	if t.Elsewhere {
		if parent, err = u.parent(ctx, t); err != nil {
			return err
		}
	} else if len(old) > 1 && !parent.Namespace.Exists {
		return namespaceGone(old[:len(old)-1])
	}
	name := t.Name
	if name == "" {
		name = old[len(old)-1]
	}
	levels := append(slices.Clone(parent.Namespace.Levels), name)
	if err := u.free(ctx, levels); err != nil {
		return err
	}
	hold := u.f.Warehouse.ID
	if parent.Namespace.Exists {
		hold = parent.Namespace.ID
	}
	u.held[hold] = true
	if err := moveTree(&tree, levels, parent); err != nil {
		return err
	}
	members := append(tree.Namespaces, tree.Tabulars...)
	record, err := u.s.record(u.call, tree.Root, &catalog.NamespaceUndropped{From: old, To: levels, Tree: treeOf(members)}, u.f)
	if err != nil {
		return err
	}
	u.t.commit.Records = append(u.t.commit.Records, record)
	u.t.commit.Streams = append(u.t.commit.Streams, u.s.shifted(members, &record, eventstore.Stream{Dormant: true})...)
	return nil
}

// moveTree gives the namespaces of a tree the levels and ancestors that they have
// below a parent, which may be none.
func moveTree(tree *projections.DroppedTree, levels []string, parent *projections.Facts) error {
	depth := len(tree.Namespaces[0].Levels)
	ancestors := make(map[ids.ID][]ids.ID, len(tree.Namespaces))
	for i := range tree.Namespaces {
		n := &tree.Namespaces[i]
		n.Levels = append(slices.Clone(levels), n.Levels[depth:]...)
		switch {
		case i > 0:
			n.Ancestors = append([]ids.ID{tree.Parents[i]}, ancestors[tree.Parents[i]]...)
		case parent.Namespace.Exists:
			n.Ancestors = append([]ids.ID{parent.Namespace.ID}, parent.Namespace.Ancestors...)
		}
		ancestors[n.ID] = n.Ancestors
		if err := catalog.Namespace(n.Levels).Validate(); err != nil {
			return err
		}
	}
	return nil
}

// free refuses the name of a namespace that is taken.
func (u *undropping) free(ctx context.Context, levels []string) error {
	if err := catalog.Namespace(levels).Validate(); err != nil {
		return err
	}
	facts, err := u.s.resolve(ctx, projections.Query{Warehouse: u.f.Warehouse.ID, Namespace: levels})
	if err != nil {
		return err
	}
	line := lineOf(u.f.Warehouse.ID, levels, "")
	if _, taken := u.made[line]; taken || facts[0].Namespace.Exists {
		return namespaceExists(levels)
	}
	u.made[line] = string(catalog.EntityNamespace)
	return nil
}

// parent resolves another parent that a namespace is to come back to, and asks for
// the right to put it there.
func (u *undropping) parent(ctx context.Context, t *UndropTarget) (*projections.Facts, error) {
	if len(t.Namespace) == 0 {
		return u.f, u.s.may(ctx, u.call, subject.Warehouse(u.f), authz.WarehouseCreateNamespace, noSuchWarehouse())
	}
	facts, err := u.s.resolve(ctx, projections.Query{Warehouse: u.f.Warehouse.ID, Namespace: t.Namespace, Details: true})
	if err != nil {
		return nil, err
	}
	return &facts[0], u.s.mayAddTo(ctx, u.call, &facts[0], t.Namespace, authz.NamespaceCreateNamespace)
}
