package commands

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/icecore-catalog/icecore/authz"
	"github.com/icecore-catalog/icecore/authz/subject"
	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/iceberg"
	"github.com/icecore-catalog/icecore/internal/documents"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/projections"
	"github.com/icecore-catalog/icecore/storage"
)

// change is what one request item does to one table: decoded once, decided in
// every try.
type change struct {
	table        Identifier
	path         string // its line in the queue and its place in the library
	create       bool   // assert-create
	requirements []iceberg.Requirement
	updates      []iceberg.Update
}

// decodeChange reads requirements and updates; errors are 400.
func decodeChange(warehouse ids.ID, in *CommitTable) (*change, error) {
	c := &change{table: in.Table, path: lineOf(warehouse, in.Table.Namespace, in.Table.Name)}
	var err error
	if c.requirements, err = iceberg.DecodeRequirements(in.Requirements); err != nil {
		return nil, fromIceberg(err)
	}
	if c.updates, err = iceberg.DecodeUpdates(in.Updates); err != nil {
		return nil, fromIceberg(err)
	}
	if c.create, err = iceberg.IsCreate(c.requirements); err != nil {
		return nil, fromIceberg(err)
	}
	if c.create {
		if err := catalog.ValidateName("table", in.Table.Name); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// decided is one table of one try.
type decided struct {
	*change
	f       *projections.Facts
	updates []iceberg.Update // with locations in canonical spelling

	base *documents.Document // nil for a create
	next *iceberg.Metadata   // nil when nothing changes

	object        ids.ID
	claims        []string // of the next state
	added         []string
	removed       []string
	vacant        []string // of those that are added
	store         storage.Store
	pointer       string // of the next state
	record        eventstore.Record
	now           int64
	alreadyThere  bool // the commit happened before
	unconditional bool
}

// authorize asks for the right to make the change, and that its object is
// there, or for a create its namespace. Nothing was read from a store yet.
func (s *Service) authorize(ctx context.Context, call Call, c *change, f *projections.Facts, was ids.ID) error {
	if !c.create {
		return s.table(ctx, call, f, c.table, authz.TableCommit, was)
	}
	return s.mayCreateIn(ctx, call, f, c.table.Namespace)
}

// mayCreateIn asks for the right to create a table in the namespace of
// resolved facts, and that it exists.
func (s *Service) mayCreateIn(ctx context.Context, call Call, f *projections.Facts, namespace []string) error {
	return s.mayAddTo(ctx, call, f, namespace, authz.NamespaceCreateTable)
}

// mayAddTo asks for the right to put something into the namespace of resolved
// facts, and that it exists.
func (s *Service) mayAddTo(ctx context.Context, call Call, f *projections.Facts, namespace []string, action authz.Action) error {
	missing := noSuchNamespace(namespace)
	if err := s.may(ctx, call, subject.Namespace(f), action, missing); err != nil {
		return err
	}
	if err := inWarehouse(f); err != nil {
		return err
	}
	if !f.Namespace.Exists {
		return missing
	}
	return nil
}

// decide checks the requirements and applies the updates to what stands now.
func (s *Service) decide(ctx context.Context, c *change, f *projections.Facts, hint *documents.Document) (*decided, error) {
	d := &decided{change: c, f: f, updates: c.updates, object: f.Table.ID, unconditional: len(c.requirements) == 0}
	var current *iceberg.Metadata
	if c.create {
		if f.Table.Exists && !isTable(f) {
			return nil, nameTaken(f.Table.Kind, c.table)
		}
		if f.Table.Exists {
			return nil, commitFailed("Requirement failed: table already exists")
		}
		d.object = s.deps.IDs.New()
	} else {
		var err error
		if d.base, err = s.deps.Documents.Current(ctx, c.path, f, hint); err != nil {
			return nil, err
		}
		if current, err = base(d.base); err != nil {
			return nil, err
		}
		if err := iceberg.CheckRequirements(current, c.requirements); err != nil {
			if iceberg.KindOf(err) == iceberg.CommitFailed && happenedBefore(current, c.updates) {
				d.alreadyThere = true
				return d, nil
			}
			return nil, fromIceberg(err)
		}
		if len(c.updates) == 0 {
			return d, nil
		}
	}
	var err error
	if d.store, err = s.store(ctx, f); err != nil {
		return nil, err
	}
	if d.updates, err = canonicalLocations(ctx, d.store, c.updates, iceberg.DecodeUpdates); err != nil {
		return nil, err
	}
	if err := s.apply(d, current); err != nil || d.next == nil {
		return d, err
	}
	return d, s.settleClaims(ctx, d, current)
}

// apply builds the next metadata; next stays nil if nothing changes.
func (s *Service) apply(d *decided, current *iceberg.Metadata) error {
	d.now = s.deps.Clock.Now().UnixMilli()
	build := iceberg.BuildContext{NowMS: d.now, DefaultFormatVersion: d.f.Warehouse.DefaultFormat}
	if d.base != nil {
		build.MetadataLocation = d.base.Pointer
	} else {
		id := s.deps.IDs.New()
		build.NewUUID = id.String
		build.DefaultLocation = defaultLocation(d.store.Profile(), d.f, d.table.Name, id)
	}
	next, changed, err := iceberg.Apply(current, d.updates, build)
	if err != nil {
		return fromIceberg(err)
	}
	if !changed {
		return nil
	}
	if err := allowFormat(d.f, current, next); err != nil {
		return err
	}
	d.next = next
	return nil
}

// allowFormat refuses a format version that the warehouse does not want, for
// new tables and for upgrades; what is there already may go on.
func allowFormat(f *projections.Facts, current, next *iceberg.Metadata) error {
	v := next.FormatVersion()
	if current != nil && current.FormatVersion() == v || len(f.Warehouse.AllowedFormats) == 0 || slices.Contains(f.Warehouse.AllowedFormats, v) {
		return nil
	}
	return badRequest("Format version %d is not allowed in this warehouse", v)
}

// settleClaims works out what the next state claims, and what that changes.
func (s *Service) settleClaims(ctx context.Context, d *decided, current *iceberg.Metadata) error {
	var had []string
	var err error
	if d.base != nil {
		if had, err = s.claims(ctx, d.f, d.base); err != nil {
			return err
		}
		if !movesClaims(current, d.next) {
			d.claims = had
			return nil
		}
	}
	if d.claims, err = claimsOf(ctx, d.store, d.next); err != nil {
		return err
	}
	d.added, d.removed = catalog.ClaimsDiff(had, d.claims)
	if len(d.added) == 0 {
		return nil
	}
	if err := s.mustBeFree(ctx, d.added, d.object); err != nil {
		return err
	}
	d.vacant, err = s.vacant(ctx, d.store, d.added)
	return err
}

// write puts the next metadata file below the claims of the next state, and
// makes the record. On return the file is durable.
//
// A claim that is new with this very commit was found free, and is written to
// before the log has granted it: when another took it in between, the file is
// deleted again, and its name holds a UUID, so that it can replace nobody's.
func (s *Service) write(ctx context.Context, call Call, d *decided, t *try) error {
	if err := s.writeFile(ctx, d, t); err != nil {
		return err
	}
	return s.describe(call, d)
}

// writeFile is the half of write that takes time; several tables of a try may
// be at it together.
func (s *Service) writeFile(ctx context.Context, d *decided, t *try) error {
	var err error
	if d.pointer, err = s.nextFile(ctx, d.store, d.next, d.object, d.previous()); err != nil {
		return err
	}
	file, _ := iceberg.EncodeFile(d.next)
	return t.put(ctx, scope(d.store, d.claims), d.pointer, file)
}

// previous is the pointer of the state before, empty for a new table.
func (d *decided) previous() string {
	if d.base == nil {
		return ""
	}
	return d.base.Pointer
}

// describe makes the record of what was written.
func (s *Service) describe(call Call, d *decided) error {
	event, err := d.event(d.previous())
	if err != nil {
		return err
	}
	d.record, err = s.record(call, d.object, event, d.f)
	return err
}

// nextFile names the file of a document, in canonical spelling.
func (s *Service) nextFile(ctx context.Context, store storage.Store, m *iceberg.Metadata, object ids.ID, previous string) (string, error) {
	l, err := store.Locate(iceberg.NextMetadataFile(m, previous, s.fileID(object).String()))
	if err != nil {
		return "", fromStorage(ctx, err)
	}
	return l.String(), nil
}

// fileID is what the name of a new metadata file of an object holds: by it the
// clean-up knows that this server wrote the file, and for whom.
func (s *Service) fileID(object ids.ID) ids.ID {
	return catalog.FileID(s.deps.LogID, object, s.deps.IDs.New())
}

func (d *decided) event(previous string) (catalog.Event, error) {
	uuid, err := tableUUID(d.next)
	if err != nil {
		return nil, err
	}
	snapshots, err := addedSnapshots(d.next, d.updates)
	if err != nil {
		return nil, err
	}
	updates, err := joinRaw(d.updates)
	if err != nil {
		return nil, err
	}
	file := metadataFile(d.pointer, d.next)
	if d.base == nil {
		return &catalog.TableCreated{
			TableName: catalog.TableName{NamespaceID: d.f.Namespace.ID, Namespace: d.f.Namespace.Levels, Name: d.table.Name},
			TableUUID: uuid, Location: d.next.Location(), MetadataFile: file, NowMS: d.now,
			Updates: updates, Claims: d.claims, Vacant: d.vacant, Snapshots: snapshots,
		}, nil
	}
	requirements, err := joinRaw(d.requirements)
	if err != nil {
		return nil, err
	}
	return &catalog.TableCommitted{
		TableName: nameOf(d.f), TableUUID: uuid, Previous: previous, MetadataFile: file, NowMS: d.now,
		Requirements: requirements, Updates: updates,
		ClaimsAdded: d.added, ClaimsRemoved: d.removed, Vacant: d.vacant, Snapshots: snapshots,
	}, nil
}

// streams are the guard rows of the change.
func (d *decided) streams() []eventstore.Stream {
	switch {
	case d.base == nil:
		return []eventstore.Stream{
			{ID: d.f.Namespace.ID, Mode: eventstore.Held},
			{ID: d.object, Type: string(catalog.EntityTable), Mode: eventstore.Created, NextPointer: d.pointer},
		}
	case d.next == nil:
		return []eventstore.Stream{{ID: d.object, Mode: eventstore.Asserted, Version: d.f.Table.Version}}
	default:
		return []eventstore.Stream{{
			ID: d.object, Mode: eventstore.Advanced, Version: d.f.Table.Version,
			Pointer: d.base.Pointer, NextPointer: d.pointer,
		}}
	}
}

// state is the document of the table after the commit.
func (d *decided) state() *documents.Document {
	if d.next == nil {
		return d.base
	}
	doc := documents.Of(d.object, d.record.ID, d.pointer, d.next)
	doc.SetClaims(d.claims)
	return doc
}

// answer is what the client gets for a state.
func answer(f *projections.Facts, doc *documents.Document) Table {
	return Table{
		ID: doc.Object, Mark: doc.Mark, Pointer: doc.Pointer, Document: doc.Plain(), Config: map[string]string{},
		ETag: documents.ETag(doc.Pointer, documents.Variant{Snapshots: "all", Warehouse: f.Warehouse.Mark}),
	}
}

func tableUUID(m *iceberg.Metadata) (ids.ID, error) {
	uuid, err := ids.Parse(m.UUID())
	if err != nil {
		return ids.Nil, badRequest("Invalid table-uuid: %s", m.UUID())
	}
	return uuid, nil
}

func metadataFile(pointer string, m *iceberg.Metadata) catalog.MetadataFile {
	return documentFile(pointer, m.Bytes(), m.FormatVersion())
}

func documentFile(pointer string, document []byte, format int) catalog.MetadataFile {
	return catalog.MetadataFile{
		MetadataLocation: pointer, SHA256: sha256.Sum256(document), Size: int64(len(document)), Format: format,
	}
}

// defaultLocation is where a table lives whose creator does not say: below the
// location of its namespace, if that has one, with the table's uuid in it.
func defaultLocation(p storage.Profile, f *projections.Facts, name string, uuid ids.ID) string {
	base := p.DefaultNamespaceLocation(f.Namespace.Levels)
	var properties map[string]string
	if err := json.Unmarshal(f.Namespace.Properties, &properties); err == nil && properties[propertyLocation] != "" {
		base = properties[propertyLocation]
	}
	return p.DefaultTableLocation(base, name, uuid)
}

// joinRaw prints a list of requirements or updates as the JSON array it was.
func joinRaw[T interface{ Raw() json.RawMessage }](list []T) (json.RawMessage, error) {
	out := []byte{'['}
	for i, item := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, item.Raw()...)
	}
	return append(out, ']'), nil
}

// canonicalLocations replaces the location of set-location updates by its
// canonical spelling, checked against the warehouse.
func canonicalLocations[U interface {
	Action() string
	Raw() json.RawMessage
}](ctx context.Context, store storage.Store, updates []U, decode func([]byte) ([]U, error)) ([]U, error) {
	var out []U
	for i, u := range updates {
		if u.Action() != "set-location" {
			continue
		}
		var wire struct {
			Location string `json:"location"`
		}
		if err := json.Unmarshal(u.Raw(), &wire); err != nil {
			return nil, badRequest("Invalid set-location update")
		}
		canonical, err := locate(ctx, store, wire.Location)
		if err != nil {
			return nil, err
		}
		if canonical == wire.Location {
			continue
		}
		raw, err := marshal([]any{map[string]string{"action": "set-location", "location": canonical}})
		if err != nil {
			return nil, err
		}
		rewritten, err := decode(raw)
		if err != nil || len(rewritten) != 1 {
			return nil, fmt.Errorf("rewrite set-location: %w", err)
		}
		if out == nil {
			out = slices.Clone(updates)
		}
		out[i] = rewritten[0]
	}
	if out == nil {
		return updates, nil
	}
	return out, nil
}
