package projections_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/eventstore"
	"github.com/icecore-catalog/icecore/internal/clock"
	"github.com/icecore-catalog/icecore/internal/ids"
	"github.com/icecore-catalog/icecore/internal/pgtest"
	"github.com/icecore-catalog/icecore/projections"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var (
	testIDs  = ids.NewV7(clock.System{})
	testTime = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)
)

// world is a log with the inline projectors on a database of its own, and
// short ways to make things happen in it.
type world struct {
	testing.TB
	db    *pgtest.DB
	store *eventstore.Store
}

func newWorld(t testing.TB, opts ...pgtest.Option) *world {
	t.Helper()
	return openWorld(t, pgtest.New(t, append([]pgtest.Option{pgtest.Conns(16)}, opts...)...))
}

func openWorld(t testing.TB, db *pgtest.DB) *world {
	t.Helper()
	store, err := eventstore.New(t.Context(), eventstore.Config{Pool: db.App, IDs: testIDs, Projectors: projections.Inline()})
	if err != nil {
		t.Fatal(err)
	}
	return &world{TB: t, db: db, store: store}
}

// object is a stream that the tests move along.
type object struct {
	id, warehouse, project ids.ID
	entity                 catalog.Entity
	version                int64
	pointer                string
	mark                   ids.ID
	name                   catalog.TableName // of tables
	path                   catalog.Namespace // of namespaces
	ancestors              []ids.ID
	uuid                   ids.ID
	claims                 []string
}

// step is one event on one object.
type step struct {
	on      *object
	event   catalog.Event
	pointer string // next pointer; empty keeps the present one
	close   bool
	dormant bool // the stream is dormant before
	sleeps  bool // and afterwards
	held    []*object
	along   []*object // of a tree: the event speaks for them
}

// commitOf makes one commit of the steps.
func commitOf(t testing.TB, steps ...step) *eventstore.Commit {
	t.Helper()
	c := &eventstore.Commit{ID: testIDs.New()}
	for _, s := range steps {
		typ, schema, data, err := catalog.Encode(s.event)
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		stream := eventstore.Stream{ID: s.on.id, Type: string(s.on.entity), Version: s.on.version, Pointer: s.on.pointer, NextPointer: s.on.pointer, Close: s.close, Dormant: s.dormant, NextDormant: s.sleeps, Mode: eventstore.Advanced}
		if s.on.version == 0 {
			stream.Mode, stream.Pointer = eventstore.Created, ""
		}
		if s.pointer != "" {
			stream.NextPointer = s.pointer
		}
		c.Streams = append(c.Streams, stream)
		for _, held := range s.held {
			c.Streams = append(c.Streams, eventstore.Stream{ID: held.id, Mode: eventstore.Held})
		}
		record := testIDs.New()
		for _, o := range s.along {
			c.Streams = append(c.Streams, eventstore.Stream{
				ID: o.id, Mode: eventstore.Shifted, SpokenFor: record, Version: o.version, Pointer: o.pointer, NextPointer: o.pointer,
				Dormant: s.dormant, NextDormant: s.sleeps, Close: s.close,
			})
		}
		c.Records = append(c.Records, eventstore.Record{
			ID: record, Stream: s.on.id, StreamType: string(s.on.entity), Type: typ, DataSchema: schema,
			Time: testTime, Actor: testIDs.New(), RequestID: testIDs.New(), Warehouse: s.on.warehouse, Project: s.on.project, Data: data,
		})
	}
	return c
}

// try appends the steps as one commit and moves the objects if it happened.
func (w *world) try(steps ...step) error {
	w.Helper()
	receipt, err := w.store.Append(w.Context(), commitOf(w, steps...))
	if err != nil {
		return err
	}
	for i, s := range steps {
		s.on.version++
		if s.pointer != "" {
			s.on.pointer = s.pointer
		}
		s.on.mark = receipt.Records[i].ID
	}
	return nil
}

func (w *world) must(steps ...step) {
	w.Helper()
	if err := w.try(steps...); err != nil {
		w.Fatalf("append: %v", err)
	}
}

// drain sequences what was appended.
func (w *world) drain() {
	w.Helper()
	q := w.store.Sequencer()
	defer q.Close()
	for {
		worked, err := q.RunOnce(w.Context())
		if err != nil {
			w.Fatalf("sequence: %v", err)
		}
		if !worked {
			return
		}
	}
}

func (w *world) bootstrap() (server, project *object) {
	w.Helper()
	server = &object{id: testIDs.New(), entity: catalog.EntityServer}
	project = &object{id: catalog.DefaultProject, project: catalog.DefaultProject, entity: catalog.EntityProject}
	w.must(
		step{on: server, event: &catalog.ServerBootstrapped{TermsAccepted: true, DefaultProject: project.id}},
		step{on: project, event: &catalog.ProjectCreated{Name: "Default Project"}},
	)
	return server, project
}

