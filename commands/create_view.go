package commands

import (
	"context"
	"encoding/json"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/iceberg"
	"github.com/icecore-catalog/icecore/internal/documents"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/storage"
)

// CreateView creates a view from a CreateViewRequest. No table and no view may
// stand at its name.
func (s *Service) CreateView(ctx context.Context, call Call, in CreateView) (View, error) {
	request, err := iceberg.DecodeCreateViewRequest(in.Request)
	if err != nil {
		return View{}, fromIceberg(err)
	}
	if err := catalog.ValidateName("view", request.Name); err != nil {
		return View{}, err
	}
	c := &viewCreation{in: in, request: request, view: Identifier{Namespace: in.Namespace, Name: request.Name}}
	path := lineOf(in.Warehouse, in.Namespace, request.Name)
	return once(ctx, s, call, func(ctx context.Context) (View, bool, error) {
		var made *documents.Document
		receipt, err := s.attempt(ctx, []string{path}, func(ctx context.Context, t *try) error {
			made, err = s.createView(ctx, call, c, t)
			return err
		})
		if err != nil {
			return View{}, false, err
		}
		s.deps.Documents.Keep(path, made)
		return viewAnswer(made), len(receipt.Records) > 0, nil
	}, func(ctx context.Context, stored eventstore.Idempotency) (View, error) {
		return s.replayView(ctx, in.Warehouse, c.view, stored, func(f *projections.Facts) error {
			return s.mayCreateViewIn(ctx, call, f, in.Namespace)
		})
	})
}

// viewCreation is one CreateView over its tries.
type viewCreation struct {
	in      CreateView
	request iceberg.CreateViewRequest
	view    Identifier
}

func (s *Service) createView(ctx context.Context, call Call, c *viewCreation, t *try) (*documents.Document, error) {
	facts, err := s.resolve(ctx, queryOf(c.in.Warehouse, c.view))
	if err != nil {
		return nil, err
	}
	f := &facts[0]
	if err := s.mayCreateViewIn(ctx, call, f, c.in.Namespace); err != nil {
		return nil, err
	}
	if f.Table.Exists {
		return nil, viewNameTaken(f.Table.Kind, c.view)
	}
	store, err := s.store(ctx, f)
	if err != nil {
		return nil, err
	}
	now := s.deps.Clock.Now().UnixMilli()
	v, raw, err := s.newView(ctx, c, f, store, now)
	if err != nil {
		return nil, err
	}
	var vacant []string
	if v.claims, vacant, err = s.claimed(ctx, store, v.meta, c.request.Location != ""); err != nil {
		return nil, err
	}
	if err := s.putView(ctx, t, store, v, ""); err != nil {
		return nil, err
	}
	return s.openView(call, f, v, &catalog.ViewCreated{
		ViewName: catalog.ViewName{NamespaceID: f.Namespace.ID, Namespace: f.Namespace.Levels, Name: c.request.Name},
		ViewUUID: v.id, Location: v.meta.Location(), ViewFile: v.file(), NowMS: now, Request: raw, Claims: v.claims, Vacant: vacant,
	}, t)
}

// newView builds the first document; its uuid is the object's id too (design
// 3.1). The event keeps the request with the location in the spelling that the
// document has.
func (s *Service) newView(ctx context.Context, c *viewCreation, f *projections.Facts, store storage.Store, now int64) (*viewState, json.RawMessage, error) {
	request, raw := c.request, c.in.Request
	if request.Location != "" {
		canonical, err := locate(ctx, store, request.Location)
		if err != nil {
			return nil, nil, err
		}
		if canonical != request.Location {
			request.Location = canonical
			if raw, err = withLocation(raw, canonical); err != nil {
				return nil, nil, err
			}
		}
	}
	uuid := s.deps.IDs.New()
	m, err := iceberg.NewView(request, iceberg.BuildContext{
		NowMS: now, NewUUID: uuid.String, DefaultLocation: defaultLocation(store.Profile(), f, request.Name, uuid),
	})
	if err != nil {
		return nil, nil, fromIceberg(err)
	}
	return &viewState{id: uuid, meta: m}, raw, nil
}
