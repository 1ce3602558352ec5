package commands

import (
	"context"
	"fmt"
	"time"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/documents"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
)

// DropTable ends a table's life. No file is deleted here, and the document is
// not read: a table whose metadata file is gone can be dropped. Without purge
// its locations are free at once; with purge they stay claimed until a job has
// deleted the files (design 4).
func (s *Service) DropTable(ctx context.Context, call Call, in DropTable) error {
	return s.drop(ctx, call, &dropping{
		warehouse: in.Warehouse, at: in.Table, purge: in.PurgeRequested, force: in.Force,
		may: func(ctx context.Context, f *projections.Facts, was ids.ID) error {
			return s.table(ctx, call, f, in.Table, authz.TableDrop, was)
		},
	})
}

// dropping is the drop of a table or view.
type dropping struct {
	warehouse    ids.ID
	at           Identifier
	purge, force bool
	// may asks for the right to drop what stands, or with was stood, there, and
	// that it is there.
	may func(ctx context.Context, f *projections.Facts, was ids.ID) error
}

func (s *Service) drop(ctx context.Context, call Call, d *dropping) error {
	line := lineOf(d.warehouse, d.at.Namespace, d.at.Name)
	_, err := once(ctx, s, call, func(ctx context.Context) (_ struct{}, appended bool, err error) {
		receipt, err := s.attempt(ctx, []string{line}, func(ctx context.Context, t *try) error {
			return s.tryDrop(ctx, call, d, t)
		})
		return struct{}{}, len(receipt.Records) > 0, err
	}, func(ctx context.Context, stored eventstore.Idempotency) (struct{}, error) {
		_, err := s.droppable(ctx, d, stored.Object)
		return struct{}{}, err
	})
	return err
}

func (s *Service) droppable(ctx context.Context, d *dropping, was ids.ID) (*projections.Facts, error) {
	facts, err := s.resolve(ctx, queryOf(d.warehouse, d.at))
	if err != nil {
		return nil, err
	}
	f := &facts[0]
	return f, d.may(ctx, f, was)
}

func (s *Service) tryDrop(ctx context.Context, call Call, d *dropping, t *try) error {
	f, err := s.droppable(ctx, d, ids.Nil)
	if err != nil {
		return err
	}
	if f.Table.Protected && !d.force {
		return tabularProtected(d.at)
	}
	end := ending{purge: d.purge}
	var streams []eventstore.Stream
	if !d.force {
		var profile eventstore.Stream
		end.expires, profile = s.expiry(f)
		streams = append(streams, profile)
	}
	if end.expires != nil {
		streams = append(streams, eventstore.Stream{ID: f.Namespace.ID, Mode: eventstore.Held})
	}
	record, stream, err := s.endingOf(ctx, call, f, end)
	if err != nil {
		return err
	}
	t.commit = s.newCommit(f, s.claim(call, 204, f.Table.ID, f.Table.Pointer, nil))
	t.commit.Streams = append(streams, stream)
	t.commit.Records = []eventstore.Record{record}
	return nil
}

// ending is what a drop fixes for its object.
type ending struct {
	purge   bool
	expires *int64 // until when it can come back, milliseconds since 1970; nil when it can't
}

// pending reports whether the object keeps its claims.
func (e ending) pending() bool { return e.purge || e.expires != nil }

// expiry is until when something that is dropped now can come back, nil where the
// warehouse drops for good. The stream makes sure that the warehouse says so still
// when the commit comes: who changes it changes what is dropped afterwards.
func (s *Service) expiry(f *projections.Facts) (*int64, eventstore.Stream) {
	profile := eventstore.Stream{ID: f.Warehouse.ID, Mode: eventstore.Asserted, Version: f.Warehouse.Version}
	if f.Warehouse.ExpirationSeconds == nil {
		return nil, profile
	}
	until := s.now().Add(time.Duration(*f.Warehouse.ExpirationSeconds) * time.Second).UnixMilli()
	return &until, profile
}

// endingOf is how the table or view of resolved facts ends.
func (s *Service) endingOf(ctx context.Context, call Call, f *projections.Facts, end ending) (_ eventstore.Record, _ eventstore.Stream, err error) {
	m := projections.Member{
		Kind: catalog.Entity(f.Table.Kind), ID: f.Table.ID, Namespace: f.Namespace.ID, Levels: f.Namespace.Levels, Name: f.Table.Name,
		Version: f.Table.Version, Pointer: f.Table.Pointer,
	}
	if m.UUID, err = ids.Parse(f.Table.TableUUID); err != nil {
		return eventstore.Record{}, eventstore.Stream{}, err
	}
	if !end.pending() {
		if m.Claims, err = s.claims(ctx, f, documents.New(f.Table.ID, f.Table.Mark, f.Table.Pointer, nil)); err != nil {
			return eventstore.Record{}, eventstore.Stream{}, err
		}
	}
	return s.ending(call, f, &m, end)
}

// ending is how a table or a view ends: its event, and what becomes of its
// guard. While it can come back, or until a job has deleted its files, it keeps its
// claims and stays dormant; else the claims are free and the stream is closed at
// once.
func (s *Service) ending(call Call, f *projections.Facts, m *projections.Member, end ending) (eventstore.Record, eventstore.Stream, error) {
	name := catalog.TableName{NamespaceID: m.Namespace, Namespace: m.Levels, Name: m.Name}
	var released []string
	if !end.pending() {
		released = m.Claims
	}
	var event catalog.Event
	switch m.Kind {
	case catalog.EntityTable:
		event = &catalog.TableDropped{TableName: name, TableUUID: m.UUID, MetadataLocation: m.Pointer, PurgeRequested: end.purge, ExpiresAtMS: end.expires, ClaimsReleased: released}
	case catalog.EntityView:
		event = &catalog.ViewDropped{ViewName: name, ViewUUID: m.UUID, MetadataLocation: m.Pointer, PurgeRequested: end.purge, ExpiresAtMS: end.expires, ClaimsReleased: released}
	default:
		return eventstore.Record{}, eventstore.Stream{}, fmt.Errorf("nobody knows how a %s ends", m.Kind)
	}
	record, err := s.record(call, m.ID, event, f)
	return record, eventstore.Stream{
		ID: m.ID, Mode: eventstore.Advanced, Version: m.Version, Exclusive: true, Close: !end.pending(), NextDormant: end.pending(),
		Pointer: m.Pointer, NextPointer: m.Pointer,
	}, err
}