func (w *world) newWarehouse(project *object, name string) *object {
	w.Helper()
	o := &object{id: testIDs.New(), project: project.id, entity: catalog.EntityWarehouse}
	o.warehouse = o.id
	w.must(step{on: o, held: []*object{project}, event: &catalog.WarehouseCreated{
		Project: project.id, Name: name, StorageProfile: json.RawMessage(`{"type":"file","root":"file:///srv/` + name + `"}`),
		DefaultFormat: 2, AllowedFormats: []int{1, 2, 3},
	}})
	return o
}

// namespaceStep creates a namespace below a warehouse or a namespace.
func namespaceStep(parent *object, name string) step {
	o := &object{
		id: testIDs.New(), warehouse: parent.warehouse, project: parent.project, entity: catalog.EntityNamespace,
		path: append(append(catalog.Namespace{}, parent.path...), name), ancestors: []ids.ID{},
	}
	if parent.entity == catalog.EntityNamespace {
		o.ancestors = append([]ids.ID{parent.id}, parent.ancestors...)
	}
	return step{on: o, held: []*object{parent}, event: &catalog.NamespaceCreated{
		Namespace: o.path, Ancestors: o.ancestors, Properties: json.RawMessage(`{"z": "1","a":"2"}`),
	}}
}

func (w *world) newNamespace(parent *object, name string) *object {
	w.Helper()
	s := namespaceStep(parent, name)
	w.must(s)
	return s.on
}

func metadataFile(location string) catalog.MetadataFile {
	return catalog.MetadataFile{MetadataLocation: location, SHA256: [32]byte{1}, Size: 2, Format: 2}
}

// tableStep creates a table that claims /srv/<its id>/ or the given keys.
func tableStep(namespace *object, name string, claims ...string) step {
	o := &object{id: testIDs.New(), warehouse: namespace.warehouse, project: namespace.project, entity: catalog.EntityTable}
	o.uuid, o.claims = o.id, claims
	o.name = catalog.TableName{NamespaceID: namespace.id, Namespace: namespace.path, Name: name}
	if len(claims) == 0 {
		o.claims = []string{"file//srv/" + o.id.String() + "/"}
	}
	pointer := "file:///srv/" + o.id.String() + "/metadata/00000-a.metadata.json"
	return step{on: o, held: []*object{namespace}, pointer: pointer, event: &catalog.TableCreated{
		TableName: o.name, TableUUID: o.uuid, Location: "file:///srv/" + o.id.String(), MetadataFile: metadataFile(pointer),
		NowMS: 1, Request: json.RawMessage(`{"name":"t","schema":{}}`), Claims: o.claims,
	}}
}

func (w *world) newTable(namespace *object, name string, claims ...string) *object {
	w.Helper()
	s := tableStep(namespace, name, claims...)
	w.must(s)
	return s.on
}

func commitStep(o *object, added, removed []string) step {
	pointer := fmt.Sprintf("file:///srv/%s/metadata/%05d-a.metadata.json", o.id, o.version)
	return step{on: o, pointer: pointer, event: &catalog.TableCommitted{
		TableName: o.name, TableUUID: o.uuid, Previous: o.pointer, MetadataFile: metadataFile(pointer), NowMS: 1,
		Requirements: json.RawMessage(`[]`), Updates: json.RawMessage(`[]`), ClaimsAdded: added, ClaimsRemoved: removed,
	}}
}

func renameStep(o, namespace *object, name string) step {
	to := catalog.TableName{NamespaceID: namespace.id, Namespace: namespace.path, Name: name}
	return step{on: o, held: []*object{namespace}, event: &catalog.TableRenamed{TableUUID: o.uuid, From: o.name, To: to}}
}

func dropStep(o *object) step {
	return step{on: o, close: true, event: &catalog.TableDropped{
		TableName: o.name, TableUUID: o.uuid, MetadataLocation: o.pointer, ClaimsReleased: o.claims,
	}}
}

// purgeStep drops a table whose files are to be deleted.
func purgeStep(o *object) step {
	return step{on: o, sleeps: true, event: &catalog.TableDropped{
		TableName: o.name, TableUUID: o.uuid, MetadataLocation: o.pointer, PurgeRequested: true,
	}}
}

// endSteps are the three events that can end a dropped table: the purge's start,
// its end, and its succession.
func endSteps(o *object) []step {
	ended := catalog.Ended{TableName: o.name, UUID: o.uuid, MetadataLocation: o.pointer}
	return []step{
		{on: o, dormant: true, sleeps: true, event: &catalog.TablePurgeStarted{PurgeStarted: catalog.PurgeStarted{Ended: ended, Everything: true}}},
		{on: o, dormant: true, close: true, event: &catalog.TablePurged{Purged: catalog.Purged{Ended: ended, ClaimsReleased: o.claims}}},
		{on: o, dormant: true, close: true, event: &catalog.TableSuperseded{Superseded: catalog.Superseded{Ended: ended, By: o.id, ClaimsReleased: o.claims}}},
	}
}

// constraintOf returns the name of the constraint that refused a commit.
func constraintOf(err error) string {
	var refused *eventstore.ConstraintError
	if errors.As(err, &refused) {
		return refused.Constraint
	}
	return ""
}
