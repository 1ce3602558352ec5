package queries

import (
	"context"
	"slices"
	"strings"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/internal/documents"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/storage"
)

// LoadTable returns the current state of a table: one statement, shared with
// whoever waits at the same moment, and the stored bytes of its document. The
// rights are decided before the caller's tags are compared, and a match touches
// no document.
func (s *Service) LoadTable(ctx context.Context, actor authz.Actor, warehouse ids.ID, table Identifier, options LoadOptions) (*Table, error) {
	snapshots := options.Snapshots
	switch snapshots {
	case "":
		snapshots = "all"
	case "all", "refs":
	default:
		return nil, &catalog.Error{Kind: catalog.BadRequest, Message: "Invalid snapshots: it must be all or refs"}
	}
	path := pathOf(warehouse, table)
	hint := s.deps.Documents.Last(path)
	query := tableQuery(warehouse, table)
	if hint != nil {
		query.Hint = hint.Mark
	}
	f, err := s.resolveTable(ctx, actor, query, table, authz.TableGetMetadata)
	if err != nil {
		return nil, err
	}
	answer := &Table{ID: f.Table.ID, Mark: f.Table.Mark, Pointer: f.Table.Pointer, Config: map[string]string{}}
	if !f.Table.Fresh && hint != nil {
		answer.Pointer = hint.Pointer
	}
	answer.ETag = documents.ETag(answer.Pointer, documents.Variant{Snapshots: snapshots, Warehouse: f.Warehouse.Mark})
	if matches(options.IfNoneMatch, answer.ETag) {
		// A client that keeps what it has would else be the only one not to hear
		// that the file is gone; the Java client sends a tag with each load.
		if err := s.fileIsThere(ctx, f, answer.Pointer); err != nil {
			return nil, err
		}
		answer.NotModified = true
		return answer, nil
	}
	d, err := s.deps.Documents.Current(ctx, path, f, hint)
	if err != nil {
		return nil, err
	}
	if err := s.fileIsThere(ctx, f, d.Pointer); err != nil {
		return nil, err
	}
	answer.Document, err = documentOf(d, snapshots, options.AcceptGzip)
	return answer, err
}

// resolveTable finds a table on which the caller has a right.
func (s *Service) resolveTable(ctx context.Context, actor authz.Actor, query projections.Query, table Identifier, action authz.Action) (*projections.Facts, error) {
	f, err := s.resolve(ctx, query)
	if err != nil {
		return nil, err
	}
	is := f.Table.Exists && f.Table.Kind == string(catalog.EntityTable)
	on := subject.Table(f)
	if !is {
		on.Object = ids.Nil
	}
	missing := noSuchTable(table)
	if err := authz.Check(ctx, s.deps.Authorizer, actor, on, action, missing); err != nil {
		return nil, err
	}
	if err := inWarehouse(f); err != nil {
		return nil, err
	}
	if !is {
		return nil, missing
	}
	return f, nil
}

// fileIsThere refuses to serve a document whose file was deleted behind the
// server, where it costs a system call and no request: engines read the file
// too, and the compatibility kit looks for it (iceberg-rest 6.3).
func (s *Service) fileIsThere(ctx context.Context, f *projections.Facts, pointer string) error {
	store, err := s.deps.Documents.Of(ctx, &f.Warehouse)
	if err != nil {
		return documents.Failure(ctx, pointer, err)
	}
	if there, cheap := storage.Glance(store, pointer); there || !cheap {
		return nil
	}
	if _, err := store.Stat(ctx, pointer); err != nil {
		return documents.Failure(ctx, pointer, err)
	}
	return nil
}

func documentOf(d *documents.Document, snapshots string, gzip bool) (out Document, err error) {
	if snapshots == "refs" {
		if d, err = d.Refs(); err != nil {
			return Document{}, err
		}
	}
	if gzip {
		out.packed, err = d.Packed()
		return out, err
	}
	out.plain = d.Plain()
	return out, nil
}

// TableExists returns nil if the table exists and the caller may see it, else
// the error that a load would give. No document is looked at.
func (s *Service) TableExists(ctx context.Context, actor authz.Actor, warehouse ids.ID, table Identifier) error {
	query := tableQuery(warehouse, table)
	if hint := s.deps.Documents.Last(pathOf(warehouse, table)); hint != nil {
		query.Hint = hint.Mark // leaves the document out of the answer
	}
	_, err := s.resolveTable(ctx, actor, query, table, authz.TableGetMetadata)
	return err
}

// tableQuery asks for a table by its path; a path that cannot exist asks for
// the warehouse alone.
func tableQuery(warehouse ids.ID, t Identifier) projections.Query {
	if catalog.Namespace(t.Namespace).Validate() != nil || !catalog.Addressable(t.Name) {
		return projections.Query{Warehouse: warehouse}
	}
	return projections.Query{Warehouse: warehouse, Namespace: t.Namespace, Name: t.Name}
}

// pathOf is the place of a table in the library.
func pathOf(warehouse ids.ID, t Identifier) string {
	return documents.Path(warehouse, t.Namespace, t.Name)
}

// matches compares entity tags weakly (RFC 9110, section 13.1.2).
func matches(tags []string, etag string) bool {
	return slices.ContainsFunc(tags, func(tag string) bool {
		return tag == "*" || strings.TrimPrefix(tag, "W/") == strings.TrimPrefix(etag, "W/")
	})
}
