package commands

import (
	"context"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/iceberg"
	"github.com/icecore-catalog/icecore/internal/documents"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/storage"
)

// RegisterTable adopts an existing metadata file as a table; no file is
// written. The file is read only if it lies below the warehouse's root, and
// what the document names elsewhere is never looked at (law 5). The table
// claims the document's locations.
//
// A location that a dropped table or view still holds is taken over from it, if
// the caller may drop that one and its purge has not started: it ends as
// superseded, in the same commit, and none of its files is deleted (design 4).
//
// With Overwrite a living table of that name takes over the file's state: it
// keeps its id and rights, its uuid may change, its old claims are released and
// none of its files is deleted. That needs the right to drop it, too.
func (s *Service) RegisterTable(ctx context.Context, call Call, in RegisterTable) (Table, error) {
	if err := catalog.ValidateName("table", in.Name); err != nil {
		return Table{}, err
	}
	if !iceberg.IsMetadataFile(in.MetadataLocation) {
		return Table{}, badRequest("Invalid metadata location: %s is not named like a metadata file", in.MetadataLocation)
	}
	r := &registration{in: in, table: Identifier{Namespace: in.Namespace, Name: in.Name}}
	r.path = lineOf(in.Warehouse, in.Namespace, in.Name)
	return once(ctx, s, call, func(ctx context.Context) (Table, bool, error) {
		receipt, err := s.attempt(ctx, []string{r.path}, func(ctx context.Context, t *try) error {
			return s.registerTable(ctx, call, r, t)
		})
		if err != nil {
			return Table{}, false, err
		}
		s.deps.Documents.Keep(r.path, r.made)
		return answer(r.f, r.made), len(receipt.Records) > 0, nil
	}, func(ctx context.Context, stored eventstore.Idempotency) (Table, error) {
		return s.replayTable(ctx, in.Warehouse, r.table, r.path, stored, func(f *projections.Facts) error {
			return s.mayCreateIn(ctx, call, f, in.Namespace)
		})
	})
}

// registration is one RegisterTable over its tries.
type registration struct {
	in    RegisterTable
	table Identifier
	path  string
	f     *projections.Facts
	made  *documents.Document
}

func (s *Service) registerTable(ctx context.Context, call Call, r *registration, t *try) error {
	f, _, err := s.resolveTable(ctx, r.in.Warehouse, r.table, "")
	if err != nil {
		return err
	}
	r.f = f
	if err := s.mayCreateIn(ctx, call, f, r.in.Namespace); err != nil {
		return err
	}
	overwrites := f.Table.Exists
	if overwrites {
		if !r.in.Overwrite || !isTable(f) {
			return nameTaken(f.Table.Kind, r.table)
		}
		if err := s.may(ctx, call, subject.Table(f), authz.TableDrop, nameTaken(f.Table.Kind, r.table)); err != nil {
			return err
		}
		if f.Table.Protected {
			return tabularProtected(r.table)
		}
	}
	store, err := s.store(ctx, f)
	if err != nil {
		return err
	}
	m, pointer, err := s.readForeign(ctx, store, r.in.MetadataLocation)
	if err != nil {
		return err
	}
	if err := allowFormat(f, nil, m); err != nil {
		return err
	}
	claims, err := claimsOf(ctx, store, m)
	if err != nil {
		return err
	}
	return s.adopt(ctx, call, r, t, m, pointer, claims)
}

// readForeign reads a metadata file that a client named.
func (s *Service) readForeign(ctx context.Context, store storage.Store, location string) (*iceberg.Metadata, string, error) {
	l, err := store.Locate(location)
	if err != nil {
		return nil, "", fromStorage(ctx, err)
	}
	m, err := s.deps.Documents.Read(ctx, store, l.String())
	if err != nil {
		return nil, "", unreadable(ctx, location, err)
	}
	return m, l.String(), nil
}

// adopt makes the commit by which the table takes over the document.
func (s *Service) adopt(ctx context.Context, call Call, r *registration, t *try, m *iceberg.Metadata, pointer string, claims []string) error {
	f := r.f
	uuid, err := tableUUID(m)
	if err != nil {
		return err
	}
	event := &catalog.TableRegistered{
		TableName: catalog.TableName{NamespaceID: f.Namespace.ID, Namespace: f.Namespace.Levels, Name: r.in.Name},
		TableUUID: uuid, Location: m.Location(), MetadataFile: metadataFile(pointer, m), ClaimsAdded: claims,
	}
	id := s.deps.IDs.New()
	stream := eventstore.Stream{ID: id, Type: string(catalog.EntityTable), Mode: eventstore.Created, NextPointer: pointer}
	var streams []eventstore.Stream
	if f.Table.Exists {
		id = f.Table.ID
		had, err := s.claims(ctx, f, documents.New(id, f.Table.Mark, f.Table.Pointer, nil))
		if err != nil {
			return err
		}
		event.TableName = nameOf(f)
		event.Overwrites, event.Previous = true, f.Table.Pointer
		// What it keeps is claimed anew: the state that comes may have been at home
		// there before, with more than it names.
		event.ClaimsRemoved = had
		stream = eventstore.Stream{
			ID: id, Mode: eventstore.Advanced, Version: f.Table.Version, Exclusive: true,
			Pointer: f.Table.Pointer, NextPointer: pointer,
		}
	} else {
		streams = append(streams, eventstore.Stream{ID: f.Namespace.ID, Mode: eventstore.Held})
	}
	record, err := s.record(call, id, event, f)
	if err != nil {
		return err
	}
	ended, err := s.supersede(ctx, call, f, event.ClaimsAdded, id)
	if err != nil {
		return err
	}
	t.refuse = func(e *eventstore.ConstraintError) error {
		switch e.Constraint {
		case projections.LocationClaimOverlap:
			return locationTaken()
		case projections.TabularUUIDKey:
			return uuidTaken()
		case projections.CleanUpFile:
			return beingDeleted(pointer)
		}
		return nil
	}
	t.commit = s.newCommit(f, s.claim(call, 200, id, pointer, nil))
	t.commit.Streams = append(streams, stream)
	ended.join(t.commit)
	t.commit.Records = append(t.commit.Records, record)
	r.made = documents.Of(id, record.ID, pointer, m)
	r.made.SetClaims(claims)
	return nil
}
