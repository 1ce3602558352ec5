package commands

import (
	"context"
	"time"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// SetProtection is POST …/{namespace,table,view}/{id}/protection.
type SetProtection struct {
	Warehouse ids.ID
	Kind      catalog.Entity // namespace, table or view
	Object    ids.ID         // of a table or view its table-uuid is as good
	Protected bool
}

// Protection is the answer to SetProtection.
type Protection struct {
	Protected bool
	UpdatedAt time.Time // when the object was last changed
}

var setProtectionActions = map[catalog.Entity]authz.Action{
	catalog.EntityNamespace: authz.NamespaceSetProtection,
	catalog.EntityTable:     authz.TableSetProtection,
	catalog.EntityView:      authz.ViewSetProtection,
}

// noSuchObject names the object as the caller did.
func noSuchObject(kind catalog.Entity, id ids.ID) error {
	switch kind {
	case catalog.EntityNamespace:
		return &catalog.Error{Kind: catalog.NoSuchNamespace, Message: "Namespace does not exist: " + id.String()}
	case catalog.EntityView:
		return &catalog.Error{Kind: catalog.NoSuchView, Message: "View does not exist: " + id.String()}
	default:
		return &catalog.Error{Kind: catalog.NoSuchTable, Message: "Table does not exist: " + id.String()}
	}
}

// SetProtection says whether dropping a namespace, a table or a view needs
// force. Nothing else is refused to what is protected.
func (s *Service) SetProtection(ctx context.Context, call Call, in SetProtection) (Protection, error) {
	return once(ctx, s, call, func(ctx context.Context) (answer Protection, appended bool, err error) {
		receipt, err := s.attempt(ctx, []string{"object " + in.Object.String()}, func(ctx context.Context, t *try) error {
			answer, err = s.setProtection(ctx, call, &in, t)
			return err
		})
		return answer, len(receipt.Records) > 0, err
	}, func(ctx context.Context, stored eventstore.Idempotency) (Protection, error) {
		f, object, err := s.protectable(ctx, call, &in, stored.Object)
		if err != nil {
			return Protection{}, err
		}
		return protectionOf(f, in.Kind, object), nil
	})
}

// protectable resolves the object and asks for the right to protect it. With
// was, it need not exist any more: the right is then asked on that object.
func (s *Service) protectable(ctx context.Context, call Call, in *SetProtection, was ids.ID) (*projections.Facts, ids.ID, error) {
	object := in.Object
	f, err := s.resolveObject(ctx, in.Warehouse, object)
	if err != nil {
		return nil, ids.Nil, err
	}
	on, found := subject.Object(f, in.Kind, object)
	if !found && in.Kind != catalog.EntityNamespace {
		if object, err = s.deps.Details.TabularByUUID(ctx, in.Warehouse, in.Object); err != nil {
			return nil, ids.Nil, unavailable(err, "The catalog is not available")
		}
		if !object.IsNil() {
			if f, err = s.resolveObject(ctx, in.Warehouse, object); err != nil {
				return nil, ids.Nil, err
			}
			on, found = subject.Object(f, in.Kind, object)
		}
	}
	if !found {
		on.Object = was
	}
	missing := noSuchObject(in.Kind, in.Object)
	if err := s.may(ctx, call, on, setProtectionActions[in.Kind], missing); err != nil {
		return nil, ids.Nil, err
	}
	if err := inWarehouse(f); err != nil {
		return nil, ids.Nil, err
	}
	if !found && was.IsNil() {
		return nil, ids.Nil, missing
	}
	return f, object, nil
}

func (s *Service) resolveObject(ctx context.Context, warehouse, object ids.ID) (*projections.Facts, error) {
	facts, err := s.resolve(ctx, projections.Query{Warehouse: warehouse, Object: object, Details: true})
	if err != nil {
		return nil, err
	}
	return &facts[0], nil
}

// protectionOf is an object's protection as it stands.
func protectionOf(f *projections.Facts, kind catalog.Entity, object ids.ID) Protection {
	p, mark := Protection{Protected: f.Table.Protected}, f.Table.Mark
	if kind == catalog.EntityNamespace {
		p.Protected, mark = f.Namespace.Protected, f.Namespace.Mark
	}
	p.UpdatedAt, _ = mark.Time()
	return p
}

func (s *Service) setProtection(ctx context.Context, call Call, in *SetProtection, t *try) (Protection, error) {
	f, object, err := s.protectable(ctx, call, in, ids.Nil)
	if err != nil {
		return Protection{}, err
	}
	p := protectionOf(f, in.Kind, object)
	if p.Protected == in.Protected {
		return p, nil
	}
	stream := eventstore.Stream{ID: object, Mode: eventstore.Advanced, Version: f.Table.Version, Pointer: f.Table.Pointer, NextPointer: f.Table.Pointer}
	var event catalog.Event
	switch in.Kind {
	case catalog.EntityNamespace:
		stream.Version, stream.Pointer, stream.NextPointer = f.Namespace.Version, "", ""
		event = &catalog.NamespaceProtectionUpdated{Namespace: f.Namespace.Levels, Protected: in.Protected}
	case catalog.EntityView:
		event = &catalog.ViewProtectionUpdated{TabularProtection: catalog.TabularProtection{TableName: nameOf(f), Protected: in.Protected}}
	default:
		event = &catalog.TableProtectionUpdated{TabularProtection: catalog.TabularProtection{TableName: nameOf(f), Protected: in.Protected}}
	}
	record, err := s.record(call, object, event, f)
	if err != nil {
		return Protection{}, err
	}
	t.commit = s.newCommit(f, s.claim(call, 200, object, "", nil))
	t.commit.Streams = []eventstore.Stream{stream}
	t.commit.Records = []eventstore.Record{record}
	p.Protected = in.Protected
	p.UpdatedAt, _ = record.ID.Time()
	return p, nil
}
