package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/iceberg"
	"github.com/icecore-catalog/icecore/internal/documents"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/storage"
)

// CreateTable creates a table from a CreateTableRequest. A staged create
// computes the same and keeps nothing but an empty folder: the name is not
// reserved, and the commit that follows is judged by itself; but an overlapping
// location is refused now, before the client writes its data there.
func (s *Service) CreateTable(ctx context.Context, call Call, in CreateTable) (Table, error) {
	request, err := iceberg.DecodeCreateRequest(in.Request)
	if err != nil {
		return Table{}, fromIceberg(err)
	}
	if err := catalog.ValidateName("table", request.Name); err != nil {
		return Table{}, err
	}
	c := &creation{in: in, request: request, table: Identifier{Namespace: in.Namespace, Name: request.Name}}
	c.path = lineOf(in.Warehouse, in.Namespace, request.Name)
	return once(ctx, s, call, func(ctx context.Context) (answer Table, appended bool, err error) {
		receipt, err := s.attempt(ctx, []string{c.path}, func(ctx context.Context, t *try) error {
			answer, err = s.createTable(ctx, call, c, t)
			return err
		})
		if err != nil {
			return Table{}, false, err
		}
		if c.made != nil {
			s.deps.Documents.Keep(c.path, c.made)
		}
		return answer, len(receipt.Records) > 0, nil
	}, func(ctx context.Context, stored eventstore.Idempotency) (Table, error) {
		return s.replayTable(ctx, in.Warehouse, c.table, c.path, stored, func(f *projections.Facts) error {
			return s.mayCreateIn(ctx, call, f, in.Namespace)
		})
	})
}

// creation is one CreateTable over its tries.
type creation struct {
	in      CreateTable
	request iceberg.CreateRequest
	table   Identifier
	path    string
	made    *documents.Document // of the last try, unless staged
}

func (s *Service) createTable(ctx context.Context, call Call, c *creation, t *try) (Table, error) {
	f, _, err := s.resolveTable(ctx, c.in.Warehouse, c.table, c.path)
	if err != nil {
		return Table{}, err
	}
	if err := s.mayCreateIn(ctx, call, f, c.in.Namespace); err != nil {
		return Table{}, err
	}
	if f.Table.Exists {
		return Table{}, nameTaken(f.Table.Kind, c.table)
	}
	store, err := s.store(ctx, f)
	if err != nil {
		return Table{}, err
	}
	next, uuid, now, raw, err := s.newTable(ctx, c, f, store)
	if err != nil {
		return Table{}, err
	}
	claims, vacant, err := s.claimed(ctx, store, next, c.request.Staged || c.request.Location != "")
	if err != nil {
		return Table{}, err
	}
	if c.request.Staged {
		// DuckDB writes the first manifests of a CREATE TABLE … AS itself, and on
		// local files into a folder that it takes for granted.
		if err := storage.MakeFolder(ctx, scope(store, claims), next.MetadataDir()); err != nil {
			return Table{}, fromStorage(ctx, err)
		}
		return Table{ID: uuid, Document: next.Bytes(), Config: map[string]string{}}, nil
	}
	pointer, err := s.nextFile(ctx, store, next, uuid, "")
	if err != nil {
		return Table{}, err
	}
	file, _ := iceberg.EncodeFile(next)
	if err := t.put(ctx, scope(store, claims), pointer, file); err != nil {
		return Table{}, err
	}
	id := uuid // equal for tables that we create (design 3.1)
	record, err := s.record(call, id, &catalog.TableCreated{
		TableName: catalog.TableName{NamespaceID: f.Namespace.ID, Namespace: f.Namespace.Levels, Name: c.request.Name},
		TableUUID: uuid, Location: next.Location(), MetadataFile: metadataFile(pointer, next), NowMS: now,
		Request: raw, Claims: claims, Vacant: vacant,
	}, f)
	if err != nil {
		return Table{}, err
	}
	t.refuse = func(e *eventstore.ConstraintError) error {
		switch e.Constraint {
		case projections.LocationClaimOverlap:
			return locationTaken()
		case projections.TabularUUIDKey:
			return uuidTaken()
		}
		return nil // decided anew, which finds the name taken or the namespace gone
	}
	t.commit = s.newCommit(f, s.claim(call, 200, id, pointer, nil))
	t.commit.Streams = []eventstore.Stream{
		{ID: f.Namespace.ID, Mode: eventstore.Held},
		{ID: id, Type: string(catalog.EntityTable), Mode: eventstore.Created, NextPointer: pointer},
	}
	t.commit.Records = []eventstore.Record{record}
	c.made = documents.Of(id, record.ID, pointer, next)
	c.made.SetClaims(claims)
	return answer(f, c.made), nil
}

// newTable builds the first document. The event keeps the request with the
// location in the spelling that the document has.
func (s *Service) newTable(ctx context.Context, c *creation, f *projections.Facts, store storage.Store) (m *iceberg.Metadata, uuid ids.ID, now int64, raw json.RawMessage, err error) {
	request, raw := c.request, c.in.Request
	if request.Location != "" {
		canonical, err := locate(ctx, store, request.Location)
		if err != nil {
			return nil, ids.Nil, 0, nil, err
		}
		if canonical != request.Location {
			request.Location = canonical
			if raw, err = withLocation(raw, canonical); err != nil {
				return nil, ids.Nil, 0, nil, err
			}
		}
	}
	uuid = s.deps.IDs.New()
	now = s.deps.Clock.Now().UnixMilli()
	m, err = iceberg.NewTable(request, iceberg.BuildContext{
		NowMS: now, NewUUID: uuid.String, DefaultFormatVersion: f.Warehouse.DefaultFormat,
		DefaultLocation: defaultLocation(store.Profile(), f, request.Name, uuid),
	})
	if err != nil {
		return nil, ids.Nil, 0, nil, fromIceberg(err)
	}
	return m, uuid, now, raw, allowFormat(f, nil, m)
}

// withLocation replaces the member "location" of a JSON object and leaves all
// other bytes as they are.
func withLocation(object []byte, location string) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil { // the opening brace
		return nil, err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		if name != "location" {
			continue
		}
		text, err := marshal(location)
		if err != nil {
			return nil, err
		}
		end := d.InputOffset()
		start := end - int64(len(value))
		return bytes.Join([][]byte{object[:start], text, object[end:]}, nil), nil
	}
	return nil, errors.New("the request has no location")
}
