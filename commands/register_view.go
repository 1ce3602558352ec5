package commands

import (
	"context"
	"errors"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/iceberg"
	"github.com/icecore-catalog/icecore/internal/documents"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/storage"
)

// RegisterView adopts an existing metadata file as a view; no file is written.
// The file is read only if it lies below the warehouse's root (law 5). The view
// claims the document's locations.
func (s *Service) RegisterView(ctx context.Context, call Call, in RegisterView) (View, error) {
	if err := catalog.ValidateName("view", in.Name); err != nil {
		return View{}, err
	}
	if !iceberg.IsMetadataFile(in.MetadataLocation) {
		return View{}, badRequest("Invalid metadata location: %s is not named like a metadata file", in.MetadataLocation)
	}
	view := Identifier{Namespace: in.Namespace, Name: in.Name}
	path := lineOf(in.Warehouse, in.Namespace, in.Name)
	return once(ctx, s, call, func(ctx context.Context) (_ View, _ bool, err error) {
		var made *documents.Document
		receipt, err := s.attempt(ctx, []string{path}, func(ctx context.Context, t *try) error {
			made, err = s.registerView(ctx, call, &in, view, t)
			return err
		})
		if err != nil {
			return View{}, false, err
		}
		s.deps.Documents.Keep(path, made)
		return viewAnswer(made), len(receipt.Records) > 0, nil
	}, func(ctx context.Context, stored eventstore.Idempotency) (View, error) {
		return s.replayView(ctx, in.Warehouse, view, stored, func(f *projections.Facts) error {
			return s.mayCreateViewIn(ctx, call, f, in.Namespace)
		})
	})
}

func (s *Service) registerView(ctx context.Context, call Call, in *RegisterView, view Identifier, t *try) (*documents.Document, error) {
	facts, err := s.resolve(ctx, queryOf(in.Warehouse, view))
	if err != nil {
		return nil, err
	}
	f := &facts[0]
	if err := s.mayCreateViewIn(ctx, call, f, in.Namespace); err != nil {
		return nil, err
	}
	if f.Table.Exists {
		return nil, viewNameTaken(f.Table.Kind, view)
	}
	store, err := s.store(ctx, f)
	if err != nil {
		return nil, err
	}
	l, err := store.Locate(in.MetadataLocation)
	if err != nil {
		return nil, fromStorage(ctx, err)
	}
	v := &viewState{id: s.deps.IDs.New(), pointer: l.String()}
	if v.meta, err = s.readView(ctx, store, v.pointer); err != nil {
		return nil, unreadable(ctx, in.MetadataLocation, err)
	}
	if v.claims, err = claimsOf(ctx, store, v.meta); err != nil {
		return nil, err
	}
	uuid, err := v.uuid()
	if err != nil {
		return nil, err
	}
	ended, err := s.supersede(ctx, call, f, v.claims, v.id)
	if err != nil {
		return nil, err
	}
	doc, err := s.openView(call, f, v, &catalog.ViewRegistered{
		ViewName: catalog.ViewName{NamespaceID: f.Namespace.ID, Namespace: f.Namespace.Levels, Name: in.Name},
		ViewUUID: uuid, Location: v.meta.Location(), ViewFile: v.file(), Claims: v.claims,
	}, t)
	if err != nil {
		return nil, err
	}
	ended.join(t.commit)
	return doc, nil
}

// unreadable gives the failure to read a metadata file that a client named its
// status.
func unreadable(ctx context.Context, location string, err error) error {
	var broken *iceberg.Error
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return documents.Missing(location)
	case errors.As(err, &broken):
		return fromIceberg(err)
	case errors.Is(err, storage.ErrTooLarge):
		return badRequest("The metadata file is too large: %s", location)
	default:
		return fromStorage(ctx, err)
	}
}
